"""Samples, maps and fields from files, compared with the command."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import warpstride as ws


def program(*arguments):
    command = [sys.executable, "-m", "warpstride", "mri", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    path = tmp_path_factory.mktemp("raw") / "raw.h5"
    program("simulate", path, "--matrix", 32, "--coils", 4, "--trajectory", "golden", "--spokes", 30, "--noise", 30)
    return path


def image_of(tmp_path, *arguments):
    program("reconstruct", *arguments, "--backend", "cpu", "-o", tmp_path / "image.h5")
    return ws.mri.read_image(tmp_path / "image.h5")


def test_samples_of_a_file_are_those_that_were_simulated(raw):
    truth = ws.mri.simulate(matrix=32, coils=4, trajectory="golden", spokes=30, snr=30)
    kspace = ws.mri.read(raw)
    assert kspace.matrix == (32, 32) and kspace.coils == 4 and len(kspace.readouts) == 30
    assert np.array_equal(kspace.samples, truth.samples) and kspace.samples.dtype == np.complex64
    # Trajectories of files are in single precision, in cycles per field of view.
    assert np.allclose(kspace.k, truth.k, rtol=0, atol=1e-6)
    assert np.allclose(ws.mri.read_maps(raw), truth.maps) and np.allclose(ws.mri.read_image(raw), truth.image)
    assert "4 coils, 30 readouts for 32 x 32" in repr(kspace) and kspace.counters == {"slice": 0}
    assert kspace.times is None or kspace.times.shape == kspace.k.shape[:2]


METHODS = [
    ({}, []),
    ({"method": "adjoint"}, ["--method", "adjoint"]),
    ({"method": "adjoint", "density": "pipe", "maps": "none"}, ["--method", "adjoint", "--density", "pipe", "--coil-maps", "none"]),
    ({"method": "tv", "iterations": 4, "lamda": 2e-3}, ["--method", "tv", "--iterations", "4", "--lambda", "2e-3"]),
    ({"operator": "nufft", "iterations": 5, "intensity_correction": True}, ["--operator", "nufft", "--iterations", "5", "--intensity-correction"]),
    ({"precision": "f64", "iterations": 5, "maps": "walsh"}, ["--precision", "f64", "--iterations", "5", "--coil-maps", "walsh"]),
]  # fmt: skip


@pytest.mark.parametrize(("options", "arguments"), METHODS)
def test_images_have_the_bits_of_the_command(raw, tmp_path, options, arguments):
    expected = image_of(tmp_path, raw, *arguments)
    kspace = ws.mri.read(raw)
    found = ws.mri.reconstruct(kspace, backend="cpu", **options)
    double = options.get("precision") == "f64"
    assert found.image.dtype == (np.complex128 if double else np.complex64)
    # The command's files are in double precision.
    assert np.array_equal(found.image, expected.astype(found.image.dtype))
    assert found.source == str(raw)
    # What is given as arrays is the same.
    if not double:
        arrays = ws.mri.reconstruct(kspace.samples, kspace.k, kspace.matrix, backend="cpu", **options)
        assert np.array_equal(arrays.image, found.image)
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.image, found.image) and again.source == found.source


def test_maps_of_a_file_are_used(raw, tmp_path):
    expected = image_of(tmp_path, raw, "--coil-maps", raw, "--iterations", 4)
    found = ws.mri.reconstruct(ws.mri.read(raw), maps=ws.mri.read_maps(raw), iterations=4, backend="cpu")
    assert np.array_equal(found.image, expected.astype(np.complex64))


def test_off_resonance_has_the_bits_of_the_command(raw, tmp_path):
    rows, columns = np.mgrid[-16:16, -16:16]
    hertz = 40.0 * np.exp(-(rows**2 + 2 * columns**2) / 100.0)
    np.save(tmp_path / "hertz.npy", hertz)
    kspace = ws.mri.read(raw)
    assert np.array_equal(ws.mri.read_off_resonance(tmp_path / "hertz.npy"), hertz)
    times = kspace.times
    assert times.shape == kspace.k.shape[:2] and (times[:, 0] >= 0).all()
    expected = image_of(tmp_path, raw, "--off-resonance", tmp_path / "hertz.npy", "--iterations", 3)
    found = ws.mri.reconstruct(kspace, off_resonance=hertz, iterations=3, backend="cpu")
    assert np.array_equal(found.image, expected.astype(np.complex64)) and found.recipe["operator"] == "direct"
    # The same as a basis of one function, and with the times of arrays.
    basis = (times.reshape(-1, 1), hertz[np.newaxis])
    again = ws.mri.reconstruct(kspace, field=basis, iterations=3, backend="cpu")
    assert np.array_equal(again.image, found.image)
    arrays = (kspace.samples, kspace.k, kspace.matrix)
    again = ws.mri.reconstruct(*arrays, off_resonance=hertz, times=times, iterations=3, backend="cpu")
    assert np.array_equal(again.image, found.image)


def test_a_field_is_a_phase_of_the_samples():
    # One voxel of a plane with one coil: its samples turn by its frequency.
    k = np.random.default_rng(1).uniform(-0.5, 0.5, (300, 2))
    times, hertz = np.linspace(0, 0.02, 300), np.full((8, 8), 30.0)
    samples = np.exp(-2j * np.pi * (k @ [1, -2] + 30.0 * times))
    with_field = ws.mri.reconstruct(
        samples, k, 8, maps="none", off_resonance=hertz, times=times, iterations=80, min_residual=0.0, backend="cpu"
    )
    expected = np.zeros((8, 8))
    expected[4 - 2, 4 + 1] = 1
    error = abs(with_field.image - expected).max()
    without = ws.mri.reconstruct(samples, k, 8, maps="none", iterations=80, min_residual=0.0, backend="cpu")
    assert error < 1e-3 < 0.1 < abs(without.image - expected).max()


@pytest.mark.parametrize("ending", ["h5", "npy", "cfl", "nii"])
def test_saved_files_have_what_the_command_writes(raw, tmp_path, ending):
    program("reconstruct", raw, "--iterations", 3, "--backend", "cpu", "-o", tmp_path / f"command.{ending}")
    found = ws.mri.reconstruct(ws.mri.read(raw), iterations=3, backend="cpu")
    found.save(tmp_path / f"python.{ending}")
    if ending == "nii":
        assert (tmp_path / "python.nii").read_bytes() == (tmp_path / "command.nii").read_bytes()
        return
    files = [ws.mri.read_image(tmp_path / f"{name}.{ending}") for name in ("python", "command")]
    assert np.array_equal(*(file.astype(np.complex64) for file in files))


def write_cfl(path, array):
    """An array whose axes are the dimensions in reverse."""
    dimensions = list(reversed(array.shape)) + [1] * (16 - array.ndim)
    path.with_suffix(".hdr").write_text("# Dimensions\n" + " ".join(map(str, dimensions)) + "\n")
    array.astype(np.complex64).tofile(path)


def test_bart_arrays_are_read(tmp_path):
    truth = ws.mri.simulate(matrix=16, coils=3, spokes=20)
    readouts, samples = truth.k.shape[:2]

    # Dimensions of samples: 1, sample, readout, coil; of the trajectory: 3, sample, readout.
    write_cfl(tmp_path / "ksp.cfl", truth.samples[..., np.newaxis])
    k = np.zeros((readouts, samples, 3))
    k[..., :2] = truth.k * 16
    write_cfl(tmp_path / "traj.cfl", k)
    kspace = ws.mri.read(tmp_path / "ksp.cfl", trajectory=tmp_path / "traj.cfl", matrix=(16, 16))
    assert kspace.matrix == (16, 16) and np.array_equal(kspace.samples.reshape(3, -1), truth.samples.reshape(3, -1))
    expected = image_of(tmp_path, tmp_path / "ksp.cfl", "--trajectory", tmp_path / "traj.cfl", "--matrix", "16x16")
    assert np.array_equal(ws.mri.reconstruct(kspace, backend="cpu").image, expected.astype(np.complex64))
    with pytest.raises(ws.DataError, match="trajectory: expected the file"):
        ws.mri.read(tmp_path / "ksp.cfl")


def test_slices_of_a_file_are_read_one_by_one(tmp_path):
    truth = ws.mri.simulate(matrix=16, coils=3, spokes=20)
    readouts, samples = truth.k.shape[:2]
    slices = np.stack([truth.samples, 2j * truth.samples[::-1]])
    # Slices are dimension 13.
    write_cfl(tmp_path / "ksp.cfl", slices.reshape((2, *(1,) * 9, 3, readouts, samples, 1)))
    k = np.zeros((readouts, samples, 3))
    k[..., :2] = truth.k * 16
    write_cfl(tmp_path / "traj.cfl", k)
    files = {"trajectory": tmp_path / "traj.cfl", "matrix": (16, 16)}
    program(
        "reconstruct", tmp_path / "ksp.cfl", "--trajectory", tmp_path / "traj.cfl", "--matrix", "16x16", "--select",
        "slice=all", "--backend", "cpu", "-o", tmp_path / "all.h5",
    )  # fmt: skip
    expected = ws.mri.read_image(tmp_path / "all.h5")
    found = list(ws.mri.read_all(tmp_path / "ksp.cfl", "slice=all", **files))
    assert [kspace.counters["slice"] for kspace in found] == [0, 1] and len(expected) == 2
    for kspace, given, image in zip(found, slices, expected):
        assert np.array_equal(kspace.samples.ravel(), given.ravel())
        result = ws.mri.reconstruct(kspace, backend="cpu").image
        assert np.array_equal(result, image.reshape((16, 16)).astype(np.complex64))
    together = ws.mri.reconstruct_all(ws.mri.read_all(tmp_path / "ksp.cfl", "slice=all", **files), backend="cpu")
    assert np.array_equal([one.image for one in together], expected.reshape((2, 16, 16)).astype(np.complex64))
    assert together[0].source == found[0].path
    one = ws.mri.read(tmp_path / "ksp.cfl", select="slice=1", **files)
    assert np.array_equal(one.samples, found[1].samples)


def test_repetitions_have_the_bits_of_the_command(tmp_path):
    """With the coil maps of the first, or with those of each."""
    truth = ws.mri.simulate(matrix=16, coils=3, snr=20)
    readouts, samples = truth.k.shape[:2]
    noise = np.random.default_rng(3).normal(size=truth.samples.shape)
    frames = np.stack([truth.samples, truth.samples + noise.astype(np.float32), 2j * truth.samples])
    # Repetitions are dimension 10.
    write_cfl(tmp_path / "ksp.cfl", frames.reshape((3, *(1,) * 6, 3, readouts, samples, 1)))
    k = np.zeros((readouts, samples, 3))
    k[..., :2] = truth.k * 16
    write_cfl(tmp_path / "traj.cfl", k)
    for once in (False, True):
        program(
            "reconstruct", tmp_path / "ksp.cfl", "--trajectory", tmp_path / "traj.cfl", "--matrix", "16x16", "--select", "all",
            "--backend", "cpu", "-o", tmp_path / "all.h5", *["--coil-maps-once"] * once,
        )  # fmt: skip
        kspaces = ws.mri.read_all(tmp_path / "ksp.cfl", trajectory=tmp_path / "traj.cfl", matrix=(16, 16))
        found = ws.mri.reconstruct_all(kspaces, maps_once=once, backend="cpu")
        expected = ws.mri.read_image(tmp_path / "all.h5").reshape((3, 16, 16))
        assert np.array_equal([one.image for one in found], expected.astype(np.complex64))
        assert np.array_equal(found[1].maps, found[0].maps) == once
        assert any("first image" in note for note in found[1].notes) == once


def test_volumes_have_the_bits_of_the_command(tmp_path):
    program("simulate", tmp_path / "v.h5", "--3d", "--matrix", 12, "--coils", 3, "--trajectory", "spiral")
    expected = image_of(tmp_path, tmp_path / "v.h5", "--iterations", 3)
    kspace = ws.mri.read(tmp_path / "v.h5")
    found = ws.mri.reconstruct(kspace, iterations=3, backend="cpu")
    assert kspace.matrix == found.image.shape == (12, 12, 12)
    assert np.array_equal(found.image, expected.astype(np.complex64))


def test_all_images_of_a_file_are_read(raw):
    images = list(ws.mri.read_all(raw))
    assert len(images) == 1 and np.array_equal(images[0].samples, ws.mri.read(raw).samples)
    assert images[0].counters == {"slice": 0, "contrast": 0, "phase": 0, "repetition": 0, "set": 0}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"select": "slice=9"}, "slice"),
        ({"select": "all"}, "expected one image, found a selection of several"),
        ({"select": "colour=1"}, "COUNTER=NUMBER"),
        ({"combine": "slice"}, "expected repetition"),
        ({"group": "/"}, "name of a group"),
        ({"group": "absent"}, "absent"),
        ({"trajectory": "t.cfl"}, "ends in .cfl"),
        ({"matrix": (3, 4)}, "resolve more voxels|k_unit"),
    ],
)
def test_bad_options_are_data_errors(raw, options, words):
    with pytest.raises(ws.DataError, match=words):
        ws.mri.read(raw, **options)


def test_bad_files_and_arguments_are_data_errors(raw, tmp_path):
    (tmp_path / "no.h5").write_bytes(b"nothing")
    for read in (ws.mri.read, ws.mri.read_maps, ws.mri.read_image, ws.mri.read_off_resonance, ws.mri.read_field):
        for name in ("no.h5", "absent.h5"):
            with pytest.raises(ws.DataError, match=name):
                read(tmp_path / name)
    kspace, hertz = ws.mri.read(raw), np.zeros((32, 32))
    for options, words in [
        ({"k": kspace.k}, "k: expected none"),
        ({"matrix": 32}, "matrix: expected none"),
        ({"off_resonance": hertz[:3]}, "expected shape"),
        ({"times": [1.0]}, "times: expected off_resonance beside them, found none"),
        ({"off_resonance": hertz, "times": [1.0]}, r"times: expected shape \(30, 64\) or \(1920,\), as the trajectory has it, found \(1,\)"),
        ({"off_resonance": hertz, "times": kspace.times.T}, r"times: expected shape .*, found \(64, 30\)"),
        ({"density": np.ones((64, 30))}, r"density: expected shape \(30, 64\) or \(1920,\), as the trajectory has it, found"),
        ({"off_resonance": hertz + 1e13}, "expected phases of at most"),
        ({"off_resonance": hertz, "operator": "nufft"}, "expected operator direct, found nufft"),
        ({"off_resonance": hertz, "field": (hertz, hertz)}, "expected none beside off_resonance"),
        ({"field": hertz}, "expected .coefficients, maps."),
        ({"field": (hertz, hertz)}, "expected maps"),
        ({"field": (hertz, hertz[np.newaxis])}, "expected coefficients"),
        ({"precision": "f16"}, "expected f32 or f64"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            ws.mri.reconstruct(kspace, backend="cpu", **options)
    with pytest.raises(TypeError, match="k and matrix"):
        ws.mri.reconstruct(kspace.samples)
    with pytest.raises(ws.DataError, match="times: expected the times"):
        ws.mri.reconstruct(kspace.samples, kspace.k, 32, off_resonance=hertz)
