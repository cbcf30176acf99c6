"""Non-uniform Fourier transforms against direct sums."""

import pickle

import numpy as np
import pytest

import warpstride as ws

RANDOM = np.random.default_rng(7)


def complex_numbers(*shape):
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


def modes(n):
    return np.arange(n) - n // 2


def phases(points, shape, isign):
    """exp(± i k·x): (point, *shape)"""
    angle = np.zeros((len(points[0]), *shape))
    for axis, (coordinate, n) in enumerate(zip(points, shape)):
        along = [1] * (len(shape) + 1)
        along[0], along[axis + 1] = -1, n
        angle = angle + (coordinate[:, None] * modes(n)).reshape(len(coordinate), *along[1:])
    return np.exp((1j if isign >= 0 else -1j) * angle)


@pytest.mark.parametrize("shape", [(12, 9), (6, 7, 4)])
@pytest.mark.parametrize("isign", [1, -1])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transforms_are_the_direct_sums(shape, isign, dtype):
    points = RANDOM.uniform(-4, 4, size=(len(shape), 40))
    c, f = complex_numbers(2, 40).astype(dtype), complex_numbers(*shape).astype(dtype)
    single = dtype == np.complex64
    eps, bound = (1e-5, 1e-4) if single else (1e-10, 1e-9)
    type1 = ws.mri.nufft2d1 if len(shape) == 2 else ws.mri.nufft3d1
    type2 = ws.mri.nufft2d2 if len(shape) == 2 else ws.mri.nufft3d2
    exact = phases(points, shape, isign)
    found = type1(*points, c, shape, eps=eps, isign=isign)
    expected = np.tensordot(c, exact, axes=1)
    assert found.dtype == dtype and found.shape == (2, *shape)
    assert np.linalg.norm(found - expected) < bound * np.linalg.norm(expected)
    assert np.array_equal(type1(*points, c[1], shape, eps=eps, isign=isign), found[1])
    found = type2(*points, f, eps=eps, isign=isign)
    expected = (exact * f).reshape(40, -1).sum(axis=1)
    assert found.dtype == dtype and found.shape == (40,)
    assert np.linalg.norm(found - expected) < bound * np.linalg.norm(expected)


def test_default_signs_and_tolerances_work_in_both_precisions():
    x, y = RANDOM.uniform(-3, 3, size=(2, 30))
    for dtype in (np.complex64, np.complex128):
        c, f = complex_numbers(30).astype(dtype), complex_numbers(8, 8).astype(dtype)
        a, b = ws.mri.nufft2d1(x, y, c, (8, 8)), ws.mri.nufft2d2(x, y, f)
        # The adjoint of one is the other.
        assert np.isclose(np.vdot(f, a), np.vdot(b, c), rtol=1e-4)


def test_out_and_views_are_taken():
    x, y = RANDOM.uniform(-3, 3, size=(30, 2)).T
    c = complex_numbers(60)[::2]
    out = np.empty((6, 5), dtype=complex)
    assert ws.mri.nufft2d1(x, y, c, out=out) is out
    assert np.array_equal(out, ws.mri.nufft2d1(x, y, c.copy(), (6, 5)))


def test_the_operator_is_the_direct_sum_and_has_its_adjoint():
    k = RANDOM.uniform(-0.5, 0.5, size=(30, 2))
    maps = complex_numbers(3, 6, 8)
    plain = ws.mri.NUFFT(k, (6, 8), eps=1e-9)
    x = complex_numbers(6, 8)
    columns, rows = k[:, 0, None, None] * modes(8), k[:, 1, None, None] * modes(6)[:, None]
    expected = (np.exp(-2j * np.pi * (rows + columns)) * x).sum(axis=(1, 2))
    assert np.allclose(plain(x), expected, rtol=1e-7)
    operator = pickle.loads(pickle.dumps(ws.mri.NUFFT(k, (6, 8), eps=1e-9, maps=maps)))
    y = complex_numbers(3, 30)
    assert operator(x).shape == (3, 30)
    assert np.isclose(np.vdot(y, operator(x)), np.vdot(operator.H(y), x))
    assert np.allclose(operator(x)[1], plain(maps[1] * x))
    single = ws.mri.NUFFT(k, (6, 8), maps=maps)
    found = single.H(y.astype(np.complex64))
    assert found.dtype == np.complex64 and np.allclose(found, operator.H(y), rtol=1e-3, atol=1e-3)
    assert single(x.astype(np.complex64)).dtype == np.complex64


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.mri.nufft2d1([0.0], [0.0, 1.0], [1j], (4, 4)), "y: expected an array"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j, 2j], (4, 4)), "expected arrays of shape"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4,)), "n_modes: expected 2 numbers"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j]), "expected n_modes or out"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (0, 4)), "at least one voxel"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (2**40, 2**40)), "memory"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], ["a"], (4, 4)), "c: expected an array of numbers"),
        (lambda: ws.mri.nufft2d1([1j], [0.0], [1j], (4, 4)), "x: expected an array of real numbers"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4, 2.5)), "n_modes: expected whole numbers"),
        (lambda: ws.mri.nufft2d1([np.nan], [0.0], [1j], (4, 4)), "finite"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4, 4), eps=1e-30), "tolerance"),
        (lambda: ws.mri.nufft2d2([0.0], [0.0], [1j, 2j]), "f: expected an array of 2 axes"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0, 0.0]], (4, 4))(np.zeros((4, 4))), "trajectory"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0]], (4, 4))(np.zeros((4, 5))), "expected arrays of shape"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0]], (4, 4), maps=np.ones((2, 4, 5))), "maps: expected shape"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ws.DataError, match=words):
        call()
