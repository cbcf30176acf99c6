"""The back end of mri-nufft, with the real package."""

import numpy as np
import pytest

pytest.importorskip("mrinufft")

import mrinufft  # noqa: E402

import warpstride.mrinufft  # noqa: E402, F401

RANDOM = np.random.default_rng(11)


def complex_numbers(*shape, dtype=np.complex64):
    return (RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)).astype(dtype)


def trajectory(axes, dtype=np.float32):
    return RANDOM.uniform(-0.5, 0.5, size=(60, axes)).astype(dtype)


@pytest.mark.parametrize("shape", [(8, 12), (6, 8, 4)])
def test_transforms_are_those_of_the_exact_operator(shape):
    k = trajectory(len(shape))
    ours, exact = (mrinufft.get_operator(name)(k, shape) for name in ("warpstride", "numpy"))
    image, samples = complex_numbers(*shape), complex_numbers(60)
    found, expected = ours.op(image), exact.op(image)
    assert found.dtype == np.complex64
    assert np.linalg.norm(found - expected) < 1e-4 * np.linalg.norm(expected)
    found, expected = ours.adj_op(samples), exact.adj_op(samples)
    assert np.linalg.norm(found - expected) < 1e-4 * np.linalg.norm(expected)


def test_double_precision_stays_and_is_accurate():
    k = trajectory(2, np.float64)
    operator = mrinufft.get_operator("warpstride")(k, (8, 8), eps=1e-10)
    image = complex_numbers(8, 8, dtype=np.complex128)
    modes = np.arange(8) - 4
    phase = np.exp(-2j * np.pi * (k[:, 0, None, None] * modes[:, None] + k[:, 1, None, None] * modes))
    expected = (phase * image).sum(axis=(1, 2)) / operator.norm_factor
    found = operator.op(image)
    assert found.dtype == np.complex128
    assert np.linalg.norm(found - expected) < 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("options", [{}, {"n_trans": 2}, {"n_batchs": 2}, {"n_trans": 4, "n_batchs": 2}])
def test_coils_batches_and_density_have_their_adjoint(options):
    k, maps = trajectory(2), complex_numbers(4, 8, 8)
    operator = mrinufft.get_operator("warpstride")(k, (8, 8), n_coils=4, smaps=maps, **options)
    batches = options.get("n_batchs", 1)
    x, y = complex_numbers(batches, 1, 8, 8), complex_numbers(batches, 4, 60)
    forward = operator.op(x).reshape(y.shape)
    assert np.isclose(np.vdot(y, forward), np.vdot(operator.adj_op(y).reshape(x.shape), x), rtol=1e-4)
    for batch in range(batches):
        plain = mrinufft.get_operator("warpstride")(k, (8, 8))
        expected = [plain.op(coil * x[batch, 0]) for coil in maps]
        assert np.allclose(forward[batch], expected, rtol=1e-3, atol=1e-4)


def test_another_trajectory_and_the_other_sign():
    first, second = trajectory(2), trajectory(2)
    operator = mrinufft.get_operator("warpstride")(first, (8, 8))
    image = complex_numbers(8, 8)
    operator.update_samples(second)
    expected = mrinufft.get_operator("warpstride")(second, (8, 8)).op(image)
    assert np.allclose(operator.op(image), expected)
    with operator.grad_traj_plan():
        other = operator.op(image.conj())
    assert np.allclose(other.conj(), expected, rtol=1e-4, atol=1e-5)


def test_density_weights_keep_an_image():
    angles = np.pi * np.arange(40) / 40
    along = np.linspace(-0.5, 0.5, 64, endpoint=False)
    k = np.stack([np.outer(np.cos(angles), along), np.outer(np.sin(angles), along)], axis=-1)
    k = k.reshape(-1, 2).astype(np.float32)
    operator = mrinufft.get_operator("warpstride")(k, (32, 32), density=True)
    x, y = np.meshgrid(np.arange(32) - 16, np.arange(32) - 16)
    image = np.exp(-(x**2 + y**2) / 60).astype(np.complex64)
    found = operator.adj_op(operator.op(image))
    weighted = np.vdot(image, found) / np.vdot(image, image)
    assert np.linalg.norm(found - weighted * image) < 0.1 * np.linalg.norm(found)
    plain = mrinufft.get_operator("warpstride")(k, (32, 32))
    blurred = plain.adj_op(plain.op(image))
    factor = np.vdot(image, blurred) / np.vdot(image, image)
    assert np.linalg.norm(blurred - factor * image) > 0.3 * np.linalg.norm(blurred)


def test_arrays_that_are_not_aligned_are_taken():
    operator = mrinufft.get_operator("warpstride")(trajectory(2), (8, 8))
    image = complex_numbers(8, 8)
    found = np.frombuffer(b"x" + image.tobytes(), np.uint8)[1:].view(image.dtype).reshape(image.shape)
    assert not found.flags.aligned
    samples, expected = np.empty((2, operator.n_samples), image.dtype)
    assert np.array_equal(operator.raw_op.op(samples, found), operator.raw_op.op(expected, image)) and samples.any()
