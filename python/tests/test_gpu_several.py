"""Machines with several GPUs: arrays on the second one, and work divided among all."""

import numpy as np
import pytest
from gpu_libraries import LIBRARIES, host, to

import warpstride as ws

pytestmark = pytest.mark.skipif(len(ws.devices()) < 2, reason="NOT TESTED: this machine has fewer than two usable GPUs")

SCAN = ws.ptycho.simulate(frame=32, positions=40)


def _ordinal(array):
    return array.__dlpack_device__()[1]


def _on_both(name, work, *arrays):
    """What `work` returns for arrays on the first GPU and on the second, as NumPy arrays."""
    results = []
    for ordinal in (0, 1):
        given = [to(name, array, ordinal) for array in arrays]
        found = work(*given)
        found = found if isinstance(found, tuple) else (found,)
        assert all(_ordinal(one) == ordinal for one in (*given, *found))
        results.append([host(name, one) for one in found])
    return results


def _same(first, second):
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("name", LIBRARIES)
def test_results_lie_on_the_gpu_of_the_arrays(name):
    random = np.random.default_rng(2)
    k = random.uniform(-0.5, 0.5, (997, 2))
    x = (random.normal(size=(24, 31)) * (1 + 0.5j)).astype(np.complex64)
    operator = ws.mri.NUFFT(k, (24, 31))
    samples = operator(x)
    forward = _on_both(name, operator, x)
    assert _same(*forward) and np.linalg.norm(forward[0][0] - samples) <= 2e-5 * np.linalg.norm(samples)
    first, second = _on_both(name, operator.H, samples)
    # Sums of atomics: two runs differ by rounding.
    assert np.linalg.norm(first[0] - second[0]) <= 1e-5 * np.linalg.norm(first[0])

    field = random.normal(size=(67, 130)).astype(np.float32)
    expected = ws.jacobi.solve(field, iterations=50, tolerance=-1, backend="cpu").field
    for found in _on_both(name, lambda field: ws.jacobi.solve(field, iterations=50, tolerance=-1).field, field):
        assert _same(found, [expected])

    q = np.geomspace(1e-3, 0.5, 200)
    model = ws.sas.Model("cylinder", precision="f64")
    first, second = _on_both(name, lambda q: model(q, radius=20.0, radius_pd=0.1), q)
    assert _same(first, second)
    assert np.allclose(first[0], ws.sas.Model("cylinder", backend="cpu")(q, radius=20.0, radius_pd=0.1), rtol=1e-9)


@pytest.mark.parametrize("name", LIBRARIES)
def test_frames_on_either_gpu_give_the_same_object(name):
    def work(frames):
        arguments = {**SCAN.arguments, "probe": SCAN.probe, "frames": frames, "engines": [ws.ptycho.LSQML(3)]}
        return ws.ptycho.reconstruct(**arguments).arrays(frames)

    first, second = _on_both(name, work, SCAN.frames.astype(np.uint16))
    for a, b in zip(first, second, strict=True):
        assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(a)


@pytest.mark.parametrize("name", LIBRARIES)
def test_samples_on_either_gpu_give_the_same_image(name):
    phantom = ws.mri.simulate(matrix=32, coils=3)
    k, maps = phantom.k, phantom.maps
    samples = phantom.samples.astype(np.complex64)
    options = {"method": "cg", "maps": maps}
    first, second = _on_both(name, lambda samples: ws.mri.reconstruct(samples, k, 32, **options).image, samples)
    assert np.linalg.norm(first[0] - second[0]) <= 1e-4 * np.linalg.norm(first[0])


def test_arrays_on_two_gpus_are_refused():
    field = np.zeros((8, 9), dtype=np.float32)
    first, second = to("torch", field, 0), to("torch", field, 1)
    for wrong in [
        lambda: ws.jacobi.solve(first, second),
        lambda: ws.jacobi.solve(second, devices=0),
    ]:
        with pytest.raises(ws.DataError, match="GPU"):
            wrong()
    # A probe is small: it may lie anywhere.
    given = {**SCAN.arguments, "frames": to("torch", SCAN.frames, 1), "probe": to("torch", SCAN.probe, 0)}
    assert ws.ptycho.reconstruct(**given, engines=[ws.ptycho.DM(1)]).backend == "cuda"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_relaxation_on_all_gpus_has_the_bits_of_the_cpu(dtype):
    field = np.random.default_rng(4).normal(size=(301, 517)).astype(dtype)
    options = {"iterations": 101, "tolerance": -1}
    expected = ws.jacobi.solve(field, backend="cpu", **options).field
    for devices in ("all", [0, 1], [1]):
        found = ws.jacobi.solve(field, backend="cuda", devices=devices, **options)
        assert np.array_equal(found.field, expected), devices


def test_frames_divided_among_gpus():
    arguments = {**SCAN.arguments, "probe": SCAN.probe, "backend": "cuda"}
    for engines in ([ws.ptycho.DM(3)], [ws.ptycho.LSQML(3)], [ws.ptycho.ML(3)]):
        one = ws.ptycho.reconstruct(**arguments, engines=engines)
        for devices in ("all", [0, 1]):
            found = ws.ptycho.reconstruct(**arguments, engines=engines, devices=devices)
            error = np.linalg.norm(found.object - one.object) / np.linalg.norm(one.object)
            assert error < 1e-3, (engines, devices)


def test_intensities_divided_among_gpus():
    q = np.geomspace(1e-3, 0.5, 300)
    radii = np.linspace(10, 60, 41)
    for precision in ("f32", "f64"):
        one = ws.sas.Model("cylinder", precision=precision, backend="cuda")
        two = ws.sas.Model("cylinder", precision=precision, backend="cuda", devices=[0, 1])
        assert np.array_equal(two.batch(q, {"radius": radii}), one.batch(q, {"radius": radii}))


def test_volumes_on_two_gpus():
    scan = ws.mri.simulate(matrix=12, coils=4, volume=True, spokes=60)
    # Few iterations: conjugate gradients amplify differences of rounding.
    options = {"backend": "cuda", "maps": scan.maps, "method": "cg", "iterations": 3}
    one = ws.mri.reconstruct(scan.samples, scan.k, 12, **options).image
    two = ws.mri.reconstruct(scan.samples, scan.k, 12, devices="all", **options).image
    assert np.linalg.norm(one - two) <= 1e-4 * np.linalg.norm(one)
