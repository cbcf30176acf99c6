"""Ptychographic reconstructions."""

import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import warpstride as ws

SCAN = ws.ptycho.simulate(frame=32, positions=14)
ENGINES = [ws.ptycho.DM(20), ws.ptycho.RAAR(10)]


def reconstruct(**options):
    return ws.ptycho.reconstruct(**{**SCAN.arguments, "engines": ENGINES, "backend": "cpu", **options})


def test_a_result_explains_the_frames():
    result = reconstruct(precision="f64")
    probe, frames = result.probe[0], SCAN.frames
    modelled = []
    for row, column in result.corners:
        window = result.object[row : row + 32, column : column + 32]
        wave = np.fft.fftshift(np.fft.fft2(probe * window, norm="ortho"))
        modelled.append(abs(wave))
    measured = np.sqrt(frames.astype(float))
    r = ((np.array(modelled) - measured) ** 2).sum() / frames.sum()
    assert result.object.dtype == np.complex128
    assert r == pytest.approx(result.metrics["r_factor"][-1], rel=1e-3)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_results_have_the_bits_of_the_command(tmp_path, precision):
    def program(*arguments):
        command = [sys.executable, "-m", "warpstride", "ptycho", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    scan, result = str(tmp_path / "scan.cxi"), str(tmp_path / "r.h5")
    program("simulate", scan, "--frame", "32", "--positions", "14")
    program(
        "reconstruct", scan, "--engine", "dm:5", "--backend", "cpu", "--set", f"precision={precision}",
        "--set", "probe.source=mean-pattern", "-o", result,
    )  # fmt: skip
    expected = ws.ptycho.read(result)
    recipe = {"probe": {"source": "mean-pattern"}}
    found = reconstruct(engines=[ws.ptycho.DM(5)], recipe=recipe, precision=precision)
    assert np.array_equal(found.object, expected.object)
    assert np.array_equal(found.probe, expected.probe)
    assert found.recipe == expected.recipe


def test_steps_have_the_bits_of_the_whole():
    whole = reconstruct()
    with ws.ptycho.Reconstruction(**SCAN.arguments, engines=ENGINES, backend="cpu") as run:
        seen = []
        for iteration in run:
            seen.append(iteration.iteration)
            assert iteration.err_fourier > 0
            assert run.object.dtype == np.complex64 and run.probe.shape == (1, 32, 32)
        assert seen == list(range(1, 31)) and run.finished and (run.done, run.planned) == (30, 30)
        result = run.result()
    assert np.array_equal(result.object, whole.object)
    assert np.array_equal(result.probe, whole.probe)
    with pytest.raises(ws.DataError, match="closed"):
        run.result()


def test_a_callback_stops_the_run():
    seen = []

    def stop(iteration, run):
        seen.append((iteration.engine, run.object.shape))
        return iteration.iteration == 4

    result = reconstruct(callback=stop)
    assert len(result.history) == len(seen) == 4 and seen[0][0] == "dm"

    def fail(iteration, run):
        raise KeyError("a callback's own")

    with pytest.raises(KeyError):
        reconstruct(callback=fail)


def test_results_are_saved_and_pickled(tmp_path):
    result = reconstruct()
    result.save(tmp_path / "r.h5")
    for again in (ws.ptycho.read(tmp_path / "r.h5"), pickle.loads(pickle.dumps(result))):
        assert np.array_equal(again.object, result.object)
        assert np.array_equal(again.probe, result.probe)
        assert again.metrics.keys() == result.metrics.keys()
        assert again.recipe == result.recipe and again.pixel_size == result.pixel_size
    with pytest.raises(OSError, match="absent"):
        result.save(tmp_path / "absent" / "r.h5")
    with pytest.raises(ws.DataError, match="absent"):
        ws.ptycho.read(tmp_path / "absent.h5")


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.int64, np.float64])
def test_types_and_strides_of_frames_make_no_difference(dtype):
    counts = np.minimum(SCAN.frames, 60000)
    frames = counts.astype(dtype)
    few = {"engines": [ws.ptycho.DM(3)]}
    expected = reconstruct(frames=counts, **few).object
    assert np.array_equal(reconstruct(frames=frames, **few).object, expected)
    turned = np.asfortranarray(frames)
    assert np.array_equal(reconstruct(frames=turned, **few).object, expected)


def test_masks_probes_and_options_are_taken():
    mask = np.ones((32, 32), dtype=bool)
    mask[3, 4] = False
    noisy = SCAN.frames.copy()
    noisy[:, 3, 4] = 1e6
    few = {"engines": [ws.ptycho.LSQML(3, batch=5)], "probe": SCAN.probe[0]}
    expected = reconstruct(frames=SCAN.frames * mask, mask=mask, **few)
    found = reconstruct(frames=noisy, mask=np.broadcast_to(mask, noisy.shape), **few)
    assert np.array_equal(found.object, expected.object)
    options = {"free_pixels": 0.05, "positions": {"refine": ["gradient"]}}
    result = reconstruct(recipe=options, probe_modes=2, engines=[ws.ptycho.LSQML(3)])
    assert result.probe.shape == (2, 32, 32) and not np.isnan(result.metrics["r_free"][-1])
    assert "batch = 5" in found.recipe


def test_the_emulator_agrees_with_the_cpu():
    few = {"engines": [ws.ptycho.DM(2)]}
    small = ws.ptycho.simulate(frame=16, positions=5)
    cpu, emulator = (
        ws.ptycho.reconstruct(**small.arguments, **few, backend=backend).object for backend in ("cpu", "emulator")
    )
    assert np.linalg.norm(cpu - emulator) < 1e-3 * np.linalg.norm(cpu)


def test_xarray_has_the_arrays():
    pytest.importorskip("xarray")
    result = reconstruct()
    assert np.array_equal(result.to_xarray()["object"], result.object)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"frames": SCAN.frames[0]}, "frames: expected an array"),
        ({"frames": SCAN.frames.astype(complex)}, "frames: expected an array"),
        ({"frames": -SCAN.frames}, "finite count >= 0"),
        ({"frames": SCAN.frames[:3]}, "expected one position for each of 3 frames"),
        ({"positions": SCAN.positions * np.nan}, "expected finite values in metres"),
        ({"positions": SCAN.positions * 1e6}, "position"),
        ({"positions": SCAN.positions[0]}, "positions: expected an array"),
        ({"positions": "here"}, "positions: expected an array of real numbers"),
        ({"probe": 1j}, "probe: expected an array"),
        ({"engines": ["dm:100"]}, "engines: expected engines"),
        ({"recipe": "free_pixels = 0.1"}, "recipe: expected a mapping"),
        ({"wavelength": -1}, "wavelength"),
        ({"mask": np.ones((3, 3))}, "mask|expected"),
        ({"mask": np.ones(3)}, "mask: expected an array"),
        ({"mask": np.zeros((32, 32))}, "valid pixel"),
        ({"probe": np.ones((3, 3))}, "probe"),
        ({"engines": []}, "engines"),
        ({"engines": [ws.ptycho.Engine("dn", 3)]}, "dn"),
        ({"engines": [ws.ptycho.DM(3, gamma=2)]}, "gamma"),
        ({"engines": [ws.ptycho.DM(3, alpha=99)]}, "alpha: expected"),
        ({"recipe": {"speed": 1}}, "speed"),
        ({"recipe": {"seed": 1}}, "argument of its own"),
        ({"recipe": {"data": {"coarse": 2}}}, "no table data"),
        ({"recipe": {"free_pixels": float("nan")}}, "recipe"),
        ({"precision": "f16"}, "f16"),
        ({"precision": "f64", "backend": "emulator"}, "f32"),
        ({"backend": "gpu"}, "expected auto, cpu, cuda or emulator"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(options, words):
    with pytest.raises(ws.DataError, match=words):
        reconstruct(**options)


@pytest.mark.parametrize("focus_to_sample", [None, 0.01])
def test_near_fields_are_reconstructed(focus_to_sample):
    scan = ws.ptycho.simulate(frame=48, positions=16, near_field=True, focus_to_sample=focus_to_sample)
    result = ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.DM(30)], probe=scan.probe, backend="cpu")
    r = result.metrics["r_factor"]
    assert r[-1] < 0.3 * r[0]
    far = ws.ptycho.reconstruct(
        **{**scan.arguments, "near_field": False, "focus_to_sample": None}, engines=[ws.ptycho.DM(30)],
        probe=scan.probe, backend="cpu",
    )  # fmt: skip
    assert r[-1] < far.metrics["r_factor"][-1]


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_a_resumed_run_has_the_bits_of_the_whole(tmp_path, precision):
    whole = reconstruct(precision=precision)
    with ws.ptycho.Reconstruction(**SCAN.arguments, engines=ENGINES, precision=precision, backend="cpu") as run:
        for iteration in run:
            if iteration.iteration == 13:
                run.checkpoint(tmp_path / "run.checkpoint")
                break
        with pytest.raises(OSError, match="absent"):
            run.checkpoint(tmp_path / "absent" / "run.checkpoint")
    again = ws.ptycho.reconstruct(**SCAN.arguments, resume=tmp_path / "run.checkpoint", backend="cpu")
    assert np.array_equal(again.object, whole.object) and np.array_equal(again.probe, whole.probe)
    assert len(again.history) == 30 and again.recipe == whole.recipe
    other = ws.ptycho.simulate(frame=32, positions=14, seed=5)
    with pytest.raises(ws.DataError, match="another scan"):
        ws.ptycho.reconstruct(**other.arguments, resume=tmp_path / "run.checkpoint", backend="cpu")
    with pytest.raises(ws.DataError, match="engines: expected none beside resume"):
        reconstruct(resume=tmp_path / "run.checkpoint")
    with pytest.raises(ws.DataError, match="seed: expected none beside resume"):
        ws.ptycho.reconstruct(**SCAN.arguments, seed=3, resume=tmp_path / "run.checkpoint", backend="cpu")
    with pytest.raises(ws.DataError, match="absent"):
        ws.ptycho.reconstruct(**SCAN.arguments, resume=tmp_path / "absent", backend="cpu")


def test_a_checkpoint_of_the_command_is_resumed(tmp_path):
    warpstride = [sys.executable, "-m", "warpstride", "ptycho"]
    scan, saved = str(tmp_path / "scan.cxi"), tmp_path / "run.checkpoint"
    subprocess.run([*warpstride, "simulate", scan, "--frame", "32", "--positions", "14"], check=True, capture_output=True)
    command = [*warpstride, "reconstruct", scan, "--engine", "dm:1000000", "--backend", "cpu", "-o", "r.h5"]
    process = subprocess.Popen([*command, "--checkpoint", saved, "--checkpoint-every", "0"], cwd=tmp_path)
    while not saved.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait()
    result = ws.ptycho.read(tmp_path / "r.h5")
    with ws.ptycho.Reconstruction(**SCAN.arguments, resume=saved, backend="cpu") as run:
        assert run.done == len(result.history) and run.planned == 1000000
        assert np.array_equal(run.object, result.object)


def test_a_run_starts_from_an_earlier_result_or_an_object():
    first = reconstruct()
    few = {"engines": [ws.ptycho.RAAR(2)]}
    plain, further = reconstruct(**few), reconstruct(start=first, **few)
    assert further.metrics["r_factor"][0] < 0.5 * plain.metrics["r_factor"][0]
    from_object = reconstruct(start_object=first.object, probe=first.probe, **few)
    assert from_object.metrics["r_factor"][0] < 0.5 * plain.metrics["r_factor"][0]
    with pytest.raises(ws.DataError, match="start: expected a Result"):
        reconstruct(start=first.object)
    with pytest.raises(ws.DataError, match="start_object: expected an array"):
        reconstruct(start_object=first.object[0])
    with pytest.raises(ws.DataError, match=r"start_object: expected \d+ x \d+ pixels .*, found 5 x 5$"):
        reconstruct(start_object=first.object[:5, :5])
    with pytest.raises(ws.DataError, match="near_field=True"):
        reconstruct(focus_to_sample=0.1)
    near = ws.ptycho.simulate(frame=32, positions=14, near_field=True)
    with pytest.raises(ws.DataError, match="near"):
        ws.ptycho.reconstruct(**near.arguments, start=first, backend="cpu")


@pytest.mark.parametrize("name", ["frames", "positions", "mask", "probe", "start_object"])
def test_arrays_without_elements_are_refused(name):
    simulated = ws.ptycho.simulate(frame=32, positions=12)
    empty = {"positions": (0, 2), "mask": (0, 32), "probe": (0, 32, 32), "start_object": (0, 3)}.get(name, (0, 32, 32))
    given = {"frames": simulated.frames.astype(np.uint16), "positions": simulated.positions, name: np.ones(empty)}
    geometry = {"wavelength": simulated.wavelength, "distance": simulated.distance, "pixel_size": simulated.pixel_size}
    with pytest.raises(ws.DataError, match=f"^{name}: expected at least one element"):
        ws.ptycho.reconstruct(**given, **geometry, engines=[ws.ptycho.DM(1)], backend="cpu")


def test_the_fragment_of_a_recipe_in_the_documentation_works():
    scan = ws.ptycho.simulate(frame=32, positions=12)
    recipe = {"free_pixels": 0.02, "positions": {"refine": ["gradient"]}}
    found = ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.LSQML(10)], recipe=recipe, backend="cpu")
    assert "gradient" in found.recipe and "free_pixels = 0.02" in found.recipe
    assert not np.array_equal(found.positions, scan.positions)
    with pytest.raises(ws.DataError, match="positions.refine: expected an engine at exact positions"):
        ws.ptycho.reconstruct(**scan.arguments, recipe=recipe, backend="cpu")
