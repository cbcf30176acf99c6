"""Transforms and reconstructions on GPUs: of NumPy arrays in the emulator, and on a GPU if available; of arrays on a GPU."""

import gc
import json
import os
import pickle
import time

import numpy as np
import pytest
from gpu_libraries import LIBRARIES, host, library, to

import warpstride as ws

RANDOM = np.random.default_rng(11)
on_gpu = pytest.mark.skipif(not ws.devices(), reason="NOT TESTED: this machine has no usable GPU")
BACKENDS = ["emulator", pytest.param("cuda", marks=on_gpu)]


def numbers(*shape):
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(np.complex64)


def error(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype == np.complex64
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# NumPy arrays


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (13, 11), (3, 5, 7)])
@pytest.mark.parametrize("count", [1, 37])
def test_transforms_of_numpy_arrays_agree_with_the_cpu(backend, shape, count):
    k = RANDOM.uniform(-0.5, 0.5, size=(count, len(shape)))
    cpu, other = ws.mri.NUFFT(k, shape), ws.mri.NUFFT(k, shape, backend=backend)
    for images in [(), (1,), (3,)]:
        x, y = numbers(*images, *shape), numbers(*images, count)
        assert error(other(x), cpu(x)) < 3e-5
        assert error(other.H(y), cpu.H(y)) < 3e-5
    # float32 is complex64 without an imaginary part.
    real = RANDOM.normal(size=shape).astype(np.float32)
    assert error(other(real), cpu(real)) < 3e-5
    again = pickle.loads(pickle.dumps(other))
    assert again.backend == backend and error(again(real), other(real)) == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_coil_maps_beside_numpy_arrays(backend):
    k, maps, x = RANDOM.uniform(-0.5, 0.5, size=(50, 2)), numbers(4, 6, 5), numbers(6, 5)
    cpu, other = ws.mri.NUFFT(k, (6, 5), maps=maps), ws.mri.NUFFT(k, (6, 5), maps=maps, backend=backend)
    y = cpu(x)
    assert error(other(x), y) < 3e-5 and error(other.H(y), cpu.H(y)) < 3e-5


FUNCTIONS = [(ws.mri.nufft2d1, ws.mri.nufft2d2, (7, 10)), (ws.mri.nufft3d1, ws.mri.nufft3d2, (3, 4, 5))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("type1", "type2", "shape"), FUNCTIONS)
@pytest.mark.parametrize("isign", [1, -1])
def test_functions_of_numpy_arrays_agree_with_the_cpu(backend, type1, type2, shape, isign):
    points = RANDOM.uniform(-4, 4, size=(len(shape), 41))
    for transforms in [(), (2,)]:
        c, f = numbers(*transforms, 41), numbers(*transforms, *shape)
        options = {"eps": 1e-5, "isign": isign}
        expected = type1(*points, c, shape, **options)
        out = np.empty_like(expected)
        assert type1(*points, c, out=out, backend=backend, **options) is out and error(out, expected) < 3e-5
        found = type2(*points, f, backend=backend, **options)
        assert error(found, type2(*points, f, **options)) < 3e-5


def test_a_gpu_that_is_not_there_is_asked_for_by_name_or_number():
    if ws.devices():
        pytest.skip("this machine has a GPU")
    k, x = [[0.1, 0.2]], numbers(4, 4)
    for options in [{"backend": "cuda"}, {"device": 0}, {"backend": "cuda", "device": 1}]:
        with pytest.raises(ws.DeviceError):
            ws.mri.NUFFT(k, (4, 4), **options)(x)
        with pytest.raises(ws.DeviceError):
            ws.mri.nufft2d2([0.1], [0.2], x, **options)
    assert ws.mri.NUFFT(k, (4, 4))(x).shape == (1,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.mri.NUFFT([[0.1, 0.2]], (4, 4), backend="emulator")(np.ones((4, 4))), "complex64 or float32.*float64"),
        (lambda: ws.mri.NUFFT([[0.1, 0.2]], (4, 4), backend="cuda").H(np.ones(1, complex)), "with backend cuda.*complex128"),
        (lambda: ws.mri.nufft2d1([0.1], [0.2], [1j], (4, 4), backend="emulator"), "c: expected complex64"),
        (lambda: ws.mri.nufft2d2([0.1], [0.2], np.eye(4), device=0), "f: expected complex64"),
        (lambda: ws.mri.NUFFT([[0.1, 0.2]], (4, 4), backend="gpu"), 'backend "gpu": expected auto'),
        (lambda: ws.mri.NUFFT([[0.1, 0.2]], (4, 4), backend="cpu", device=0), "device 0: expected backend cuda, found cpu"),
        (lambda: ws.mri.nufft2d1([0.1], [0.2], [1j], (4, 4), backend="emulator", device=1), "expected backend cuda"),
        (lambda: single(n_modes=(0, 4)), "n_modes: expected a whole number from 1"),
        (lambda: single(x=[np.nan]), "expected finite values"),
        (lambda: single(eps=1e-12), "tolerance"),
        (lambda: single(c=np.ones(2, np.complex64)), "c: expected shape"),
        (lambda: single(out=np.ones((4, 5), np.complex64)), "out: expected"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ws.DataError, match=words):
        call()


def single(x=(0.1,), c=None, n_modes=(4, 4), **options):
    """A transform in the emulator, of complex64."""
    c = np.ones(1, np.complex64) if c is None else c
    return ws.mri.nufft2d1(x, [0.2], c, n_modes, backend="emulator", **options)


def test_what_no_memory_holds_is_refused():
    with pytest.raises(ws.OutOfMemoryError):
        single(n_modes=(2**20, 2**20))


# Arrays on a GPU


@on_gpu
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize(("type1", "type2", "shape"), FUNCTIONS)
@pytest.mark.parametrize("transforms", [(), (3,)])
def test_functions_take_arrays_on_a_gpu(name, type1, type2, shape, transforms):
    # In single precision, which JAX makes of double.
    points = RANDOM.uniform(-4, 4, size=(len(shape), 41)).astype(np.float32)
    c, f = numbers(*transforms, 41), numbers(*transforms, *shape)
    for isign in (1, -1):
        for places in (points, [to(name, axis) for axis in points]):
            options = {"eps": 1e-5, "isign": isign}
            found = type1(*places, to(name, c), shape, **options)
            assert error(host(name, found), type1(*points, c, shape, **options)) < 3e-5
            found = type2(*places, to(name, f), backend="cuda", **options)
            assert error(host(name, found), type2(*points, f, **options)) < 3e-5
    # Where the numbers lie: points on a GPU with strengths of NumPy.
    assert error(type1(*places, c, shape, **options), type1(*points, c, shape, **options)) == 0


@on_gpu
@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_results_are_written_into_out(name):
    x, y = RANDOM.uniform(-3, 3, size=(2, 30))
    for transforms in [(), (2,)]:
        c, f = numbers(*transforms, 30), numbers(*transforms, 6, 5)
        out = to(name, np.zeros((*transforms, 6, 5), np.complex64))
        assert ws.mri.nufft2d1(x, y, to(name, c), out=out) is out
        assert error(host(name, out), ws.mri.nufft2d1(x, y, c, (6, 5))) < 3e-5
        out = to(name, np.zeros((*transforms, 30), np.complex64))
        assert ws.mri.nufft2d2(x, y, to(name, f), out=out) is out
        assert error(host(name, out), ws.mri.nufft2d2(x, y, f)) < 3e-5


@on_gpu
def test_arrays_on_a_gpu_that_are_refused():
    torch, points = library("torch"), ([0.1], [0.2])
    c = to("torch", np.ones(1, np.complex64))
    operator = {backend: ws.mri.NUFFT([[0.1, 0.2]], (4, 4), backend=backend) for backend in ("cpu", "emulator")}
    out = to("torch", np.ones((4, 4), np.complex64))
    for call, words in [
        (lambda: ws.mri.nufft2d1(*points, c.to(torch.complex128), (4, 4)), "complex64"),
        (lambda: ws.mri.nufft2d1(*points, c, (4, 4), backend="cpu"), "c: expected a NumPy array with backend cpu"),
        (lambda: ws.mri.nufft2d1(*points, c, (4, 4), device=7), "one on GPU 7, found an array on GPU 0"),
        (lambda: operator["cpu"].H(c), "y: expected a NumPy array with backend cpu, found an array on GPU 0"),
        (lambda: operator["emulator"](out), "x: expected a NumPy array with backend emulator"),
        (lambda: ws.mri.nufft2d1(*points, c, out=np.ones((4, 4), np.complex64)), "out: expected an array of torch on GPU 0"),
        (lambda: ws.mri.nufft2d1(*points, np.ones(1, np.complex64), out=out), "out: expected"),
        (lambda: ws.mri.nufft2d1(*points, c, (4, 5), out=out), "out: expected shape"),
        (lambda: ws.mri.nufft2d1(*points, c, out=out.repeat(1, 2)[:, ::2]), "C order"),
        (lambda: ws.mri.nufft2d1(*points, c, out=out.to(torch.complex128)), "complex64"),
        (lambda: ws.mri.nufft2d1(*points, c[:0], (4, 4)), "c: expected shape"),
        (lambda: ws.mri.nufft2d2(*points, c), "f: expected an array of 2 axes"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            call()


def scan(coils=4, matrix=24, **options):
    found = ws.mri.simulate(matrix=matrix, coils=coils, **options)
    return found, found.samples, found.k


METHODS = [
    {},
    {"operator": "nufft", "lamda": 0.1},
    {"operator": "direct", "density": "ramp", "iterations": 4},
    {"method": "adjoint"},
    {"method": "adjoint", "density": "pipe", "intensity_correction": True},
    {"method": "tv", "iterations": 5},
    {"method": "wavelet", "iterations": 5, "operator": "nufft"},
    {"intensity_correction": True, "iterations": 4},
]


@on_gpu
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("maps", ["one set", "two sets", "none", "numpy"])
def test_images_of_samples_on_a_gpu_are_those_of_numpy_arrays(name, options, maps):
    simulated, samples, k = scan()
    of_host = simulated.maps.astype(np.complex64)
    if maps == "two sets":
        of_host = np.stack([of_host, 0.3 * of_host[::-1].conj()])
    if maps == "none":
        if "intensity_correction" in options:
            pytest.skip("there is no intensity to correct without maps")
        of_host = given = "none"
    else:
        given = of_host if maps == "numpy" else to(name, of_host)
    expected = ws.mri.reconstruct(samples, k, 24, maps=of_host, backend="cuda", **options)
    found = ws.mri.reconstruct(to(name, samples), k, 24, maps=given, **options)
    # The same bits, but for what the library of the arrays computes.
    same = options.get("method") != "adjoint" and "intensity_correction" not in options
    assert error(host(name, found.image), expected.image) <= (0 if same and maps in ("one set", "numpy") else 1e-5)
    if maps != "none":
        assert error(host(name, found.maps), expected.maps) == 0
    else:
        assert found.maps is None
    # Late residuals, which are rounding of single precision, depend on the last bits of maps.
    assert found.residuals.shape == expected.residuals.shape
    assert np.abs(found.residuals - expected.residuals).max(initial=0) <= (0 if same else 1e-4)
    assert found.backend == "cuda" and found.recipe == expected.recipe and found.density == expected.density
    assert (found.data_residual is None) == (expected.data_residual is None)
    if expected.data_residual is not None:
        assert abs(found.data_residual - expected.data_residual) < 1e-5
    assert found.problems == expected.problems


@on_gpu
@pytest.mark.parametrize("name", LIBRARIES)
def test_volumes_weights_trajectories_and_estimated_maps(name, tmp_path):
    simulated, samples, k = scan(coils=3, matrix=10, volume=True)
    weights = RANDOM.uniform(0.5, 1, size=k.shape[:-1])
    arguments = [to(name, array) for array in (samples, k)]
    for maps in ("auto", "walsh"):
        expected = ws.mri.reconstruct(samples, k, 10, maps=maps, density=weights, backend="cuda")
        found = ws.mri.reconstruct(*arguments, 10, maps=maps, density=to(name, weights))
        assert error(host(name, found.image), expected.image) < 1e-4
        assert error(host(name, found.maps), expected.maps) < 1e-6
        assert found.density == "weights" and "estimated on the host" in found.notes[0]
    # One coil without an axis of its own.
    found = ws.mri.reconstruct(to(name, samples[0]), k, 10, maps="none")
    expected = ws.mri.reconstruct(samples[0], k, 10, maps="none", backend="cuda")
    assert error(host(name, found.image), expected.image) < 1e-5
    # Files are the same whatever the library.
    found.save(tmp_path / "a.npy")
    assert np.allclose(np.load(tmp_path / "a.npy").squeeze(), host(name, found.image))


@on_gpu
def test_reconstructions_that_are_refused():
    torch, cupy = library("torch"), library("cupy")
    simulated, samples, k = scan()
    of_gpu, maps = to("torch", samples), simulated.maps.astype(np.complex64)
    broken = of_gpu.clone()
    broken[1, 2, 3] = float("nan")
    for arguments, words in [
        ({"samples": of_gpu.to(torch.complex128)}, "samples: expected complex64"),
        ({"backend": "cpu"}, "samples: expected a NumPy array with backend cpu, found an array on GPU 0"),
        ({"backend": "emulator"}, "with backend emulator"),
        ({"devices": "all"}, "devices: expected None or 0"),
        ({"devices": [0, 1]}, "devices: expected None or 0"),
        ({"samples": of_gpu[:, :, 1:]}, "samples: expected shape"),
        ({"samples": of_gpu[:0]}, "expected"),
        ({"samples": broken}, "the data: expected finite values"),
        ({"maps": maps[1:]}, "maps: expected shape"),
        ({"maps": maps[:, 1:]}, "maps: expected shape"),
        ({"maps": cupy.asarray(maps)}, "maps: expected a NumPy array, or one of torch on GPU 0"),
        ({"maps": to("torch", maps).to(torch.complex128)}, "maps: expected complex64"),
        ({"maps": np.full_like(maps, np.nan)}, "the coil maps: expected finite values"),
        ({"maps": "best"}, "maps"),
        ({"method": "best"}, "method"),
        ({"density": -np.ones(k.shape[:-1])}, "at least 0"),
        ({"tolerance": 1e-12, "operator": "nufft"}, "tolerance"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            ws.mri.reconstruct(**{"samples": of_gpu, "k": k, "matrix": 24, "maps": maps, **arguments})
    # The next run works, also with the number of the GPU.
    for devices in (0, [0]):
        assert ws.mri.reconstruct(of_gpu, k, 24, maps=maps, devices=devices, backend="cuda").image.shape == (24, 24)


@on_gpu
@pytest.mark.parametrize("name", LIBRARIES)
def test_runs_are_the_same_bits(name):
    simulated, samples, k = scan()
    maps = simulated.maps.astype(np.complex64)
    maps, of_gpu = to(name, np.stack([maps, 0.3 * maps[::-1].conj()])), to(name, samples)
    run = lambda: ws.mri.reconstruct(of_gpu, k, 24, maps=maps, intensity_correction=True, min_residual=0)  # noqa: E731
    first = run()
    for _ in range(3):
        again = run()
        assert np.array_equal(again.residuals, first.residuals)
        assert np.array_equal(host(name, again.image), host(name, first.image))


@on_gpu
def test_callbacks_see_iterations_and_end_the_run():
    simulated, samples, k = scan()
    seen = []

    def see(iteration):
        seen.append(iteration.iteration)
        return iteration.iteration == 3

    maps = to("torch", simulated.maps.astype(np.complex64))
    found = ws.mri.reconstruct(to("torch", samples), k, 24, maps=maps, min_residual=0, iterations=500, callback=see)
    assert seen[:3] == [1, 2, 3] and len(found.residuals) < 500


@on_gpu
def test_zero_samples_have_a_zero_image():
    simulated, samples, k = scan()
    maps = to("torch", simulated.maps.astype(np.complex64))
    found = ws.mri.reconstruct(to("torch", np.zeros_like(samples)), k, 24, maps=maps)
    assert not found.image.abs().max() and "every sample is 0" in found.problems and found.data_residual is None


@on_gpu
@pytest.mark.parametrize("operator", ["nufft", "toeplitz"])
def test_images_come_after_and_before_what_other_streams_do(operator):
    """A long computation before, and a read after, each in a stream of its own."""
    torch = library("torch")
    simulated, samples, k = scan(coils=6, matrix=48)
    maps, source = to("torch", simulated.maps.astype(np.complex64)), to("torch", samples)
    arguments = {"k": k, "matrix": 48, "operator": operator, "iterations": 3}
    expected = ws.mri.reconstruct(source, maps=maps, **arguments).image
    large = torch.randn(6000, 6000, device="cuda")
    for attempt in range(5):
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            late, late_maps = torch.zeros_like(source), torch.zeros_like(maps)
            for _ in range(3):
                large @ large  # Keeps the stream busy before samples and maps are written.
            late.copy_(source), late_maps.copy_(maps)
            found = ws.mri.reconstruct(late, maps=late_maps, **arguments).image
            late.zero_(), late_maps.zero_()
            difference = torch.linalg.norm(found - expected) / torch.linalg.norm(expected)
            assert difference.item() < 1e-5, attempt


@on_gpu
def test_functions_come_after_and_before_what_other_streams_do():
    torch = library("torch")
    x, y = RANDOM.uniform(-3, 3, size=(2, 20000))
    c = numbers(20000)
    source, expected = to("torch", c), to("torch", ws.mri.nufft2d1(x, y, c, (64, 64)))
    large = torch.randn(6000, 6000, device="cuda")
    for attempt in range(5):
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            late = torch.zeros_like(source)
            out = torch.zeros_like(expected)
            for _ in range(3):
                large @ large
            late.copy_(source)
            ws.mri.nufft2d1(x, y, late, out=out)
            late.zero_()
            difference = torch.linalg.norm(out - expected) / torch.linalg.norm(expected)
            assert difference.item() < 1e-4, attempt


def host_copies(work, path):
    """Bytes of each copy between host and device that PyTorch's profiler sees, by direction."""
    torch = library("torch")
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        work()
        torch.cuda.synchronize()
    profile.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]
    assert any("mri_" in event.get("name", "") for event in events), "no kernels in the profile"
    copies = [event for event in events if event.get("cat") == "gpu_memcpy"]
    direction = {way: [e["args"]["bytes"] for e in copies if way in e["name"]] for way in ("HtoD", "DtoH", "DtoD")}
    return direction


@on_gpu
@pytest.mark.parametrize("method", ["cg", "adjoint", "tv", "wavelet"])
@pytest.mark.parametrize("operator", ["nufft", "direct"])
def test_neither_samples_nor_image_pass_through_the_host(method, operator, tmp_path):
    """What plans need follows from the trajectory, so that four times the coils are no bytes more; and downloads are sums."""
    found = {}
    for coils in (4, 16):
        simulated, samples, k = scan(coils=coils, matrix=64)
        maps, of_gpu = to("torch", simulated.maps.astype(np.complex64)), to("torch", samples)
        arguments = {"k": k, "matrix": 64, "maps": maps, "method": method, "operator": operator, "density": "none"}
        if method != "adjoint":
            arguments |= {"iterations": 4}
        if method == "cg":
            arguments |= {"min_residual": 0}
        work = lambda: ws.mri.reconstruct(of_gpu, **arguments)  # noqa: E731, B023
        work()
        found[coils] = host_copies(work, tmp_path / f"{coils}.json")
        assert sum(found[coils]["DtoD"]) >= samples.nbytes
    few, many = found[4], found[16]
    assert sum(few["HtoD"]) == sum(many["HtoD"]) and sum(few["DtoH"]) == sum(many["DtoH"])
    # EᴴWd for the scale of λ; all else are sums and residuals.
    image = 8 * 64**2
    large = [size for size in many["DtoH"] if size > image // 2]
    assert large == ([image] if method in ("tv", "wavelet") else []), many["DtoH"]
    assert sum(many["HtoD"]) < 16 * 8 * k[..., 0].size


@on_gpu
def test_functions_copy_no_strengths_and_no_modes(tmp_path):
    x, y = RANDOM.uniform(-3, 3, size=(2, 5000))
    found = {}
    for transforms in (2, 20):
        c, f = to("torch", numbers(transforms, 5000)), to("torch", numbers(transforms, 64, 64))

        def work(c=c, f=f):
            ws.mri.nufft2d1(x, y, c, (64, 64)), ws.mri.nufft2d2(x, y, f)

        work()
        found[transforms] = host_copies(work, tmp_path / f"{transforms}.json")
    few, many = found[2], found[20]
    assert sum(few["HtoD"]) == sum(many["HtoD"]) and sum(few["DtoH"]) == sum(many["DtoH"]) == 0


def used():
    torch = library("torch")
    gc.collect()
    # Threads of runs that are over free their engines.
    time.sleep(1)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total - free, resident


@on_gpu
@pytest.mark.parametrize("what", ["functions", "operator of NumPy arrays", "reconstruct"])
def test_a_thousand_runs_leak_nothing(what):
    simulated, samples, k = scan(coils=2, matrix=16, spokes=12)
    points = 2 * np.pi * k.reshape(-1, 2).T
    c, maps = to("torch", samples.reshape(2, -1)), to("torch", simulated.maps.astype(np.complex64))
    of_gpu, operator = to("torch", samples), ws.mri.NUFFT(k.reshape(-1, 2), (16, 16), backend="cuda")
    image = numbers(16, 16)

    def work():
        if what == "functions":
            ws.mri.nufft2d2(*points, ws.mri.nufft2d1(*points, c, (16, 16)))
        elif what == "reconstruct":
            ws.mri.reconstruct(of_gpu, k, 16, maps=maps, iterations=3)
        else:
            operator.H(operator(image))

    for _ in range(50):
        work()
    before = used()
    for _ in range(1000):
        work()
    after = used()
    assert after[0] <= before[0]
    assert after[1] <= before[1] + (16 << 20)


@on_gpu
def test_threads_reconstruct_at_the_same_time():
    from concurrent.futures import ThreadPoolExecutor

    simulated, samples, k = scan()
    maps, of_gpu = to("torch", simulated.maps.astype(np.complex64)), to("torch", samples)
    run = lambda scale: ws.mri.reconstruct(scale * of_gpu, k, 24, maps=maps).image.cpu().numpy()  # noqa: E731
    expected = run(1)
    with ThreadPoolExecutor(4) as threads:
        for scale, found in zip(range(1, 13), threads.map(run, range(1, 13))):
            assert error(found, (scale * expected).astype(np.complex64)) < 1e-5
