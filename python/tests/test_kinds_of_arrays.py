"""Arrays with masks, of the other byte order, and arguments of other types."""

import numpy as np
import pytest

import warpstride as ws

MODEL = ws.sas.Model("sphere", backend="cpu")
Q = np.geomspace(0.01, 0.3, 12)
SCAN = ws.ptycho.simulate(frame=16, positions=4)
PHANTOM = ws.mri.simulate(matrix=8, coils=2)


def _masked(array):
    array = np.ma.array(array)
    array[(0,) * array.ndim] = np.ma.masked
    return array


def _scan(**options):
    return {**SCAN.arguments, "engines": ws.ptycho.DM(1), "backend": "cpu", **options}


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("q", lambda: MODEL(_masked(Q))),
        ("intensity", lambda: ws.sas.fit(MODEL, (Q, _masked(MODEL(Q)), 0.1 * MODEL(Q)), {"radius": (10, 60)})),
        ("values", lambda: ws.series.table(np.arange(3).astype("datetime64[s]"), _masked(np.ones(3)))),
        ("field", lambda: ws.jacobi.solve(_masked(np.zeros((5, 5))), backend="cpu")),
        ("field", lambda: ws.jacobi.solve(_masked(np.zeros((5, 5), dtype=np.float32)), backend="cpu")),
        ("frames", lambda: ws.ptycho.reconstruct(**_scan(frames=_masked(SCAN.frames)))),
        ("samples", lambda: ws.mri.reconstruct(_masked(PHANTOM.samples), PHANTOM.k, 8, backend="cpu")),
        ("k", lambda: ws.mri.NUFFT(_masked(PHANTOM.k.reshape(-1, 2)), (8, 8))),
    ],
)
def test_masked_elements_are_refused(name, call):
    with pytest.raises(ws.DataError, match="masked"):
        call()


def test_arrays_whose_mask_is_empty_are_taken():
    assert np.array_equal(MODEL(np.ma.array(Q)), MODEL(Q))


def test_the_byte_order_does_not_matter():
    def swapped(array):
        return array.astype(array.dtype.newbyteorder(">"))

    for dtype in (np.uint16, np.float32):
        frames = SCAN.frames.astype(dtype)
        found = ws.ptycho.reconstruct(**_scan(frames=swapped(frames)))
        assert np.array_equal(found.object, ws.ptycho.reconstruct(**_scan(frames=frames)).object)
    field = np.random.default_rng(1).normal(size=(6, 7)).astype(np.float32)
    solved = ws.jacobi.solve(swapped(field), iterations=3, backend="cpu").field
    assert solved.dtype == np.float32 and solved.dtype.isnative
    assert np.array_equal(solved, ws.jacobi.solve(field, iterations=3, backend="cpu").field)
    operator = ws.mri.NUFFT(PHANTOM.k.reshape(-1, 2), (8, 8))
    image = PHANTOM.image.astype(np.complex64)
    assert operator(swapped(image)).dtype == np.complex64
    assert np.array_equal(operator(swapped(image)), operator(image))


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("model: expected a Model", lambda: ws.sas.fit("sphere", (Q, Q, Q), {"radius": (1, 2)})),
        ("q: expected", lambda: MODEL(())),
        ("matrix: expected", lambda: ws.mri.reconstruct(PHANTOM.samples, PHANTOM.k, [[1], [2, 3]])),
        ("k: expected", lambda: ws.mri.reconstruct_all(PHANTOM.samples[None], [[1.0], [2.0, 3.0]], 8)),
        ("precision", lambda: ws.mri.reconstruct(PHANTOM.samples, PHANTOM.k, 8, precision=np.ones(3))),
        ("progress: expected True", lambda: ws.jacobi.solve(np.zeros((5, 5)), progress=np.ones(3), backend="cpu")),
        ("maps_once: expected True", lambda: ws.mri.reconstruct_all(PHANTOM.samples[None], PHANTOM.k, 8, maps_once=np.ones(2))),
        (
            "intensity_correction: expected True",
            lambda: ws.mri.reconstruct(PHANTOM.samples, PHANTOM.k, 8, intensity_correction=np.ones(2)),
        ),
    ],
)
def test_arguments_of_other_types_are_named(words, call):
    with pytest.raises(ws.DataError, match=words):
        call()
