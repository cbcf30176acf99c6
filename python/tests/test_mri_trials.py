"""Samples that are wrong in an everyday way, names of files, and processes."""

import multiprocessing
import subprocess
import sys

import numpy as np
import pytest

import warpstride as ws

SCAN = ws.mri.simulate(matrix=32, coils=3)
OPTIONS = {"method": "adjoint", "maps": "none", "backend": "cpu"}


def _difference(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_units_of_k_are_judged_and_stated():
    right = ws.mri.reconstruct(SCAN.samples, SCAN.k, 32, **OPTIONS)
    assert (right.density, right.notes, right.problems) == ("ramp", [], [])
    operator = ws.mri.NUFFT(SCAN.k, (32, 32))
    samples = operator(SCAN.image)
    for unit, scale in (("radians-per-pixel", 2 * np.pi), ("cycles-per-fov", 32), ("radians-per-fov", 64 * np.pi)):
        k = scale * SCAN.k
        hint = f'k_unit="{unit}" would make it 0.500 cycles/pixel'
        with pytest.raises(ws.DataError, match=hint):
            ws.mri.reconstruct(SCAN.samples, k, 32, **OPTIONS)
        with pytest.raises(ws.DataError, match=f"^k: .*{hint}"):
            ws.mri.NUFFT(k, (32, 32))
        found = ws.mri.reconstruct(SCAN.samples, k, 32, k_unit=unit, **OPTIONS)
        assert _difference(found.image, right.image) < 1e-4
        assert _difference(ws.mri.NUFFT(k, (32, 32), k_unit=unit)(SCAN.image), samples) < 1e-4
    # FINUFFT's functions take radians of any period.
    x, y = (2 * np.pi * SCAN.k[..., axis].ravel() for axis in (1, 0))
    again = ws.mri.nufft2d2(x, y, SCAN.image.astype(np.complex64), eps=1e-5)
    assert _difference(again, samples.ravel()) < 1e-3
    with pytest.raises(ws.DataError, match="a unit per pixel or fov"):
        ws.mri.NUFFT(SCAN.k, (32, 32), k_unit="cycles-per-m")
    with pytest.raises(ws.DataError, match='k_unit "cycles": expected cycles- or radians-per-pixel'):
        ws.mri.reconstruct(SCAN.samples, SCAN.k, 32, k_unit="cycles", **OPTIONS)
    short = ws.mri.reconstruct(SCAN.samples, SCAN.k / 32, 32, **OPTIONS)
    assert any("reaches only" in problem for problem in short.problems)


def test_the_density_of_repeated_spokes():
    k, samples = np.concatenate([SCAN.k, SCAN.k[:20]]), np.concatenate([SCAN.samples, SCAN.samples[:, :20]], axis=1)
    found = ws.mri.reconstruct(samples, k, 32, **OPTIONS)
    assert found.density == "pipe" and "measured more often" in found.notes[0] and 'density="pipe"' in found.notes[0]
    ramp = ws.mri.reconstruct(samples, k, 32, density="ramp", **OPTIONS)
    assert any('density="ramp" assumes equal spokes' in problem for problem in ramp.problems)


def test_noisy_coils_are_named_and_left_out(tmp_path):
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, *SCAN.samples.shape)) * np.array([1, 30, 1])[:, None, None]
    samples = SCAN.samples + 0.01 * np.abs(SCAN.samples).max() * (noise[0] + 1j * noise[1])
    found = ws.mri.reconstruct(samples, SCAN.k, 32, iterations=2, backend="cpu")
    named = [problem for problem in found.problems if "times the noise" in problem]
    assert len(named) == 1 and named[0].startswith("coil 1 has ") and "exclude_coils=1" in named[0]

    path = tmp_path / "raw.h5"
    command = [sys.executable, "-m", "warpstride", "mri", "simulate", str(path), "--matrix", "16", "--coils", "3", "--quiet"]
    subprocess.run(command, check=True)
    whole, without = ws.mri.read(path), ws.mri.read(path, exclude_coils=1)
    assert np.array_equal(without.samples, whole.samples[[0, 2]]) and "excluded" in without.notes[-1]
    with pytest.raises(ws.DataError, match="numbers from 0 to 2"):
        ws.mri.read(path, exclude_coils=[3])
    assert ws.mri.read(path, k_unit="cycles-per-fov").k.max() < 0.5 / 15
    assert ws.mri.read(path, matrix=(24, 24)).matrix == (24, 24)


def test_saves_have_the_endings_of_the_command(tmp_path):
    scan = ws.ptycho.simulate(frame=16, positions=9)
    field = np.zeros((6, 6))
    table = ws.series.table(np.zeros(2, "M8[ns]"), np.arange(2.0))
    for thing, expected in (
        (ws.mri.reconstruct(SCAN.samples, SCAN.k, 32, **OPTIONS), ".h5, .hdf5, .hdf, .npy, .cfl, .nii, .nii.gz"),
        (ws.jacobi.solve(field, iterations=1, backend="cpu"), ".npy"),
        (table, ".arrow, .ipc, .feather"),
        (
            ws.ptycho.reconstruct(
                scan.frames,
                scan.positions,
                wavelength=scan.wavelength,
                distance=scan.distance,
                pixel_size=scan.pixel_size,
                engines=[ws.ptycho.DM(1)],
                backend="cpu",
            ),
            ".h5, .hdf5, .hdf, .cxi",
        ),
    ):
        for name, found in (("a.png", ".png"), ("a", "no ending")):
            with pytest.raises(ws.DataError) as refused:
                thing.save(tmp_path / name)
            assert str(refused.value) == f"{tmp_path / name}: expected a name that ends in {expected}, found {found}"
    assert list(tmp_path.iterdir()) == []


_CHILD = """
import multiprocessing, numpy as np, warpstride as ws
k, image = np.random.default_rng(1).uniform(-0.5, 0.5, (500, 2)), np.ones((16, 16), complex)
def child(queue):
    found = []
    for compute in (
        lambda: ws.mri.NUFFT(k, (16, 16))(image),
        lambda: ws.sas.Model("sphere", backend="cpu")([0.1, 0.2]),
        lambda: ws.jacobi.solve(np.zeros((20, 20)), iterations=2, backend="cpu"),
    ):
        try:
            compute()
            found.append("computed")
        except ws.ForkError as error:
            found.append(str(error))
    queue.put(found)
"""


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="processes cannot be forked")
@pytest.mark.parametrize(("before", "computes"), [("", True), ("ws.mri.NUFFT(k, (16, 16))(image)", False)])
def test_a_forked_process_computes_or_says_why_not(before, computes):
    program = f"""{_CHILD}
{before}
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,), daemon=True)
process.start()
print(*queue.get(timeout=60), sep="\\n")
process.join()
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    lines = found.stdout.splitlines()
    assert len(lines) == 3, found
    if computes:
        assert lines == ["computed"] * 3
    else:
        assert all("was forked from process" in line and '"spawn"' in line for line in lines), lines


def test_readouts_that_were_not_measured_are_left_out_of_arrays():
    """The note is that of the command, and the image that of the other readouts."""
    kept = np.ones(len(SCAN.k), bool)
    kept[[3, 7]] = False
    weights = np.abs(SCAN.k).sum(axis=-1)
    zeros, spikes = SCAN.samples.copy(), SCAN.k.copy()
    zeros[:, ~kept] = 0
    spikes[3, 5, 0], spikes[7, 2, 1] = 1e6, -1e6
    for samples, k, what in (
        (zeros, SCAN.k, "samples that are all 0"),
        (SCAN.samples, spikes, "positions over 1000 times as far out as those of most readouts"),
    ):
        for density in (None, weights):
            rest = None if density is None else density[kept]
            found = ws.mri.reconstruct(samples, k, 32, density=density, **OPTIONS)
            right = ws.mri.reconstruct(SCAN.samples[:, kept], SCAN.k[kept], 32, density=rest, **OPTIONS)
            assert np.array_equal(found.image, right.image), what
            note = f"{kept.sum()} of {len(kept)} readouts are used; left out: 2 readouts with {what}"
            assert found.notes[0].startswith(note)
    truncated = SCAN.samples.copy()
    truncated[:, [3, 7], -5:] = 0
    found = ws.mri.reconstruct(truncated, SCAN.k, 32, **OPTIONS)
    assert found.notes[0].startswith("10 samples of 2 readouts left out, as they are 0 in every coil")


def test_maps_of_all_coils_serve_beside_excluded_ones(tmp_path):
    path = tmp_path / "raw.h5"
    command = [sys.executable, "-m", "warpstride", "mri", "simulate", str(path), "--matrix", "16", "--coils", "3", "--quiet"]
    subprocess.run(command, check=True)
    maps, without = ws.mri.read_maps(path), ws.mri.read(path, exclude_coils=1)
    options = {"iterations": 3, "backend": "cpu"}
    whole = ws.mri.reconstruct(without, maps=maps, **options)
    left = ws.mri.reconstruct(without, maps=maps[[0, 2]], **options)
    assert np.array_equal(whole.image, left.image) and np.abs(left.image).max() > 0
    with pytest.raises(ws.DataError, match="maps: expected"):
        ws.mri.reconstruct(without, maps=maps[[0, 1, 2, 0]], **options)
