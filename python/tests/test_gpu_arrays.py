"""Fields, frames and scattering vectors of CuPy, PyTorch and JAX on a GPU: relaxation, ptychography and scattering."""

import json
import os

import numpy as np
import pytest
from gpu_libraries import LIBRARIES, host, library, to

import warpstride as ws
from warpstride.ptycho._frames import Prepared

on_a_gpu = pytest.mark.skipif(not ws.devices(), reason="NOT TESTED: this machine has no usable GPU")


def _copied_bytes(work):
    """Bytes that a computation copies between host and device, by PyTorch's profile, and names of kernels."""
    torch = library("torch")
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        work()
        torch.cuda.synchronize()
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"warpstride-trace-{os.getpid()}.json")
    profile.export_chrome_trace(path)
    try:
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    finally:
        os.remove(path)
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    through = [event for event in copies if "HtoD" in event["name"] or "DtoH" in event["name"]]
    kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
    return sum(event["args"]["bytes"] for event in through), kernels


def _used():
    torch = library("torch")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total - free, resident


def _leaks_nothing(work, warm, times):
    for _ in range(warm):
        work()
    before = _used()
    for _ in range(times):
        work()
    after = _used()
    assert after[0] <= before[0] + (2 << 20), (before, after)
    assert after[1] <= before[1] + (16 << 20), (before, after)


# Relaxation


def _field(shape, dtype, seed=1):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("boundary", ["dirichlet", "periodic", "textbook"])
def test_fields_have_the_bits_of_the_cpu(name, dtype, boundary):
    for shape, sourced in [((3, 3), False), ((64, 128), True), ((301, 517), True), ((130, 33), False)]:
        field, source = _field(shape, dtype), 1e-2 * _field(shape, dtype, 2)
        options = {"boundary": boundary, "iterations": 203, "tolerance": 1e-3, "check_every": 7}
        expected = ws.jacobi.solve(field, source if sourced else None, backend="cpu", **options)
        given = to(name, field)
        found = ws.jacobi.solve(given, to(name, source) if sourced else None, **options)
        assert "cuda" in found.setup and found.sweeps == expected.sweeps
        result = host(name, found.field)
        assert result.dtype == dtype and np.array_equal(result, expected.field), (shape, sourced)
        assert np.array_equal(found.norm_sweeps, expected.norm_sweeps)
        assert np.allclose(found.norms, expected.norms, rtol=1e-10)
        assert np.array_equal(host(name, given), field)


@on_a_gpu
def test_a_relaxation_copies_nothing_through_the_host():
    field = to("torch", _field((2000, 1999), np.float32))
    options = {"iterations": 64, "check_every": 16, "tolerance": -1}
    ws.jacobi.solve(field, field, **options)
    copied, kernels = _copied_bytes(lambda: ws.jacobi.solve(field, field, **options))
    assert any("jacobi" in name for name in kernels)
    # The first and the last row, and norms.
    assert copied <= 3 * 2000 * 4


@on_a_gpu
def test_a_relaxation_in_the_order_of_streams():
    torch = library("torch")
    start = _field((257, 300), np.float32)
    expected = ws.jacobi.solve(start, iterations=40, backend="cpu").field
    source = torch.as_tensor(start, device="cuda")
    large = torch.randn(6000, 6000, device="cuda")
    for _ in range(10):
        with torch.cuda.stream(torch.cuda.Stream()):
            field = torch.zeros_like(source)
            for _ in range(3):
                large @ large  # Keeps the stream busy before the field is written.
            field.copy_(source)
            found = ws.jacobi.solve(field, iterations=40).field
            field.zero_()
            total = (found * 1.0).cpu().numpy()
        assert np.array_equal(total, expected)


@on_a_gpu
def test_a_thousand_relaxations_leak_nothing():
    field = to("torch", _field((64, 61), np.float32))
    _leaks_nothing(lambda: ws.jacobi.solve(field, iterations=3), 30, 1000)


@on_a_gpu
def test_what_a_relaxation_refuses(tmp_path):
    torch = library("torch")
    field = torch.zeros((8, 9), device="cuda")
    for wrong, words in [
        (lambda: ws.jacobi.solve(field.to(torch.int32)), "float32 or float64"),
        (lambda: ws.jacobi.solve(field.T), "contiguous"),
        (lambda: ws.jacobi.solve(field[0]), "row, column"),
        (lambda: ws.jacobi.solve(field, backend="cpu"), "auto or cuda"),
        (lambda: ws.jacobi.solve(field, devices=[0, 1]), "devices: expected 0"),
        (lambda: ws.jacobi.solve(field, field[:5].contiguous()), "shape of the field"),
        (lambda: ws.jacobi.solve(field, field.double()), "source: expected float32, found float64"),
        (lambda: ws.jacobi.solve(field, np.zeros((8, 9))), "source: expected an array on GPU 0"),
        (lambda: ws.jacobi.solve(np.zeros((8, 9)), field), "source: expected an array in host memory"),
        (lambda: ws.jacobi.solve(field[:2]), "3 × 3"),
        (lambda: ws.jacobi.solve(field + float("nan")), "finite"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            wrong()
    solution = ws.jacobi.solve(field + 1, iterations=2, devices=0)
    solution.save(tmp_path / "field.npy")
    assert np.array_equal(np.load(tmp_path / "field.npy"), np.ones((8, 9), dtype=np.float32))


# Ptychography

SCAN = ws.ptycho.simulate(frame=32, positions=40)


PROBE = SCAN.probe.astype(np.complex64)
# Few iterations: from rounding errors, projections grow to differences of 1e-3 within ten.
ENGINES = [ws.ptycho.LSQML(3)]


def _arguments(**options):
    return {**SCAN.arguments, "probe": PROBE, "engines": ENGINES, **options}


def _differs(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def _mask(frames, each):
    shape = frames.shape if each else frames.shape[1:]
    return np.random.default_rng(4).random(shape) > 0.02


@pytest.mark.parametrize("mask", ["none", "shared", "each"])
def test_frames_are_prepared_as_they_are_defined(mask, monkeypatch):
    monkeypatch.setattr("warpstride.ptycho._frames._BLOCK_PIXELS", 7 * 32 * 32)
    for shape, dtype in [((40, 32, 32), np.uint16), ((9, 5, 6), np.float32), ((3, 4, 7), np.int64)]:
        frames = np.random.default_rng(8).poisson(3, shape).astype(dtype)
        valid = None if mask == "none" else _mask(frames, mask == "each")
        if valid is not None and dtype == np.float32:
            frames[~np.broadcast_to(valid, frames.shape)] = np.nan
        found = Prepared(frames, valid)
        counts = frames.astype(np.float64)
        all_valid = np.ones(shape, dtype=bool) if valid is None else np.broadcast_to(valid, shape)
        counts[~all_valid] = 0
        expected = np.fft.ifftshift(np.where(all_valid, np.sqrt(counts.astype(np.float32)), -1), axes=(1, 2))
        assert found.magnitudes.dtype == np.float32 and np.array_equal(found.magnitudes, expected)
        assert np.array_equal(found.of_frames, counts.sum((1, 2)))
        assert np.array_equal(found.of_pixels, counts.sum(0))
        assert (found.largest, found.whole) == (counts.max(), True)
        assert np.array_equal(found.read(2), frames[2].astype(np.float32), equal_nan=True)
    frames = np.full((3, 4, 4), 0.5)
    assert not Prepared(frames, None).whole
    for wrong in [-1.0, np.nan, np.inf, 1e300]:
        frames[2, 3, 1] = wrong
        with pytest.raises(ws.DataError, match="frame 2, row 3, column 1: expected a finite count"), np.errstate(all="ignore"):
            Prepared(frames, None)
        masked = np.ones((4, 4), dtype=bool)
        masked[3, 1] = False
        with np.errstate(all="ignore"):
            assert Prepared(frames, masked).largest == 0.5
    for wrong in [np.zeros((3, 4)), np.zeros((3, 4, 4), dtype=complex), np.zeros((0, 4, 4)), np.zeros((3, 4, 4), dtype=bool)]:
        with pytest.raises(ws.DataError, match="frames: expected an array"):
            Prepared(wrong, None)
    with pytest.raises(ws.DataError, match="mask: expected an array"):
        Prepared(np.zeros((3, 4, 4)), np.ones((4, 5)))


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("dtype", [np.uint16, np.float32, np.int32, np.uint8])
def test_frames_on_a_gpu_give_the_result_of_frames_on_the_host(name, dtype):
    frames = np.minimum(SCAN.frames, 255).astype(dtype)
    each = dtype == np.uint16
    mask = _mask(frames, each)
    engines = [ws.ptycho.DM(3)] if dtype == np.int32 else ENGINES
    expected = ws.ptycho.reconstruct(**_arguments(frames=frames, mask=mask, engines=engines, backend="cuda"))
    mask = mask if dtype == np.int32 else to(name, mask)
    probe = PROBE if dtype == np.uint8 else to(name, PROBE)
    found = ws.ptycho.reconstruct(**_arguments(frames=to(name, frames), mask=mask, engines=engines, probe=probe))
    assert found.backend == "cuda"
    assert _differs(found.object, expected.object) < 1e-4
    r, other = (one.metrics["r_factor"][-1] for one in (found, expected))
    assert r == pytest.approx(other, rel=1e-4)
    object_, probe = found.arrays(to(name, frames))
    assert np.array_equal(host(name, object_), found.object)
    assert np.array_equal(host(name, probe), found.probe)


@on_a_gpu
def test_frames_on_a_gpu_agree_with_the_cpu():
    expected = ws.ptycho.reconstruct(**_arguments(backend="cpu"))
    found = ws.ptycho.reconstruct(**_arguments(frames=to("torch", SCAN.frames)))
    assert _differs(found.object, expected.object) < 1e-4


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_start_probe_is_searched_for_and_steps_have_arrays(name):
    frames = to(name, SCAN.frames)
    with ws.ptycho.Reconstruction(**_arguments(probe=None, backend="cuda")) as expected:
        notes = expected.notes
    with ws.ptycho.Reconstruction(**_arguments(frames=frames, probe=None)) as run:
        assert run.notes == notes and any("defocus" in note for note in notes)
        for iteration in run:
            if iteration.iteration == 2:
                break
        object_, probe = run.arrays(like=frames)
        assert np.array_equal(host(name, object_), run.object)
        assert np.array_equal(host(name, probe), run.probe)
        assert run.object.dtype == np.complex64
    # Copies outlive the run.
    assert np.isfinite(host(name, object_)).all()


@on_a_gpu
def test_a_reconstruction_copies_no_frames_through_the_host():
    torch = library("torch")
    scan = ws.ptycho.simulate(frame=64, positions=600)
    frames = torch.as_tensor(scan.frames.astype(np.uint16), device="cuda")
    options = {**scan.arguments, "frames": frames, "probe": scan.probe, "engines": ENGINES}
    ws.ptycho.reconstruct(**options)

    def work():
        with ws.ptycho.Reconstruction(**options) as run:
            run.run()
            run.arrays(like=frames)

    copied, kernels = _copied_bytes(work)
    assert any("ptycho" in name for name in kernels)
    # The start object and probe, positions, sums over frames and over pixels, metrics.
    assert copied < scan.frames.nbytes / 8, (copied, scan.frames.nbytes)


@on_a_gpu
def test_frames_in_the_order_of_streams():
    torch = library("torch")
    source = torch.as_tensor(SCAN.frames, device="cuda")
    expected = ws.ptycho.reconstruct(**_arguments(frames=source)).object
    large = torch.randn(6000, 6000, device="cuda")
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            frames = torch.zeros_like(source)
            for _ in range(3):
                large @ large
            frames.copy_(source)
            run = ws.ptycho.Reconstruction(**_arguments(frames=frames))
            frames.zero_()
        with run:
            run.run()
            assert np.array_equal(run.result().object, expected)


@on_a_gpu
def test_reconstructions_leak_nothing():
    frames = to("torch", SCAN.frames)
    _leaks_nothing(lambda: ws.ptycho.reconstruct(**_arguments(frames=frames, engines=[ws.ptycho.LSQML(1)])), 3, 20)
    with ws.ptycho.Reconstruction(**_arguments(frames=frames, engines=[ws.ptycho.LSQML(2000)])) as run:
        _leaks_nothing(lambda: (next(run), run.arrays(like=frames)), 30, 1000)


@on_a_gpu
def test_what_a_reconstruction_refuses(tmp_path):
    frames = to("torch", SCAN.frames)
    for options, words in [
        ({"backend": "cpu"}, "auto or cuda"),
        ({"device": 7}, "device: expected 0"),
        ({"precision": "f64"}, "computes in f64"),
        ({"recipe": {"free_pixels": 0.1}}, "free_pixels: expected 0"),
        ({"resume": "none"}, "resume: expected"),
        ({"frames": frames[:, 0]}, "frames: expected an array"),
        ({"frames": -frames}, "expected a finite count"),
        ({"frames": frames * 0}, "photon"),
        ({"mask": np.ones((3, 3))}, "mask: expected"),
    ]:
        if "resume" in options:
            given = {**SCAN.arguments, "frames": frames, **options}
        else:
            given = _arguments(**{"frames": frames, **options})
        with pytest.raises((ws.DataError, ws.DeviceError), match=words):
            ws.ptycho.Reconstruction(**given)
    with ws.ptycho.Reconstruction(**_arguments(frames=frames)) as run:
        with pytest.raises(ws.DataError, match="checkpoint"):
            run.checkpoint(tmp_path / "c")
        with pytest.raises(ws.DataError, match="like"):
            run.arrays(like=SCAN.frames)
    with ws.ptycho.Reconstruction(**_arguments(backend="cpu")) as run, pytest.raises(ws.DataError, match="on a GPU"):
        run.arrays(like=frames)


# Scattering


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_intensities_stay_on_the_gpu_of_q(name, precision):
    model = ws.sas.Model("cylinder@hardsphere", precision=precision)
    plain = ws.sas.Model("cylinder@hardsphere", precision=precision, backend="cuda")
    cpu = ws.sas.Model("cylinder@hardsphere", precision=precision, backend="cpu")
    q = np.geomspace(1e-3, 0.5, 200).reshape((50, 4))
    options = {"radius": 25.0, "radius_pd": 0.1, "length": 300.0}
    expected = plain(q, **options)
    found = host(name, model(to(name, q), **options))
    assert found.dtype == np.float64 and np.array_equal(found, expected)
    assert np.allclose(found, cpu(q, **options), rtol=1e-4 if precision == "f32" else 1e-9)
    radii = np.linspace(10, 60, 37)
    expected = plain.batch(q, {"radius": radii}, radius_pd=0.1)
    assert np.array_equal(host(name, model.batch(to(name, q), {"radius": radii}, radius_pd=0.1)), expected)


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
def test_images_and_sets_without_a_solution(name):
    qx, qy = np.meshgrid(np.linspace(-0.2, 0.2, 21), np.linspace(-0.1, 0.1, 12))
    model, plain = ws.sas.Model("ellipsoid"), ws.sas.Model("ellipsoid", backend="cuda")
    found = model((to(name, qx), to(name, qy)), theta=30, phi=20)
    assert np.array_equal(host(name, found), plain((qx, qy), theta=30, phi=20))
    model = ws.sas.Model("sphere@stickyhardsphere")
    q = np.geomspace(1e-2, 0.3, 30)
    sets = {"stickiness": [0.2, 0.01, 0.3], "volfraction": [0.1, 0.3, 0.2]}
    expected = ws.sas.Model("sphere@stickyhardsphere", backend="cuda").batch(q, sets)
    assert np.isnan(expected).any(1).tolist() == [False, True, False]
    found = host(name, model.batch(to(name, q), sets))
    assert np.array_equal(found, expected, equal_nan=True)


@on_a_gpu
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_resolution_is_applied_on_the_gpu_of_q(name):
    q = np.geomspace(1e-2, 0.3, 40)
    model, plain = ws.sas.Model("sphere"), ws.sas.Model("sphere", backend="cuda")
    cpu = ws.sas.Model("sphere", backend="cpu")
    for options in ({"resolution": 0.05}, {"resolution": 0.02 * np.sqrt(q)}, {"slit": (0.05, 0.001)}):
        expected = plain(q, radius=400, **options)
        assert np.array_equal(host(name, model(to(name, q), radius=400, **options)), expected)
        assert np.allclose(expected, cpu(q, radius=400, **options), rtol=1e-9)
        assert not np.allclose(expected, cpu(q, radius=400), rtol=1e-3)
    image = np.meshgrid(np.linspace(-0.2, 0.2, 12), np.linspace(0.01, 0.1, 7))
    width = 0.05 * np.hypot(*image)
    expected = plain(tuple(image), radius=60, resolution=(width, width))
    found = model(tuple(to(name, part) for part in image), radius=60, resolution=(width, width))
    assert np.array_equal(host(name, found), expected)
    assert np.allclose(expected, cpu(tuple(image), radius=60, resolution=0.05), rtol=1e-9)


@on_a_gpu
def test_a_batch_copies_no_intensities_through_the_host():
    q = to("torch", np.geomspace(1e-3, 0.5, 1000))
    model, radii = ws.sas.Model("sphere"), np.linspace(10, 60, 500)
    model.batch(q, {"radius": radii})
    copied, kernels = _copied_bytes(lambda: model.batch(q, {"radius": radii}))
    assert any("sas_sphere" in name for name in kernels)
    # q, and the parameters of the sets.
    assert copied < 500 * 1000 * 8 / 4, copied


@on_a_gpu
def test_scattering_in_the_order_of_streams():
    torch = library("torch")
    points = np.geomspace(1e-3, 0.5, 300)
    model = ws.sas.Model("sphere")
    source = torch.as_tensor(points, device="cuda")
    expected = model(source).cpu().numpy()
    large = torch.randn(6000, 6000, device="cuda")
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            q = torch.ones_like(source)
            for _ in range(3):
                large @ large
            q.copy_(source)
            assert np.array_equal((model(q) * 1.0).cpu().numpy(), expected)


@on_a_gpu
def test_a_thousand_evaluations_leak_nothing():
    q, model = to("torch", np.geomspace(1e-3, 0.5, 300)), ws.sas.Model("sphere")
    _leaks_nothing(lambda: model(q, radius=20.0), 50, 1000)


@on_a_gpu
def test_what_scattering_refuses():
    q = to("torch", np.geomspace(1e-3, 0.5, 30))
    for wrong, words in [
        (lambda: ws.sas.Model("sphere", backend="cpu")(q), "auto or cuda"),
        (lambda: ws.sas.Model("sphere", device=7)(q), "device: expected 0"),
        (lambda: ws.sas.Model("sphere+cylinder")(q), "sum"),
        (lambda: ws.sas.Model("sphere")((q, np.zeros(30))), "one GPU"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            wrong()


class Elsewhere:
    """What looks like an array on a GPU."""

    def __init__(self, dtype, shape):
        self.dtype, self.shape = np.dtype(dtype), shape

    def __dlpack_device__(self):
        return 2, 0


def test_other_places_are_refused_without_a_gpu():
    with pytest.raises(ws.DataError, match="float32 or float64 on a GPU, found int16"):
        ws.jacobi.solve(Elsewhere(np.int16, (4, 4)))
    with pytest.raises(ws.DataError, match="source: expected an array in host memory"):
        ws.jacobi.solve(np.zeros((4, 4)), Elsewhere(np.float64, (4, 4)))
    with pytest.raises(ws.DataError, match="expected auto or cuda"):
        ws.jacobi.solve(Elsewhere(np.float32, (4, 4)), backend="cpu")
    with pytest.raises(ws.DataError, match="backend: expected auto or cuda for q on a GPU, found cpu"):
        ws.sas.Model("sphere", backend="cpu")(Elsewhere(np.float64, (4,)))
    with pytest.raises(ws.DataError, match="q: expected an array of CuPy, PyTorch, JAX or NumPy"):
        ws.sas.Model("sphere")(Elsewhere(np.float64, (4,)))
    with pytest.raises(ws.DataError, match="frames: expected an array of CuPy, PyTorch or JAX"):
        ws.ptycho.Reconstruction(**_arguments(frames=Elsewhere(np.uint16, (40, 32, 32))))
    with pytest.raises(ws.DataError, match="like: expected an array on a GPU"):
        ws.ptycho.reconstruct(**_arguments(engines=[ws.ptycho.DM(1)], backend="cpu")).arrays(np.zeros(3))
