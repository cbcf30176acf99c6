"""Ten thousand random inputs with which nothing can be computed: each raises one exception of the documented types."""

import atexit
import pathlib
import re
import shutil
import tempfile

import numpy as np
import pytest

import warpstride as ws

COUNT = 10_000
TYPES = (ws.DataError, ws.DeviceError, ws.OutOfMemoryError, TypeError)

# An option of the command, which is no argument of Python.
OF_COMMAND = re.compile(r"(?<!the command's )--[a-z]")

SCAN = ws.ptycho.simulate(frame=16, positions=4)
SPHERE = ws.sas.Model("sphere", backend="cpu")
Q = np.linspace(0.01, 0.3, 8)
POINTS = ws.series.table(np.datetime64("2026-01-01", "s") + np.arange(4), [1.0, 2.0, 3.0, 4.0])


def other_shape(shape):
    """An array of another shape."""

    def make(random):
        while True:
            found = tuple(int(n) for n in random.integers(0, 5, size=random.integers(0, 5)))
            if found != shape and len(found) != len(shape):
                return random.normal(size=found)

    return make


def not_finite(shape, dtype=float):
    """An array with NaN or infinity in one place."""

    def make(random):
        array = random.uniform(0.1, 0.4, size=shape).astype(dtype)
        array.flat[random.integers(array.size)] = random.choice([np.nan, np.inf, -np.inf])
        return array

    return make


def no_numbers(random):
    """Something of another type."""
    text = "".join(random.choice(list("abcxyzäπ\0 %"), size=random.integers(1, 12)))
    things = [text, {"a": 1}, object(), [[1.0], [1.0, 2.0]], np.array(["a", "b"]), np.array([None, 1]), {1, 2}, print]
    return things[random.integers(len(things))]


def unknown(random):
    """A name that is none of an option."""
    return "".join(random.choice(list("jkqxz?ß"), size=random.integers(1, 20)))


def number(*ranges):
    """A number of one of these ranges."""

    def make(random):
        low, high = ranges[random.integers(len(ranges))]
        return low if low == high or np.isnan(low) else float(low + (high - low) * random.random())

    return make


def whole(low, high):
    """A whole number."""
    return lambda random: int(random.integers(low, high))


def constant(*values):
    """One of these."""
    return lambda random: values[random.integers(len(values))]


NEGATIVE = number((-1e300, -1e-300), (-1.0, -0.01), (-np.inf, -np.inf), (np.nan, np.nan))
TEXT = unknown

START = {"probe": {"source": "mean-pattern"}}
PTYCHO = {**SCAN.arguments, "engines": [ws.ptycho.DM(1)], "recipe": START, "backend": "cpu"}
MRI = {"samples": np.ones((2, 9), dtype=complex), "k": np.full((9, 2), 0.1), "matrix": 4, "maps": "none", "backend": "cpu"}
FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
np.save(FOLDER / "frames.npy", SCAN.frames)
(FOLDER / "places.csv").write_text("y_m,x_m\n" + "".join(f"{y},{x}\n" for y, x in SCAN.positions.tolist()))
(FOLDER / "curve.txt").write_text("q I dI\n" + "".join(f"{q},{1 + q},0.1\n" for q in np.linspace(0.01, 0.3, 9).tolist()))
for name, shape in (("ksp", (1, 9, 1, 2)), ("traj", (3, 9))):
    (FOLDER / f"{name}.hdr").write_text("# Dimensions\n" + " ".join(map(str, shape)) + "\n")
    np.full(np.prod(shape), 0.5, np.complex64).tofile(FOLDER / f"{name}.cfl")
PATH = constant("absent", "", str(FOLDER), __file__, FOLDER / "absent.h5")
READ = {
    "path": FOLDER / "frames.npy",
    "positions": FOLDER / "places.csv",
    "wavelength": SCAN.wavelength,
    "distance": SCAN.distance,
    "pixel_size": SCAN.pixel_size,
}
JACOBI = {"field": np.ones((5, 6)), "iterations": 2, "backend": "cpu"}
RESAMPLE = {"table": POINTS, "every": "1m", "agg": "mean", "backend": "cpu"}
TYPE1 = {"x": np.ones(5), "y": np.ones(5), "c": np.ones(5, dtype=complex), "n_modes": (4, 4)}
FIT = {"model": SPHERE, "data": (Q, Q, Q), "free": {"radius": (10.0, 60.0)}}


def curve(**parameters):
    return SPHERE(parameters.pop("q"), **parameters)


def batch(values):
    return SPHERE.batch(Q, values)


def operator(x, **arguments):
    return ws.mri.NUFFT(**arguments)(x)


CASES = [
    (ws.ptycho.reconstruct, PTYCHO, {
        "frames": [other_shape((4, 16, 16)), not_finite((4, 16, 16), np.float32), no_numbers, constant(np.zeros((4, 16, 16)), -np.ones((4, 16, 16)), np.ones((0, 16, 16)))],
        "positions": [other_shape((4, 2)), not_finite((4, 2)), no_numbers, constant(np.full((4, 2), 1e300), np.zeros((5, 2)))],
        "wavelength": [NEGATIVE, constant(0.0), no_numbers],
        "distance": [NEGATIVE, constant(0.0), no_numbers],
        "pixel_size": [NEGATIVE, constant(0.0, (1, 2, 3)), no_numbers],
        "mask": [constant(np.zeros((16, 16), bool), np.ones((3, 16, 16), bool), np.ones(16, bool))],
        "probe": [not_finite((1, 16, 16)), constant(np.ones((1, 8, 8)), np.zeros((16, 16)), np.ones(16)), no_numbers],
        "engines": [constant([1], ["dm"], "DM", 3, {"dm": 1}, [ws.ptycho.DM(1, alhpa=1)], [ws.ptycho.DM(1, alpha=2**70)], [ws.ptycho.Engine("x", 1)], [])],
        "near_field": [constant("yes", 7)],
        "focus_to_sample": [NEGATIVE, constant(0.1), no_numbers],
        "start": [no_numbers, constant(1, SCAN.object)],
        "start_object": [other_shape((20, 20)), no_numbers, constant(np.ones(3), np.full((5, 5), np.nan))],
        "resume": [constant("absent.checkpoint", "", 3, __file__)],
        "precision": [TEXT],
        "probe_modes": [whole(-10, 1), constant(10**6, 10**30)],
        "recipe": [lambda random: {unknown(random): 1}, constant({"seed": 1}, {"engines": 3}, {"data": {"x": 1}}, [1], {"free_pixels": np.nan})],
        "backend": [TEXT],
        "devices": [constant(1, "all", [0, 1], -1, 10**30)],
    }),
    (ws.ptycho.read_scan, READ, {
        "path": [PATH, constant([], [FOLDER / "frames.npy", "absent.npy"], FOLDER / "curve.txt")],
        "recipe": [PATH],
        "format": [TEXT],
        "wavelength": [NEGATIVE, constant(0.0, 1.0), lambda random: unknown(random)],
        "distance": [NEGATIVE, constant(0.0, "1 kg"), lambda random: unknown(random)],
        "pixel_size": [NEGATIVE, constant((1e-5, 1e-5, 1e-5), 0.0)],
        "frames": [constant((3, 3), (0, 99), (-1, 2), (1,), "all", 10**30)],
        "every": [whole(-10, 1), constant(10**30, 1.5)],
        "exclude": [constant([99], [-1], {1}, ["a"])],
        "half": [constant(0, 3, -1)],
        "crop": [constant((0, 3), (99, 99), (3,), 3)],
        "pad": [constant((3, 3), (10**9, 10**9), 3)],
        "bin": [whole(-10, 1), constant(10**30)],
        "centre": [constant("middle", (1e9, 0.0), (1.0,))],
        "transform_frames": [constant(["turn"], "transpose", [3])],
        "mask": [constant("absent.npy", FOLDER / "frames.npy", "")],
        "dark": [constant("absent.npy", FOLDER / "curve.txt")],
        "positions": [PATH, constant({"file": "absent"}, {"files": 3}, 7, FOLDER / "curve.txt")],
        "raster": [constant({}, {"step": "1um"}, {"points": (3, 3), "step": 0}, 3)],
        "affine": [constant([[1, 2], [2, 4]], [[1, 2]], 3)],
        "units": [constant({"positions": "kg"}, {"places": "um"}, 3)],
        "paths": [constant({"frames": ""}, {"frame": "/x"}, 3)],
        "hot_pixels": [TEXT],
    }),
    (ws.mri.read, {"path": FOLDER / "ksp.cfl", "trajectory": FOLDER / "traj.cfl"}, {
        "path": [PATH, constant(FOLDER / "traj.cfl", FOLDER / "curve.txt")],
        "trajectory": [PATH, constant(None, FOLDER / "curve.txt", FOLDER / "ksp.cfl")],
        "matrix": [constant((), (4,), (0, 4), (4, -1), (10**9, 4), (1, 2, 3, 4), "ab")],
        "group": [TEXT],
        "select": [TEXT, constant("all", "slice=7", "slice=-1", "slice=all")],
        "combine": [TEXT],
    }),
    (ws.sas.read, {"path": FOLDER / "curve.txt"}, {
        "path": [PATH, constant(FOLDER / "ksp.cfl", FOLDER / "frames.npy")],
        "select": [constant("7", "", "0")],
        "kind": [TEXT],
        "q_unit": [TEXT],
    }),
    (ws.mri.reconstruct, MRI, {
        "samples": [other_shape((2, 9)), not_finite((2, 9), complex), no_numbers],
        "k": [other_shape((9, 2)), not_finite((9, 2)), no_numbers, constant(np.ones((9, 2)), np.ones((9, 5)))],
        "matrix": [whole(-100, 1), constant((4,), (4, 4, 4), 2**22, 2**62, 10**30, 1.5, (4, -1))],
        "method": [TEXT],
        "maps": [TEXT, other_shape((2, 4, 4)), not_finite((2, 4, 4), complex), constant(None, np.ones((3, 4, 4)))],
        "operator": [TEXT],
        "iterations": [whole(-100, 1), constant(10**7, 10**30, 1.5)],
        "lamda": [NEGATIVE],
        "tolerance": [NEGATIVE, constant(0.0, 1.0, 1e-40)],
        "min_residual": [NEGATIVE, number((1.0, 1e300))],
        "density": [TEXT, other_shape((9,)), not_finite((9,)), lambda random: -random.uniform(0.1, 1, 9)],
        "backend": [TEXT],
        "devices": [constant(1, "all", [0, 1])],
        "off_resonance": [constant(np.ones((4, 4)), 3.0), no_numbers],
        "field": [constant((np.ones((9, 1)), np.ones((1, 4, 5))), (np.ones((8, 1)), np.ones((1, 4, 4))), (np.full((9, 1), np.nan), np.ones((1, 4, 4))), 3), no_numbers],
        "precision": [TEXT],
    }),
    (ws.mri.nufft2d1, TYPE1, {
        "x": [other_shape((5,)), not_finite((5,)), no_numbers],
        "y": [other_shape((5,)), no_numbers],
        "c": [other_shape((5,)), no_numbers],
        "n_modes": [constant((4,), (4, 0), (4, -1), (2**40, 2**40), (4, 2.5), (4, 4, 4), None)],
        "eps": [NEGATIVE, constant(0.0, 1e-30)],
        "out": [constant(np.ones((4, 4)), np.ones((4, 5), complex), [1])],
        "backend": [TEXT, constant("emulator", 1)],
        "device": [whole(-100, 0), constant(10**30, "0", 1.5)],
    }),
    (ws.mri.nufft2d1, {**TYPE1, "c": np.ones(5, np.complex64), "backend": "emulator"}, {
        "x": [other_shape((5,)), not_finite((5,)), no_numbers],
        "y": [other_shape((5,)), no_numbers],
        "c": [other_shape((5,)), no_numbers, constant(np.ones(4, np.complex64), np.ones(5))],
        "n_modes": [constant((4,), (4, 0), (4, -1), (2**20, 2**20), (2**40, 2**40), (4, 2.5), (4, 4, 4), None)],
        "eps": [NEGATIVE, constant(0.0, 1e-30)],
        "out": [constant(np.ones((4, 4)), np.ones((4, 5), complex), [1])],
        "device": [constant(0, 1, -1, 10**30)],
    }),
    (operator, {"k": np.full((9, 2), 0.1), "shape": (4, 4), "x": np.ones((4, 4))}, {
        "k": [constant(np.ones(9), np.ones((9, 3)), np.ones((2, 9, 1)), np.ones((9, 0)), 0.1), not_finite((9, 2)), no_numbers],
        "shape": [constant((4,), (0, 4), (4, 4, 4), (2**40, 2**40), "ab", 7)],
        "x": [constant(np.ones((4, 5)), np.ones(4), np.ones((2, 2, 4, 4)), np.ones((0, 4))), no_numbers],
        "maps": [constant(np.ones((2, 4, 5)), np.ones(4)), no_numbers],
    }),
    (ws.jacobi.solve, JACOBI, {
        "field": [other_shape((5, 6)), not_finite((5, 6)), no_numbers, constant(np.ones((2, 5)), np.ones((0, 0)))],
        "source": [other_shape((5, 6)), not_finite((5, 6)), no_numbers],
        "boundary": [TEXT],
        "iterations": [whole(-100, 0), constant(10**30, 1.5)],
        "tolerance": [constant(np.nan), no_numbers],
        "check_every": [whole(-100, 1), constant(10**30, "1")],
        "backend": [TEXT],
        "devices": [constant(1, "all", [0, 1], -1)],
    }),
    (ws.series.resample, RESAMPLE, {
        "table": [no_numbers, constant(None, np.ones(3))],
        "every": [TEXT, constant("0m", "-1m", "99999999999999d", [], ["1m", "xx"], "1m ")],
        "agg": [TEXT, constant("101pct", "-1pct", "rate:rate:sum", [], ["mean", "?"])],
        "time": [TEXT, constant("value", "")],
        "value": [TEXT, constant("time", "")],
        "by": [lambda random: [unknown(random)], constant(["value"], ["time"])],
        "nan": [TEXT],
        "time_format": [TEXT, constant("unix")],
        "timezone": [TEXT],
        "backend": [TEXT],
    }),
    (ws.series.table, {"times": np.array(["2026-01-01"], "datetime64[s]"), "values": [1.0]}, {
        "times": [no_numbers, constant([1.0], np.array(["NaT"], "datetime64[s]"))],
        "values": [no_numbers, constant([1.0, 2.0], [])],
        "labels": [constant({"a": ["x", "y"]}, {"a": [1]}, {1: ["x"]})],
    }),
    (ws.sas.Model, {"name": "sphere"}, {
        "name": [TEXT, constant("sphere@sphere", "sphere@", "@", "+", "sphere+", "sphere@@hardsphere", "", "a" * 10_000)],
    }),
    (curve, {"q": Q}, {
        "q": [not_finite((8,)), lambda random: -random.uniform(0.1, 1, 8), no_numbers, constant([], ([1.0], [1.0, 2.0]), ([np.nan], [1.0]))],
        "radius": [NEGATIVE, no_numbers, constant((1.0, 2.0, 3.0))],
        "radius_pd": [NEGATIVE, no_numbers, constant(([], []), ([1.0], [1.0, 2.0]), ([20.0], [-1.0]), ([np.nan], [1.0]), ([-5.0], [1.0]))],
        "scale": [constant(np.nan, np.inf), no_numbers],
        "radios": [number((1.0, 2.0))],
    }),
    (batch, {"values": {"radius": [1.0]}}, {
        "values": [constant({}, {"radius": []}, {"radius": [1.0], "scale": [1.0, 2.0]}, {"radius": [[1.0]]}, {"radios": [1.0]}, {"radius": [np.nan]}, {"radius": [-1.0]}, {"radius_pd": [-0.1]}, {"radius_pd_n": [3.0]}), no_numbers],
    }),
    (ws.sas.fit, FIT, {
        "data": [constant((), (Q,), (Q, Q[1:]), (Q, Q, -Q), (Q, Q * np.nan), (Q, Q, Q, -Q), (Q, Q, Q, Q, Q), [], "absent.txt", (-Q, Q), 7), no_numbers],
        "free": [constant({}, [], None, 7, {"radius": (60.0, 10.0)}, {"radios": None}, {"radius": (np.nan, 1.0)}, {"radius": (1.0,)}, {"radius": (-5.0, 10.0)}, {"radius_pd_n": (1, 2)}), lambda random: [unknown(random)]],
        "start": [constant({"scale": 1.0}, {"radius": 1e9}, {"radius": np.nan})],
        "ties": [constant({"radius": "2"}, {"scale": "x*"}, {"scale": "scale"}, {"scal": "radius"}, {"scale": "("})],
        "shared": [lambda random: [unknown(random)]],
        "each": [constant([], [{}, {}], [{"radios": 1.0}])],
        "method": [TEXT],
        "starts": [whole(-10, 1), constant(10**30)],
        "iterations": [whole(-10, 1), constant(10**30)],
        "q_range": [constant((0.3, 0.1), (5.0, 6.0), (np.nan, 1.0), (1.0,))],
        "weights": [TEXT],
    }),
]  # fmt: skip


def test_each_bad_input_raises_one_typed_exception():
    random = np.random.default_rng(2026)
    choices = [
        (function, arguments, name, make)
        for function, arguments, bad in CASES
        for name, makes in bad.items()
        for make in makes
    ]
    for number in range(COUNT):
        # Each choice once, then at random.
        at = number if number < len(choices) else int(random.integers(len(choices)))
        function, arguments, name, make = choices[at]
        value = make(random)
        try:
            function(**{**arguments, name: value})
        except TYPES as error:
            assert str(error) and "report it" not in str(error), (function, name, value, error)
            assert not OF_COMMAND.search(str(error)), (function, name, value, error)
        except BaseException as error:
            pytest.fail(f"{function.__name__}({name}={value!r:.200}) raised {error!r:.200}")
        else:
            pytest.fail(f"{function.__name__}({name}={value!r:.200}) raised nothing")
