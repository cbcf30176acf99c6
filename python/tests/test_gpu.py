"""Arrays of CuPy, PyTorch and JAX on a GPU: no copies through the host, the right order of streams, no leaks."""

import os

import numpy as np
import pytest
from gpu_libraries import host, library, to

import warpstride as ws


pytestmark = pytest.mark.skipif(not ws.devices(), reason="NOT TESTED: this machine has no usable GPU")


def _problem(shape=(24, 31), samples=997, images=None, seed=3):
    random = np.random.default_rng(seed)
    k = random.uniform(-0.5, 0.5, (samples, len(shape)))
    axes = shape if images is None else (images, *shape)
    x = random.normal(size=axes) + 1j * random.normal(size=axes)
    y = random.normal(size=(*axes[: len(axes) - len(shape)], samples)) * (1 + 0.5j)
    return k, x.astype(np.complex64), y.astype(np.complex64)


def _close(a, b, tolerance=2e-5):
    assert a.shape == b.shape and a.dtype == b.dtype == np.complex64
    assert np.linalg.norm(a - b) <= tolerance * np.linalg.norm(b)


@pytest.mark.parametrize("name", ["cupy", "torch", "jax"])
@pytest.mark.parametrize("shape", [(24, 31), (1, 7), (5, 6, 7)])
@pytest.mark.parametrize("images", [None, 1, 3])
def test_transforms_agree_with_the_cpu(name, shape, images):
    k, x, y = _problem(shape, 997, images)
    operator = ws.mri.NUFFT(k, shape, eps=1e-5)
    _close(host(name, operator(to(name, x))), operator(x))
    _close(host(name, operator.H(to(name, y))), operator.H(y))


@pytest.mark.parametrize("name", ["cupy", "torch", "jax"])
def test_coil_maps(name):
    k, x, _ = _problem((16, 20), 331)
    random = np.random.default_rng(5)
    maps = random.normal(size=(4, 16, 20)) + 1j * random.normal(size=(4, 16, 20))
    operator = ws.mri.NUFFT(k, (16, 20), maps=maps.astype(np.complex64))
    samples = operator(x)
    _close(host(name, operator(to(name, x))), samples)
    _close(host(name, operator.H(to(name, samples))), operator.H(samples))


def test_nothing_passes_through_the_host():
    torch = library("torch")
    k, x, y = _problem((64, 64), 5000)
    operator = ws.mri.NUFFT(k, (64, 64))
    x, y = to("torch", x), to("torch", y)
    operator(x), operator.H(y)  # Plans.
    torch.cuda.synchronize()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(10):
            operator(x), operator.H(y)
        torch.cuda.synchronize()
    names = [event.name for event in profile.events()]
    kernels = [name for name in names if "mri_nufft" in name]
    assert len(kernels) >= 10 * 4, names
    assert not [name for name in names if "Memcpy" in name and ("HtoD" in name or "DtoH" in name)], names


def test_the_order_of_streams_that_are_not_the_default():
    """A long computation before, and a read after, each in a stream of its own."""
    torch = library("torch")
    k, x, _ = _problem((128, 128), 20000)
    operator = ws.mri.NUFFT(k, (128, 128))
    expected = torch.as_tensor(operator(x), device="cuda")
    source = torch.as_tensor(x, device="cuda")
    operator(source)
    large = torch.randn(6000, 6000, device="cuda")
    for attempt in range(20):
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            image = torch.zeros_like(source)
            for _ in range(3):
                large @ large  # Keeps the stream busy before the image is written.
            image.copy_(source)
            found = operator(image)
            image.zero_()  # After the transform in this stream.
            error = torch.linalg.norm(found - expected) / torch.linalg.norm(expected)
            assert error.item() < 1e-4, attempt


def test_a_thousand_runs_leak_nothing():
    torch = library("torch")
    k, x, y = _problem((64, 64), 5000)
    operator = ws.mri.NUFFT(k, (64, 64))
    x, y = to("torch", x), to("torch", y)

    def used():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info()
        with open("/proc/self/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return total - free, resident

    for _ in range(50):
        operator(x), operator.H(y)
    before = used()
    for _ in range(1000):
        operator(x), operator.H(y)
    after = used()
    assert after[0] <= before[0]
    assert after[1] <= before[1] + (8 << 20)


def test_what_is_refused():
    torch = library("torch")
    k, x, _ = _problem()
    operator = ws.mri.NUFFT(k, x.shape)
    for wrong in [
        torch.as_tensor(x, device="cuda").to(torch.complex128),
        torch.as_tensor(x, device="cuda").T,
        torch.as_tensor(x, device="cuda")[:5],
        torch.as_tensor(x, device="cuda").real,
    ]:
        with pytest.raises(ws.DataError):
            operator(wrong)


class Described:
    """An array that has CUDA's array interface and nothing else."""

    def __init__(self, array):
        self.array, self.shape = array, array.shape
        self.__cuda_array_interface__ = array.__cuda_array_interface__

    def __getitem__(self, index):
        return Described(self.array[index])


def test_arrays_that_are_only_described():
    cupy = library("cupy")
    k, x, _ = _problem()
    operator = ws.mri.NUFFT(k, x.shape)
    found = operator(Described(cupy.asarray(x)[None]))
    assert tuple(found.shape) == (1, len(k)) and found.__dlpack_device__() == (2, 0)
    _close(found.to_numpy()[0], operator(x))
    _close(cupy.asarray(found).get()[0], operator(x))
    _close(cupy.from_dlpack(found).get()[0], operator(x))
    with pytest.raises(ws.DataError, match="contiguous"):
        operator(Described(cupy.asarray(x)[None, :, ::-1]))
