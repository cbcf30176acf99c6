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


def _unaligned(array):
    """The same numbers in C order at an address that their type does not allow, as in a buffer with a header of one byte."""
    array = np.ascontiguousarray(array)
    found = np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    assert not found.flags.aligned and found.flags.c_contiguous
    return found


POINT = (np.linspace(-1, 1, 7), np.linspace(-2, 2, 7))
STRENGTHS = np.linspace(0, 1, 7) + 1j
INTENSITY = MODEL(Q)


@pytest.mark.parametrize(
    ("call", "arrays"),
    [
        (lambda x, y, c: ws.mri.nufft2d1(x, y, c, (6, 4)), (*POINT, STRENGTHS)),
        (lambda x, y, c: ws.mri.nufft2d1(x, y, c, (6, 4)), (*POINT, STRENGTHS.astype(np.complex64))),
        (lambda x, y, f: ws.mri.nufft2d2(x, y, f), (*POINT, np.ones((6, 4), complex))),
        (lambda c: ws.mri.nufft2d1(*POINT, c, (6, 4), backend="emulator"), (STRENGTHS.astype(np.complex64),)),
        (lambda k, maps, x: ws.mri.NUFFT(k, (8, 8), maps=maps)(x), (PHANTOM.k, PHANTOM.maps, PHANTOM.image)),
        (lambda k, y: ws.mri.NUFFT(k, (8, 8)).H(y), (PHANTOM.k, PHANTOM.samples)),
        (
            lambda samples, k, maps, density: (
                ws.mri.reconstruct(samples, k, 8, maps=maps, density=density, iterations=2, backend="cpu").image
            ),
            (PHANTOM.samples, PHANTOM.k, PHANTOM.maps, np.ones(PHANTOM.k.shape[:-1])),
        ),
        (lambda field: ws.jacobi.solve(field, iterations=2, backend="cpu").field, (np.eye(5),)),
        (lambda field: ws.jacobi.solve(field, iterations=2, backend="cpu").field, (np.eye(5, dtype=np.float32),)),
        (lambda q: MODEL(q), (Q,)),
        (lambda qx, qy: MODEL((qx, qy)), (Q, Q)),
        (lambda q, dq: MODEL(q, resolution=dq), (Q, 0.05 * Q)),
        (lambda q, radius: MODEL.batch(q, {"radius": radius}), (Q, np.array([20.0, 30.0]))),
        (
            lambda q, intensity, sigma: ws.sas.fit(MODEL, (q, intensity, sigma), {"radius": (10, 60)}).model,
            (Q, INTENSITY, 0.1 * INTENSITY),
        ),
        (lambda t, v: ws.series.table(t, v)["value"], (np.arange(3).astype("datetime64[ns]"), np.arange(3.0))),
        (
            lambda frames, positions: ws.ptycho.reconstruct(**_scan(frames=frames, positions=positions)).object,
            (SCAN.frames, SCAN.positions),
        ),
        (
            lambda probe, start: ws.ptycho.reconstruct(**_scan(probe=probe, start_object=start)).object,
            (SCAN.probe, np.ones_like(ws.ptycho.reconstruct(**_scan(probe=SCAN.probe)).object, dtype=complex)),
        ),
    ],
)
def test_arrays_that_are_not_aligned_are_taken(call, arrays):
    assert np.array_equal(call(*map(_unaligned, arrays)), call(*arrays))


TRUTHS = [
    ("magnetic", lambda found: ws.sas.Model("sphere", magnetic=found)),
    ("volume", lambda found: ws.mri.simulate(matrix=8, coils=1, volume=found)),
    ("near_field", lambda found: ws.ptycho.simulate(frame=16, positions=4, near_field=found)),
    ("near_field", lambda found: ws.ptycho.reconstruct(**{**_scan(), "near_field": found})),
    ("near_field", lambda found: ws.ptycho.read_scan("absent.cxi", near_field=found)),
    *(
        (name, lambda found, name=name: ws.ptycho.read_scan("absent.cxi", **{name: found}))
        for name in ("swap_axes", "flip_rows", "flip_columns", "follow_links", "sparse")
    ),
    ("resolution", lambda found: ws.sas.fit(MODEL, (Q, INTENSITY, INTENSITY), {"radius": (10, 60)}, resolution=found)),
]


@pytest.mark.parametrize(("name", "call"), TRUTHS)
@pytest.mark.parametrize("found", ["no", 1, 0, 0.1, np.array([1, 2]), np.array(True), [], [True]])
def test_only_true_and_false_are_truth_values(name, call, found):
    with pytest.raises(ws.DataError) as refused:
        call(found)
    assert str(refused.value).startswith(f"{name}: expected True or False, found {found!r}")


def test_truth_values_of_numpy_are_taken():
    assert "up_frac_i" in ws.sas.Model("sphere", backend="cpu", magnetic=np.True_).parameters
    assert "up_frac_i" not in ws.sas.Model("sphere", backend="cpu", magnetic=np.False_).parameters
    assert ws.mri.simulate(matrix=8, coils=1, volume=np.True_).image.shape == (8, 8, 8)
    for found in (False, np.False_, True, np.True_):
        with pytest.raises(ws.DataError, match="absent.cxi: cannot be read"):
            ws.ptycho.read_scan("absent.cxi", swap_axes=found)


def _table():
    return ws.series.table(np.arange(2).astype("datetime64[s]"), [1.0, 2.0], {"host": ["a", "b"]})


def _fit(**options):
    return ws.sas.fit(**{"model": MODEL, "data": (Q, INTENSITY, INTENSITY), "free": {"radius": (10, 60)}, **options})


def _image(**options):
    return ws.mri.reconstruct(PHANTOM.samples, PHANTOM.k, 8, **{"backend": "cpu", **options})


TEXTS = [
    ("name", lambda found: ws.sas.Model(found)),
    ("backend", lambda found: ws.sas.Model("sphere", backend=found)),
    ("precision", lambda found: ws.sas.Model("sphere", precision=found)),
    ("radius_pd_type", lambda found: MODEL(Q, radius_pd=0.1, radius_pd_type=found)),
    ("free", lambda found: _fit(free=[found])),
    ("free", lambda found: _fit(free={found: None})),
    ("shared", lambda found: _fit(shared=[found])),
    ("ties", lambda found: _fit(ties={found: "radius"})),
    ("ties", lambda found: _fit(ties={"scale": found})),
    ("method", lambda found: _fit(method=found)),
    ("weights", lambda found: _fit(weights=found)),
    ("values", lambda found: MODEL.batch(Q, {found: [1.0]})),
    ("select", lambda found: ws.sas.read(__file__, select=found)),
    ("kind", lambda found: ws.sas.read(__file__, kind=found)),
    ("q_unit", lambda found: ws.sas.read(__file__, q_unit=found)),
    ("method", lambda found: _image(method=found)),
    ("operator", lambda found: _image(operator=found)),
    ("backend", lambda found: _image(backend=found)),
    ("trajectory", lambda found: ws.mri.simulate(trajectory=found)),
    ("group", lambda found: ws.mri.read(__file__, group=found)),
    ("select", lambda found: ws.mri.read(__file__, select=found)),
    ("combine", lambda found: ws.mri.read(__file__, combine=found)),
    ("backend", lambda found: ws.mri.nufft2d1(*POINT, STRENGTHS, (6, 4), backend=found)),
    ("boundary", lambda found: ws.jacobi.solve(np.eye(5), boundary=found)),
    ("backend", lambda found: ws.jacobi.solve(np.eye(5), backend=found)),
    ("precision", lambda found: ws.ptycho.reconstruct(**_scan(precision=found))),
    ("backend", lambda found: ws.ptycho.reconstruct(**_scan(backend=found))),
    ("every", lambda found: ws.series.resample(_table(), [found])),
    ("agg", lambda found: ws.series.resample(_table(), "1m", [found])),
    ("by", lambda found: ws.series.resample(_table(), "1m", by=[found])),
    *(
        (name, lambda found, name=name: ws.series.resample(_table(), "1m", **{name: found}))
        for name in ("time", "value", "nan", "time_format", "timezone", "backend")
    ),
    ("backend", lambda found: ws.selftest("jacobi", backend=found)),
    ("labels", lambda found: ws.series.table(np.arange(1).astype("datetime64[s]"), [1.0], {found: ["a"]})),
    ("labels: host", lambda found: ws.series.table(np.arange(1).astype("datetime64[s]"), [1.0], {"host": [found]})),
]


@pytest.mark.parametrize(("name", "call"), TEXTS)
def test_texts_are_checked(name, call):
    with pytest.raises(TypeError, match=f"^{name}: expected a text.*, found 3"):
        call(3)
    with pytest.raises(ws.DataError) as refused:
        call("a\udcff")
    expected = r"expected a text of Unicode characters, found a lone surrogate in 'a\udcff'"
    assert str(refused.value) == f"{name}: {expected}"


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("parameters", lambda found: MODEL(Q, **{found: 1.0})),
        ("recipe", lambda found: ws.ptycho.reconstruct(**_scan(recipe={found: 1}))),
        ("recipe.probe.source", lambda found: ws.ptycho.reconstruct(**_scan(recipe={"probe": {"source": found}}))),
        ("recipe.engines.name", lambda found: ws.ptycho.reconstruct(**_scan(engines=ws.ptycho.Engine(found, 1)))),
        ("format", lambda found: ws.ptycho.read_scan("absent.cxi", format=found)),
        ("options", lambda found: ws.ptycho.read_scan("absent.cxi", **{found: 1})),
        ("maps", lambda found: _image(maps=found)),
        ("density", lambda found: _image(density=found)),
        ("devices", lambda found: _image(devices=found)),
    ],
)
def test_lone_surrogates_are_refused(name, call):
    with pytest.raises(ws.DataError, match=f"^{name}: expected a text of Unicode characters, found a lone surrogate in"):
        call("a\udcff")


@pytest.mark.parametrize("read", [ws.sas.read, ws.mri.read, ws.ptycho.read_scan, ws.ptycho.read])
def test_names_of_files_may_have_bytes_that_are_not_unicode(read, tmp_path):
    path = tmp_path / "a\udcff.txt"
    with pytest.raises(ws.DataError, match="cannot be read: No such file"):
        read(path)
    path.write_text("x")
    with pytest.raises(ws.DataError, match=r"a.\.txt: expected "):
        read(path)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ws.sas.Model("sphere", devices=[]),
        lambda: ws.jacobi.solve(np.eye(5), devices=[]),
        lambda: ws.ptycho.reconstruct(**_scan(devices=np.array([], dtype=int))),
        lambda: _image(devices=()),
    ],
)
def test_no_devices_are_refused(call):
    with pytest.raises(ws.DataError, match="^devices: expected at least one number of a GPU, found none"):
        call()
