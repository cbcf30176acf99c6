"""Whole numbers and devices as arguments, and sentences with Python's names."""

import re

import numpy as np
import pytest

import warpstride as ws
from warpstride._warpstride import in_python

SCAN = ws.ptycho.simulate(frame=16, positions=4)
PTYCHO = {**SCAN.arguments, "engines": ws.ptycho.DM(1), "recipe": {"probe": {"source": "mean-pattern"}}, "backend": "cpu"}
MRI = {"samples": np.ones((2, 9), dtype=complex), "k": np.full((9, 2), 0.1), "matrix": 4, "maps": "none", "backend": "cpu"}
JACOBI = {"field": np.ones((5, 6)), "iterations": 2, "backend": "cpu"}
TYPE1 = {"x": np.ones(5), "y": np.ones(5), "c": np.ones(5, dtype=complex), "n_modes": (4, 4)}
SPHERE = ws.sas.Model("sphere", backend="cpu")
Q = np.linspace(0.01, 0.3, 8)
FIT = {"model": SPHERE, "data": (Q, Q, Q), "free": {"radius": (10.0, 60.0)}}
POINTS = ws.series.table(np.datetime64("2026-01-01", "s") + np.arange(4), [1.0, 2.0, 3.0, 4.0])


def engine(iterations):
    return ws.ptycho.reconstruct(**{**PTYCHO, "engines": ws.ptycho.DM(iterations)})


def operator(shape):
    return ws.mri.NUFFT(MRI["k"], (shape, 4))(np.ones((4, 4)))


def points(radius_pd_n):
    return SPHERE(Q, radius_pd=0.1, radius_pd_n=radius_pd_n)


# Functions, arguments that can be computed with, the name of a whole number, and a value that it can have.
WHOLE = [
    (engine, {}, "iterations", 2),
    (ws.ptycho.reconstruct, PTYCHO, "probe_modes", 2),
    (ws.ptycho.reconstruct, PTYCHO, "seed", 2),
    (ws.ptycho.reconstruct, {**PTYCHO, "backend": "emulator"}, "devices", 2),
    (ws.ptycho.simulate, {"positions": 4}, "frame", 16),
    (ws.ptycho.simulate, {"frame": 16}, "positions", 4),
    (ws.ptycho.simulate, {"frame": 16, "positions": 4}, "seed", 2),
    (ws.mri.reconstruct, MRI, "iterations", 2),
    (ws.mri.reconstruct, MRI, "matrix", 4),
    (ws.mri.reconstruct, {**MRI, "samples": np.ones((2, 9), np.complex64), "backend": "emulator"}, "devices", 1),
    (ws.mri.simulate, {"coils": 2}, "matrix", 8),
    (ws.mri.simulate, {"matrix": 8}, "coils", 2),
    (ws.mri.simulate, {"matrix": 8, "coils": 1}, "spokes", 4),
    (ws.mri.simulate, {"matrix": 8, "coils": 1}, "samples", 4),
    (ws.mri.simulate, {"matrix": 8, "coils": 1}, "seed", 4),
    (ws.mri.nufft2d1, TYPE1, "isign", 1),
    (operator, {}, "shape", 4),
    (ws.jacobi.solve, JACOBI, "iterations", 2),
    (ws.jacobi.solve, JACOBI, "check_every", 2),
    (ws.jacobi.solve, {**JACOBI, "backend": "emulator"}, "devices", 2),
    (ws.sas.fit, FIT, "starts", 2),
    (ws.sas.fit, FIT, "iterations", 2),
    (ws.sas.fit, {**FIT, "method": "de", "generations": 2}, "population", 8),
    (ws.sas.fit, {**FIT, "method": "de"}, "generations", 2),
    (ws.sas.fit, FIT, "seed", 2),
    (points, {}, "radius_pd_n", 5),
]
NONE = {"probe_modes", "spokes", "samples", "starts", "population", "devices"}
"""What may be omitted, and None is then as if it were."""


@pytest.mark.parametrize(("function", "arguments", "name", "value"), WHOLE)
def test_whole_numbers_are_those_of_python_and_of_numpy(function, arguments, name, value):
    for number in (value, np.int64(value), np.uint8(value), np.array(value)):
        function(**{**arguments, name: number})


@pytest.mark.parametrize(("function", "arguments", "name", "value"), WHOLE)
def test_anything_but_a_whole_number_is_a_data_error(function, arguments, name, value):
    bad = [2**70, -(2**70), 1.5, True, np.True_, "3", float("nan"), np.float64(2.5), np.array([1, 2]), object()]
    bad += [] if name == "isign" else [-1]
    bad += [] if name in NONE or function is ws.mri.reconstruct else [None]
    for found in bad:
        if name in ("devices", "matrix") and isinstance(found, np.ndarray):
            continue
        with pytest.raises(ws.DataError) as error:
            function(**{**arguments, name: found})
        assert re.match(rf"{name}\b.*: expected .*", str(error.value)), (name, found, error.value)
        assert "2**63 - 1" in str(error.value) or re.search(r"\d", str(error.value)), error.value


@pytest.mark.parametrize("found", [2**70, -1, 1.5, True, "3", float("nan")])
def test_the_number_of_a_device_is_a_whole_number(found):
    calls = [
        lambda: ws.sas.Model("sphere", device=found),
        lambda: ws.ptycho.reconstruct(**{**PTYCHO, "backend": "cuda"}, device=found),
        lambda: ws.mri.nufft2d1(**TYPE1, device=found),
        lambda: ws.series.resample(POINTS, "1m", device=found),
        lambda: ws.selftest("sas", device=found),
    ]
    for call in calls:
        with pytest.raises(ws.DataError, match=r"device: expected a whole number from 0 to 2\*\*63 - 1, found"):
            call()
    for devices in ([found], (0, found)):
        with pytest.raises(ws.DataError, match="devices: expected a whole number"):
            ws.jacobi.solve(JACOBI["field"], devices=devices)


def test_an_engine_is_a_list_of_one():
    one = ws.ptycho.reconstruct(**PTYCHO)
    several = ws.ptycho.reconstruct(**{**PTYCHO, "engines": [ws.ptycho.DM(1)]})
    assert np.array_equal(one.object, several.object) and len(one.history) == 1


@pytest.mark.parametrize(
    ("engines", "sentence"),
    [
        ("DM", r"engines: expected engines such as DM\(100\), found 'DM'"),
        (["dm:100"], r"engines: expected engines such as DM\(100\), found 'dm:100'"),
        (3, r"engines: expected engines such as DM\(100\), found 3"),
        ([], r"engines: expected at least one engine such as DM\(100\), found none"),
        (ws.ptycho.DM(1, alpha=2**70), r"engines.alpha: expected a number of at most 2\*\*63 - 1"),
        (ws.ptycho.DM(1, alpha=np.nan), "engines.alpha: expected a finite number, found nan"),
        (ws.ptycho.DM(1, alpha=7), r"dm.alpha.*: expected"),
    ],
)
def test_engines_that_are_none_are_refused_by_their_argument(engines, sentence):
    with pytest.raises(ws.DataError, match=sentence):
        ws.ptycho.reconstruct(**{**PTYCHO, "engines": engines})


def test_iterations_of_an_engine_are_within_the_librarys_limit():
    for found in (0, 2**70, 10_000_001):
        with pytest.raises(ws.DataError, match=f"iterations: expected a whole number from 1 to 10000000, found {found}"):
            ws.ptycho.DM(found)
    assert ws.ptycho.DM(np.int32(7)) == ws.ptycho.DM(7)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"free": {}}, r"free: expected at least one parameter to fit, such as .*, found none"),
        ({"free": []}, "free: expected at least one parameter to fit"),
        ({"free": {}, "data": None}, "free: expected at least one parameter to fit"),
        ({"free": None}, "free: expected parameters to fit, such as .*, found NoneType"),
        ({"data": None}, r"data: expected a file, .*, found None"),
        ({"data": (Q,)}, r"data: .*, found a tuple of 1"),
        ({"free": {"radius": (60, 10)}}, r'free=\{"radius": \(60, 10\)\}: expected a first bound less than the second'),
        ({"shared": ["scale"]}, r'shared=\["scale"\]: expected a fitted parameter \(free=\{"scale": \(LOW, HIGH\)\}\)'),
        ({"ties": {"scale": "2*"}}, r'ties=\{"scale": "2\*"\}: expected a number'),
        ({"ties": {"radius": "2 * scale"}}, r'ties=\{"radius": "2 \* scale"\}: .*, found free=\{"radius": …\}'),
        ({"ties": ["a"]}, "ties: expected a mapping, found list"),
        ({"free": {"radius_pd": (0, 1)}, "starts": 3, "start": {"radius_pd": "x"}}, "start of radius_pd: expected a number"),
        ({"free": "radius", "starts": 3}, r'give free=\{"radius": \(LOW, HIGH\)\}'),
        ({"q_range": (1.0,)}, r"q_range: expected \(low, high\)"),
    ],
)
def test_a_fit_names_its_own_arguments(arguments, sentence):
    with pytest.raises(ws.DataError, match=sentence):
        ws.sas.fit(**{**FIT, **arguments})


@pytest.mark.parametrize(
    ("of_command", "of_python"),
    [
        ("--backend cuda: expected --precision f32, found f64", 'backend="cuda": expected precision="f32", found f64'),
        ("take fewer probe modes (--probe-modes 3)", "take fewer probe modes (probe_modes=3)"),
        ("take fewer probe modes (--probe-modes), fewer", "take fewer probe modes (probe_modes), fewer"),
        ("take more --devices or a smaller grid (--nx, --ny)", "take more devices or a smaller grid"),
        ("(--set data.frames=[0,10])", "(frames=[0,10])"),
        ("with --set data.sparse=true", "with sparse=True"),
        ("states it: --set 'data.units.distance=\"m\"'", 'states it: units={"distance": "m"}'),
        ("(--set lsqml.batch=50 --set rpie.batch=20)", "(LSQML(…, batch=50) RPIE(…, batch=20))"),
        ("(--set probe.source=mean-pattern starts", '(recipe={"probe": {"source": "mean-pattern"}} starts'),
        ("(--opr-modes 1) or --opr-modes", '(recipe={"opr_modes": 1}) or opr_modes of the recipe'),
        ("which needs --near-field)", "which needs near_field=True)"),
        ("--raster 64x64 --step 31.25A", 'raster={"points": (64, 64), "step": "31.25A"}'),
        ("--raster 8x8 and --step 2A", 'raster={"points": (8, 8)} and raster={"step": "2A"}'),
        ("(--position-columns 0,1)", '(positions={"columns": (0, 1)})'),
        ("or --positions FILE, or", "or positions=FILE, or"),
        ("(such as --engine lsqml:100)", "(such as engines=[LSQML(100)])"),
        ("(--slice-distance 20um sets one)", '(recipe={"slices": {"distance": 20e-6}} sets one)'),
        ("(--fly-shift 0,1.5um), or (--fly-shift scan)", '(recipe={"fly": {"shift": [0, 1.5e-6]}}), or (recipe={"fly": {"path": "scan"}})'),
        ("add --pd radius=0.1", "add radius_pd=0.1"),
        ("use --q-unit 1/nm", 'use ws.sas.read(…, q_unit="1/nm")'),
        ("1/Å; if the file is in 1/nm, give --q-unit 1/nm", '1/Å; if it is in 1/nm, divide it by 10, or use ws.sas.read(…, q_unit="1/nm")'),
        ("a fit with --positive leaves", "a fit with positive=True leaves"),
        ("(--no-data nan)", '(no_data="nan")'),
        ("and --transform-frames turns frames", "and transform_frames turns frames"),
        ("whole days beside H with --timezone Europe/Zurich, whose", 'whole days beside H with timezone="Europe/Zurich", whose'),
        ("(--select COUNTER=all makes an image of each)", '(select="COUNTER=all" makes an image of each)'),
        ("--find-rotation finds the rotation", "the command's --find-rotation finds the rotation"),
        ("in the group a (--group other has some)", 'in the group a (group="other" has some)'),
        ("give numbers -- not text -- and --unknown", "give numbers -- not text -- and --unknown"),
        ("a--backend cpu.h5 and x --backend-file", "a--backend cpu.h5 and x --backend-file"),
    ],
)
def test_options_of_the_command_are_named_as_arguments(of_command, of_python):
    assert in_python(of_command) == of_python
    assert in_python(of_python) == of_python


def test_errors_of_other_sciences_name_arguments():
    with pytest.raises(ws.DataError, match=r'backend="emulator": expected precision="f32", found f64'):
        ws.mri.reconstruct(**{**MRI, "backend": "emulator", "precision": "f64"})
    with pytest.raises(ws.DataError, match=r"frame=3: expected 8 to 8192 pixels|frame 3: expected 8"):
        ws.ptycho.simulate(frame=3)
    with pytest.raises(ws.DataError, match=r"field: expected an array \(row, column\), found shape \(3, 4, 5\)"):
        ws.jacobi.solve(np.ones((3, 4, 5)))
    with pytest.raises(ws.DataError, match=r"source: expected an array \(row, column\), found shape \(3,\)"):
        ws.jacobi.solve(np.ones((3, 4)), np.ones(3))
