"""Arrays of CuPy, PyTorch and JAX for tests."""

import importlib

import numpy as np
import pytest

from warpstride._gpu import in_double

LIBRARIES = ["cupy", "torch", "jax"]


def library(name):
    """The library; the test is skipped if it is not installed, or has no GPU."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name} is not installed")
    if name == "jax" and found.default_backend() != "gpu":
        pytest.skip("this jax has no GPU")
    return found


def to(name, array, ordinal=0):
    """A NumPy array in the memory of a GPU, of the same type."""
    of = library(name)
    if name == "torch":
        return of.as_tensor(array, device=f"cuda:{ordinal}")
    if name == "cupy":
        with of.cuda.Device(ordinal):
            return of.asarray(array)
    with in_double(of):
        return of.device_put(array, of.devices("gpu")[ordinal])


def host(name, array):
    """A NumPy array of an array of this library, which must lie on a GPU."""
    assert type(array).__module__.split(".")[0] in (name, "jaxlib"), type(array)
    assert array.__dlpack_device__()[0] in (2, 13)
    return array.cpu().numpy() if name == "torch" else array.get() if name == "cupy" else np.asarray(array)
