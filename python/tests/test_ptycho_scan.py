"""Scans from files, several devices, and layers, compared with the command."""

import pathlib
import pickle
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import warpstride as ws


def program(*arguments):
    command = [sys.executable, "-m", "warpstride", "ptycho", *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def same(found, expected):
    # The fluence is rounded in files.
    found, expected = (pickle.loads(pickle.dumps(of)) for of in (found, expected))
    for name in ("object", "probe", "layers", "positions", "fluence", "frame_scales"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert found.recipe == expected.recipe
    errors = [[entry.err_fourier for entry in of.history] for of in (found, expected)]
    assert errors[0] == errors[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scans")
    program("simulate", folder / "scan.cxi", "--frame", 32, "--positions", 14)
    return folder


def test_a_scan_from_a_file_has_the_arrays_that_were_simulated(folder):
    truth = ws.ptycho.simulate(frame=32, positions=14)
    scan = ws.ptycho.read_scan(folder / "scan.cxi")
    assert scan.shape == (14, 32, 32) and scan.mask.shape == (32, 32) and scan.mask.all()
    assert np.array_equal(scan.frames, truth.frames) and scan.frames.dtype == np.float32
    # Metres in files are in double precision.
    assert np.array_equal(scan.positions, truth.positions)
    assert scan.pixel_size == truth.pixel_size and scan.distance == truth.distance
    assert scan.wavelength == pytest.approx(truth.wavelength, rel=1e-15)
    assert not scan.near_field and scan.focus_to_sample is None and scan.voltage is None
    assert "14 frames of 32 x 32" in repr(scan)


OPTIONS = [
    ({}, []),
    ({"frames": (1, 13), "exclude": [5], "bin": 2}, ["--set", "data.frames=[1,13]", "--exclude", "5", "--bin", "2"]),
    ({"crop": (28, 30), "distance": "1.9 m"}, ["--crop", "28x30", "--distance", "1.9m"]),
    ({"half": 2, "swap_axes": True}, ["--set", "data.half=2", "--set", "data.swap_axes=true"]),
    ({"energy": "9keV", "pixel_size": ["60um", "61um"]}, ["--energy", "9keV", "--set", 'data.constants.pixel_size=["60um","61um"]']),
]  # fmt: skip


@pytest.mark.parametrize(("options", "arguments"), OPTIONS)
def test_results_have_the_bits_of_the_command(folder, tmp_path, options, arguments):
    result = tmp_path / "r.h5"
    program(
        "reconstruct", folder / "scan.cxi", "--engine", "dm:4", "--engine", "lsqml:2", "--backend", "cpu",
        "--free-pixels", "0.03", *arguments, "-o", result,
    )  # fmt: skip
    scan = ws.ptycho.read_scan(folder / "scan.cxi", **options)
    engines = [ws.ptycho.DM(4), ws.ptycho.LSQML(2)]
    found = ws.ptycho.reconstruct(scan, engines=engines, recipe={"free_pixels": 0.03}, backend="cpu")
    same(found, ws.ptycho.read(result))
    assert found.metrics["r_free"][-1] > 0


@pytest.mark.parametrize("options", [["--near-field"], ["--near-field", "--focus-to-sample", "0.02"], ["--electrons", "--slices", "2"]])
def test_near_fields_and_electrons_have_the_bits_of_the_command(tmp_path, options):
    program("simulate", tmp_path / "s.cxi", "--frame", 32, "--positions", 9, *options)
    program("reconstruct", tmp_path / "s.cxi", "--engine", "dm:3", "--backend", "cpu", "-o", tmp_path / "r.h5")
    scan = ws.ptycho.read_scan(tmp_path / "s.cxi")
    assert scan.near_field == ("--near-field" in options)
    assert (scan.focus_to_sample is not None) == ("--focus-to-sample" in options)
    assert (scan.voltage is not None) == ("--electrons" in options)
    found = ws.ptycho.reconstruct(scan, engines=[ws.ptycho.DM(3)], backend="cpu")
    same(found, ws.ptycho.read(tmp_path / "r.h5"))


def test_a_recipe_says_how_a_file_is_read(folder, tmp_path):
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('[data]\nevery = 2\nflip_rows = true\n\n[data.constants]\nenergy = "9keV"\ndistance = "1.9 m"\n')
    scan = ws.ptycho.read_scan(folder / "scan.cxi", recipe=recipe)
    assert scan.shape[0] == 7 and scan.distance == 1.9
    other = ws.ptycho.read_scan(folder / "scan.cxi", recipe=recipe, every=1, wavelength="1e-10 m")
    assert other.shape[0] == 14 and other.wavelength == 1e-10 and other.distance == 1.9
    result = tmp_path / "r.h5"
    program("reconstruct", folder / "scan.cxi", "--recipe", recipe, "--engine", "dm:3", "--backend", "cpu", "-o", result)
    found = ws.ptycho.reconstruct(scan, engines=[ws.ptycho.DM(3)], backend="cpu")
    same(found, ws.ptycho.read(result))


def test_scans_are_saved_and_read_from_several_files(folder, tmp_path):
    parts = [ws.ptycho.read_scan(folder / "scan.cxi", frames=part) for part in ((0, 8), (8, 14))]
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.cxi")
    joined = ws.ptycho.read_scan([tmp_path / "0.cxi", tmp_path / "1.cxi"])
    whole = ws.ptycho.read_scan(folder / "scan.cxi")
    assert np.array_equal(joined.frames, whole.frames) and np.array_equal(joined.positions, whole.positions)
    with pytest.raises(OSError, match="absent"):
        whole.save(tmp_path / "absent" / "s.cxi")


def test_frames_of_other_layouts_are_read(tmp_path):
    truth = ws.ptycho.simulate(frame=32, positions=9)
    np.save(tmp_path / "frames.npy", truth.frames.astype(np.uint32))
    table = "\n".join(f"{row * 1e6},{column * 1e6}" for row, column in truth.positions.tolist())
    (tmp_path / "places.csv").write_text("y_um,x_um\n" + table + "\n")
    mask = np.zeros((32, 32), dtype=np.uint8)
    mask[3, 4] = 1
    np.save(tmp_path / "mask.npy", mask)
    scan = ws.ptycho.read_scan(
        tmp_path / "frames.npy",
        positions=tmp_path / "places.csv",
        wavelength=truth.wavelength,
        distance=truth.distance,
        pixel_size=truth.pixel_size,
        mask=tmp_path / "mask.npy",
    )
    expected = np.where(mask == 0, truth.frames, 0)
    assert np.array_equal(scan.frames, expected) and not scan.mask[3, 4] and scan.mask.sum() == 1023
    assert np.allclose(scan.positions, truth.positions, rtol=0, atol=1e-18)


def test_the_arrays_of_a_scan_give_the_same_result(folder):
    scan = ws.ptycho.read_scan(folder / "scan.cxi")
    few = {"engines": [ws.ptycho.DM(3)], "backend": "cpu"}
    found, expected = ws.ptycho.reconstruct(**scan.arguments, **few), ws.ptycho.reconstruct(scan, **few)
    assert np.array_equal(found.object, expected.object)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": (3, 2)}, "data.frames: expected"),
        ({"unknown": 3}, "unknown"),
        ({"format": "tiff"}, "format"),
        ({"crop": (64, 64)}, "crop"),
        ({"energy": "9keV", "wavelength": 1e-10}, "not both"),
        ({"positions": "absent.csv"}, "absent.csv"),
        ({"exclude": {1, 2}}, "exclude: expected numbers"),
        ({"recipe": "absent.toml"}, "absent.toml: cannot be read"),
    ],
)
def test_bad_options_are_data_errors(folder, options, words):
    with pytest.raises(ws.DataError, match=words):
        ws.ptycho.read_scan(folder / "scan.cxi", **options)


def test_bad_files_are_data_errors(tmp_path):
    (tmp_path / "no.h5").write_bytes(b"nothing")
    for name in ("no.h5", "absent.h5"):
        with pytest.raises(ws.DataError, match=name):
            ws.ptycho.read_scan(tmp_path / name)
    with pytest.raises(ws.DataError, match="expected a file"):
        ws.ptycho.read_scan([])


def test_arguments_beside_a_scan_are_refused(folder):
    scan = ws.ptycho.read_scan(folder / "scan.cxi")
    for name, value in {"wavelength": 1e-10, "mask": scan.mask, "near_field": True, "positions": scan.positions}.items():
        with pytest.raises(ws.DataError, match=f"{name}: expected none beside a scan"):
            ws.ptycho.reconstruct(scan, **{name: value})
    with pytest.raises(ws.DataError, match="no table data"):
        ws.ptycho.reconstruct(scan, recipe={"data": {"every": 2}})
    with pytest.raises(TypeError, match="distance, pixel_size"):
        ws.ptycho.reconstruct(scan.frames, scan.positions, wavelength=1e-10)


def test_checkpoints_of_the_command_are_resumed(folder, tmp_path):
    scan = ws.ptycho.read_scan(folder / "scan.cxi", every=2)
    engines = [ws.ptycho.DM(6)]
    whole = ws.ptycho.reconstruct(scan, engines=engines, backend="cpu")
    with ws.ptycho.Reconstruction(scan, engines=engines, backend="cpu") as run:
        for iteration in run:
            if iteration.iteration == 3:
                break
        run.checkpoint(tmp_path / "c.h5")
    again = ws.ptycho.reconstruct(scan, resume=tmp_path / "c.h5", backend="cpu")
    assert np.array_equal(again.object, whole.object)
    # The checkpoint has the options of reading, so the command resumes it.
    result = tmp_path / "r.h5"
    program("reconstruct", folder / "scan.cxi", "--resume", tmp_path / "c.h5", "-o", result)
    assert np.array_equal(ws.ptycho.read(result).object, whole.object)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("small") / "scan.cxi"
    program("simulate", path, "--frame", 16, "--positions", 6)
    return path


def test_several_devices_have_the_bits_of_the_command(small, tmp_path):
    result = tmp_path / "r.h5"
    program("reconstruct", small, "--engine", "dm:2", "--engine", "lsqml:1", "--backend", "emulator", "--devices", "0,1", "-o", result)
    scan = ws.ptycho.read_scan(small)
    engines = [ws.ptycho.DM(2), ws.ptycho.LSQML(1)]
    whole = {"engines": engines, "backend": "emulator", "devices": 2}
    found = ws.ptycho.reconstruct(scan, **whole)
    same(found, ws.ptycho.read(result))
    with ws.ptycho.Reconstruction(scan, **whole) as run:
        assert "divided among 2 devices" in run.notes
        seen = [iteration.err_fourier for iteration in run]
        assert seen == [entry.err_fourier for entry in found.history]
        assert run.probe.shape == (1, 16, 16) and np.array_equal(run.layers[0], run.object)
        same(run.result(), found)


def test_several_devices_are_stopped_and_resumed(small, tmp_path):
    scan = ws.ptycho.read_scan(small)
    options = {"engines": [ws.ptycho.DM(3)], "backend": "emulator", "devices": 2}
    whole = ws.ptycho.reconstruct(scan, **options)
    with ws.ptycho.Reconstruction(scan, **options) as run:
        next(run)
        run.checkpoint(tmp_path / "c.h5")
    again = ws.ptycho.reconstruct(scan, resume=tmp_path / "c.h5", backend="emulator", devices=2)
    assert np.array_equal(again.object, whole.object)
    started = ws.ptycho.reconstruct(scan, start=whole, **options)
    assert started.metrics["err_fourier"][0] < whole.metrics["err_fourier"][0]


def test_the_threads_of_devices_end_with_the_run(small):
    tasks = pathlib.Path("/proc/self/task")
    if not tasks.exists():
        pytest.skip("no list of threads on this system")
    scan = ws.ptycho.read_scan(small)
    options = {"engines": [ws.ptycho.DM(1)], "backend": "emulator", "devices": 3}
    ws.ptycho.reconstruct(scan, **options)
    before = len(list(tasks.iterdir()))
    for _ in range(5):
        with ws.ptycho.Reconstruction(scan, **options) as run:
            next(run)
    end = time.monotonic() + 20
    while len(list(tasks.iterdir())) > before and time.monotonic() < end:
        time.sleep(0.05)
    assert len(list(tasks.iterdir())) <= before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"backend": "cpu", "devices": 2}, "expected backend cuda or emulator, found cpu"),
        ({"backend": "emulator", "devices": 7}, "expected at most 6, the number of frames, found 7"),
        ({"backend": "emulator", "devices": "all"}, "number of emulated devices"),
        ({"backend": "emulator", "devices": 2, "device": 1}, "expected none beside devices"),
        ({"backend": "emulator", "device": 1}, "device"),
        ({"backend": "emulator", "devices": 2, "precision": "f64"}, "f64|double"),
    ],
)
def test_bad_devices_are_data_errors(small, options, words):
    with pytest.raises(ws.DataError, match=words):
        ws.ptycho.reconstruct(ws.ptycho.read_scan(small), engines=[ws.ptycho.DM(1)], **options)


def test_modes_of_the_object_are_in_the_result(folder, tmp_path):
    scan = ws.ptycho.read_scan(folder / "scan.cxi")
    recipe = {"object_modes": 2}
    found = ws.ptycho.reconstruct(scan, engines=[ws.ptycho.LSQML(4)], recipe=recipe, backend="cpu")
    assert found.layers.shape == (2, *found.object.shape) and np.array_equal(found.layers[0], found.object)
    assert found.object_mode_power.shape == (2,) and found.object_mode_power.sum() == pytest.approx(1)
    weighted = (found.fluence * abs(found.layers) ** 2).sum(axis=(1, 2))
    assert np.allclose(weighted / weighted.sum(), found.object_mode_power, rtol=1e-4)
    found.save(tmp_path / "r.h5")
    assert np.array_equal(ws.ptycho.read(tmp_path / "r.h5").layers, found.layers)
    assert found.slice_distances is None and found.probe_variations is None and found.background is None


def test_slices_variations_and_backgrounds_are_in_the_result(folder):
    scan = ws.ptycho.read_scan(folder / "scan.cxi")
    few = {"engines": [ws.ptycho.LSQML(3)], "backend": "cpu"}
    thick = ws.ptycho.reconstruct(scan, recipe={"slices": {"count": 3, "distance": 20e-6}}, **few)
    assert thick.layers.shape == (3, *thick.object.shape)
    assert np.allclose(thick.layers.prod(axis=0), thick.object, rtol=1e-4, atol=1e-5)
    assert np.allclose(thick.slice_distances, [20e-6, 20e-6])
    varied = ws.ptycho.reconstruct(scan, recipe={"opr_modes": 2, "opr_from": 1}, **few)
    shapes, coefficients = varied.probe_variations
    assert shapes.shape == (2, 32, 32) and coefficients.shape == (14, 2)
    dark = ws.ptycho.reconstruct(scan, recipe={"detector": {"background": 3.0}}, **few)
    assert dark.background.shape == (32, 32) and (dark.background == 3).all()


def test_the_automatic_recipe_is_that_of_the_command(folder, tmp_path):
    program("simulate", tmp_path / "s.cxi", "--frame", 32, "--positions", 40)
    decided = ["--set", "positions.refine=[]", "--set", "fit_frame_scales=false", "--probe-modes", 1]
    program("reconstruct", tmp_path / "s.cxi", "-o", tmp_path / "r.h5", "--backend", "cpu", "--no-pictures", *decided)
    scan = ws.ptycho.read_scan(tmp_path / "s.cxi")
    named = {"positions": {"refine": []}, "fit_frame_scales": False}
    with ws.ptycho.Reconstruction(scan, engines="auto", probe_modes=1, recipe=named, backend="cpu") as run:
        assert any("automatic recipe" in note and "trials of 40 frames" in note for note in run.notes), run.notes
        run.run()
        found = run.result()
    same(found, ws.ptycho.read(tmp_path / "r.h5"))
    with pytest.raises(ws.DataError, match="free_pixels"):
        ws.ptycho.reconstruct(scan, engines="auto", recipe={"free_pixels": 0.0}, backend="cpu")
    with pytest.raises(ws.DataError, match="beside start"):
        ws.ptycho.reconstruct(scan, engines="auto", start=found, backend="cpu")


def test_doubtful_scans_are_warned_of(folder):
    scan = ws.ptycho.simulate(frame=32, positions=40)
    frames, arguments = scan.frames.copy(), {name: value for name, value in scan.arguments.items() if name != "frames"}
    options = {**arguments, "engines": ws.ptycho.DM(2), "backend": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ws.ptycho.Reconstruction(frames, **options) as run:
            assert run.problems == []
    frames[[5, 20]] = 0
    frames[[5, 20], 3, 4] = 1
    frames[:, 14, :] = 0
    with pytest.warns(UserWarning) as found:
        with ws.ptycho.Reconstruction(frames, **options) as run:
            problems = run.problems
    assert [str(warning.message) for warning in found] == problems
    assert any("2 frames (5,20) without beam" in text and text.endswith("used; leave them out, or mask them") for text in problems), problems
    assert any("pixels never count (row 14" in text for text in problems), problems
