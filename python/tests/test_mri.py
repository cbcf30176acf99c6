"""Non-uniform Fourier transforms against direct sums, and images of their samples."""

import pickle
import subprocess
import sys

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


def errors(shape, eps, points, dtype, random):
    """Relative l² errors of types 1 and 2 against direct sums."""
    places = random.uniform(-np.pi, np.pi, (len(shape), points))
    c = (random.normal(size=points) + 1j * random.normal(size=points)).astype(dtype)
    f = (random.normal(size=shape) + 1j * random.normal(size=shape)).astype(dtype)
    waves = [np.exp(1j * np.outer(np.arange(n) - n // 2, x)) for n, x in zip(shape, places)]
    letters = "abc"[: len(shape)]
    each = ",".join(f"{letter}j" for letter in letters)
    exact = (
        np.einsum(f"j,{each}->{letters}", c, *waves, optimize=True),
        np.einsum(f"{letters},{each}->j", f, *(wave.conj() for wave in waves), optimize=True),
    )
    types = (ws.mri.nufft2d1, ws.mri.nufft2d2) if len(shape) == 2 else (ws.mri.nufft3d1, ws.mri.nufft3d2)
    found = types[0](*places, c, shape, eps=eps), types[1](*places, f, eps=eps)
    return [np.linalg.norm(one - sums) / np.linalg.norm(sums) for one, sums in zip(found, exact)]


@pytest.mark.parametrize(("shape", "most"), [((64, 64), 1.5), ((16, 16), 2.5), ((10, 12, 14), 2.5)])
def test_errors_of_transforms_are_what_was_asked_for(shape, most):
    """On small grids they are larger, as docs/python.md says, because the outermost of few modes has the most aliasing."""
    random = np.random.default_rng(11)
    for exponent in range(2, 13):
        eps = 10.0**-exponent
        found = errors(shape, eps, 1500, np.complex128, random)
        assert max(found) <= most * eps, (eps, found)
        # The kernel is hardly wider than that takes; a cell is about a digit.
        assert exponent > 9 or max(found) > 0.01 * eps, (eps, found)
    for exponent in range(2, 6):
        found = errors(shape, 10.0**-exponent, 1500, np.complex64, random)
        assert max(found) <= most * 10.0**-exponent, (exponent, found)


@pytest.mark.parametrize("backend", ["cpu", "emulator"])
@pytest.mark.parametrize("options", [{}, {"density": "pipe", "method": "adjoint"}, {"operator": "nufft", "maps": "none"}])
def test_images_that_share_plans_have_the_bits_of_each_alone(backend, options):
    scan = ws.mri.simulate(matrix=16, coils=3, snr=30)
    frames = np.stack([scan.samples, 2j * scan.samples, scan.samples[::-1]])
    options = {"backend": backend, **({} if "method" in options else {"iterations": 3}), **options}
    seen = []
    found = ws.mri.reconstruct_all(frames, scan.k, 16, callback=seen.append, **options)
    assert [id(one) for one in seen] == [id(one) for one in found] and len(found) == 3
    for one, samples in zip(found, frames):
        alone = ws.mri.reconstruct(samples, scan.k, 16, **options)
        assert np.array_equal(one.image, alone.image) and np.array_equal(one.residuals, alone.residuals)
        assert one.data_residual == alone.data_residual and one.notes == alone.notes
    assert len(ws.mri.reconstruct_all(frames, scan.k, 16, callback=lambda one: True, **options)) == 1


def test_several_images_may_share_coil_maps():
    scan = ws.mri.simulate(matrix=16, coils=4)
    frames = np.stack([scan.samples, 3 * scan.samples[::-1]]).astype(np.complex128)
    once = ws.mri.reconstruct_all(frames, scan.k, 16, maps_once=True, backend="cpu")
    given = ws.mri.reconstruct(frames[1], scan.k, 16, maps=once[0].maps, backend="cpu")
    assert np.array_equal(once[1].image, given.image) and once[1].image.dtype == np.complex128
    each = ws.mri.reconstruct_all(frames, scan.k, 16, backend="cpu")
    assert np.array_equal(each[0].image, once[0].image) and not np.allclose(each[1].maps, once[1].maps)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"samples": np.ones((3, 9), complex)}, r"samples: expected 3 axes \(image, coil, …\)"),
        ({"samples": np.ones((0, 2, 9), complex)}, "samples: expected at least one element"),
        ({"samples": np.ones((2, 3, 8), complex)}, "samples: expected shape"),
        ({"samples": np.full((2, 3, 9), np.nan)}, "finite"),
        ({"samples": iter([np.ones((3, 9))])}, r"samples: expected samples of a file \(KSpace\), found ndarray"),
        ({"maps": "none", "maps_once": True}, "maps_once: expected maps that are estimated, found none"),
        ({"maps": np.ones((3, 4, 4)), "maps_once": True}, "maps_once: .*, found maps that are given"),
        ({"method": "cgg"}, 'method "cgg": expected'),
    ],
)
def test_wrong_series_of_images_are_refused(arguments, words):
    usual = {"samples": np.ones((2, 3, 9), complex), "k": np.full((9, 2), 0.1), "matrix": 4, "maps": "none", "backend": "cpu"}
    with pytest.raises(ws.DataError, match=words):
        ws.mri.reconstruct_all(**{**usual, **arguments})


def test_operators_pass_on_what_is_not_finite_and_reconstructions_refuse_it():
    scan = ws.mri.simulate(matrix=16, coils=2)
    image = np.ones((16, 16), dtype=complex)
    image[3, 4] = np.nan
    operator = ws.mri.NUFFT(scan.k.reshape(-1, 2), (16, 16))
    assert np.isnan(operator(image)).all()
    for value in (np.nan, np.inf):
        samples = scan.samples.copy()
        samples[1, 2, 3] = value
        with pytest.raises(ws.DataError, match="samples?.*: expected (a )?finite"):
            ws.mri.reconstruct(samples, scan.k, 16, backend="cpu")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.mri.nufft2d1([0.0], [0.0, 1.0], [1j], (4, 4)), "y: expected an array"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j, 2j], (4, 4)), r"c: expected shape \(1,\) or \(transform, 1\), as x has it, found \(2,\)"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4,)), "n_modes: expected 2 numbers"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j]), "expected n_modes or out"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (0, 4)), "n_modes: expected a whole number from 1"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (2**40, 2**40)), "memory"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], ["a"], (4, 4)), "c: expected an array of numbers"),
        (lambda: ws.mri.nufft2d1([1j], [0.0], [1j], (4, 4)), "x: expected an array of real numbers"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4, 2.5)), "n_modes: expected a whole number"),
        (lambda: ws.mri.nufft2d1([np.nan], [0.0], [1j], (4, 4)), "finite"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], (4, 4), eps=1e-30), "tolerance"),
        (lambda: ws.mri.nufft2d2([0.0], [0.0], [1j, 2j]), "f: expected an array of 2 axes"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0, 0.0]], (4, 4)), r"k: expected an array \(sample, axis\) with 2 axes, as shape has, found shape \(1, 3\)"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0]], (4, 4))(np.zeros((4, 5))), r"x: expected shape \(4, 4\) or \(image, 4, 4\), .*, found \(4, 5\)"),
        (lambda: ws.mri.NUFFT([[0.0, 0.0]], (4, 4), maps=np.ones((2, 4, 5))), "maps: expected shape"),
        (lambda: ws.mri.NUFFT(np.zeros((3, 0)), ()), "shape: expected 2 or 3 whole numbers, found 0"),
        (lambda: ws.mri.NUFFT(np.zeros((3, 1)), (4,)), "shape: expected 2 or 3 whole numbers, found 1"),
        (lambda: ws.mri.read("absent.cfl", matrix=[[1, 2], [3]]), r"matrix: expected a whole number .*, found \[1, 2\]"),
        (lambda: ws.mri.nufft2d1([0.0], [0.0], [1j], out=[[1], [1, 2]]), "n_modes: expected 2 numbers, found 0"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ws.DataError, match=words):
        call()


def _unaligned(shape, dtype=np.complex128):
    """Zeros in C order whose first byte is at no multiple of their size."""
    count = np.prod(shape) * np.dtype(dtype).itemsize
    found = np.zeros(count + 1, np.uint8)[1:].view(dtype).reshape(shape)
    assert not found.flags.aligned and found.flags.c_contiguous
    return found


def test_the_result_is_written_only_where_it_can_be():
    point, one = ([0.3], [0.4]), np.array([1j])
    modes = ws.mri.nufft2d1(*point, one, (4, 6))
    given = np.zeros((4, 6), complex)
    assert ws.mri.nufft2d1(*point, one, out=given) is given and np.array_equal(given, modes)
    samples = np.zeros((2, 1), np.complex128)
    assert ws.mri.nufft2d2(*point, np.stack([modes, modes]), out=samples) is samples and samples[0] == samples[1] != 0
    fixed = np.zeros((4, 6), complex)
    fixed.flags.writeable = False
    for out, sentence in [
        (fixed, "out: expected an array that can be written to, found one that is read-only"),
        (_unaligned((4, 6)), "out: expected an array whose elements are aligned in memory, found complex128 at"),
        (np.zeros((6, 4), complex), r"out: expected a complex array of shape \(4, 6\), found complex128 of shape \(6, 4\)"),
        (np.zeros((4, 6)), r"out: expected a complex array of shape \(4, 6\), found float64 of shape \(4, 6\)"),
        ([[0j]], r"out: expected a complex array of shape \(4, 6\), found list"),
    ]:
        with pytest.raises(ws.DataError, match=sentence):
            ws.mri.nufft2d1(*point, one, (4, 6), out=out)
    with pytest.raises(ws.DataError, match=r"out: expected a complex array of shape \(1,\), found complex128 of shape \(2, 1\)"):
        ws.mri.nufft2d2(*point, modes, out=samples)
    fixed = samples[:1, 0]
    fixed.flags.writeable = False
    with pytest.raises(ws.DataError, match="out: .* read-only"):
        ws.mri.nufft2d2(*point, modes, out=fixed)


@pytest.mark.parametrize("acquired", [(0,), (3, 0), (0, 5)])
def test_operators_without_samples_pickle(acquired):
    operator = ws.mri.NUFFT(np.zeros((*acquired, 2)), (8, 6))
    for one in (operator, pickle.loads(pickle.dumps(operator))):
        assert one.samples == 0 and one(np.ones((8, 6))).shape == acquired
        assert one(np.ones((2, 8, 6))).shape == (2, *acquired)
        image = one.H(np.ones(acquired))
        assert image.shape == (8, 6) and not image.any()
        assert one.H(np.ones((2, *acquired))).shape == (2, 8, 6)


def radial(coils=4, matrix=24, **options):
    return ws.mri.simulate(matrix=matrix, coils=coils, **options)


def test_an_image_is_the_phantom():
    scan = radial()
    found = ws.mri.reconstruct(scan.samples, scan.k, 24, maps=scan.maps, iterations=30, min_residual=0, backend="cpu")
    error = np.linalg.norm(found.image - scan.image) / np.linalg.norm(scan.image)
    assert found.image.dtype == np.complex64 and found.image.shape == (24, 24)
    assert error < 0.35 and found.data_residual < 0.02
    assert len(found.residuals) == 30 and found.residuals[-1] < found.residuals[0]
    assert found.maps.shape == (4, 24, 24) and np.allclose(found.maps, scan.maps, atol=1e-6)


def test_an_image_solves_the_normal_equations():
    """With Aᴴ A of the operator, which the tests above compare with direct sums."""
    scan = radial(spokes=20)
    samples = scan.samples.astype(np.complex128)
    found = ws.mri.reconstruct(
        samples, scan.k, (24, 24), maps=scan.maps, operator="nufft", iterations=200, min_residual=1e-20, lamda=1e3,
        tolerance=1e-10, backend="cpu",
    )  # fmt: skip
    operator = ws.mri.NUFFT(scan.k.reshape(-1, 2), (24, 24), eps=1e-10, maps=scan.maps)
    x, y = found.image, samples.reshape(4, -1)
    assert x.dtype == np.complex128
    right = operator.H(y)
    assert np.linalg.norm(right - operator.H(operator(x)) - 1e3 * x) < 1e-6 * np.linalg.norm(right)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("cg", []),
        ("adjoint", []),
        ("tv", ["--iterations", "5"]),
        ("wavelet", ["--iterations", "5", "--lambda", "0.01"]),
        ("cg", ["--coil-maps", "walsh", "--operator", "nufft", "--tolerance", "1e-4"]),
        ("cg", ["--coil-maps", "none", "--precision", "f64"]),
    ],
)
def test_images_have_the_bits_of_the_command(tmp_path, method, arguments):
    scan = radial()
    coils, readouts, count = scan.samples.shape
    write_cfl(tmp_path / "ksp.cfl", scan.samples, [1, count, readouts, coils])
    k = np.zeros((*scan.k.shape[:2], 3))
    k[..., :2] = scan.k * 24
    write_cfl(tmp_path / "traj.cfl", k, [3, count, readouts])
    command = [
        sys.executable, "-m", "warpstride", "mri", "reconstruct", str(tmp_path / "ksp.cfl"), "--trajectory",
        str(tmp_path / "traj.cfl"), "--matrix", "24x24", "-o", str(tmp_path / "image.npy"), "--backend", "cpu",
        "--method", method, *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = np.load(tmp_path / "image.npy")
    given = dict(zip(arguments[::2], arguments[1::2]))
    double = given.get("--precision") == "f64"
    number = {
        "lamda": float(given["--lambda"]) if "--lambda" in given else None,
        "tolerance": float(given["--tolerance"]) if "--tolerance" in given else None,
        "iterations": int(given["--iterations"]) if "--iterations" in given else None,
    }
    # As the file has them.
    k = (scan.k * 24).astype(np.float32).astype(np.float64) / 24
    found = ws.mri.reconstruct(
        scan.samples.astype(np.complex128 if double else np.complex64), k, (24, 24), method=method,
        maps=given.get("--coil-maps", "auto"), operator=given.get("--operator", "auto"), backend="cpu", **number,
    )  # fmt: skip
    assert found.image.dtype == (np.complex128 if double else np.complex64)
    assert np.array_equal(found.image, expected)


def write_cfl(path, array, dimensions):
    """A BART array, whose dimensions are the axes in reverse, in single precision."""
    numbers = " ".join(str(n) for n in [*dimensions, *[1] * (16 - len(dimensions))])
    path.with_suffix(".hdr").write_text(f"# Dimensions\n{numbers}\n")
    array.astype(np.complex64).tofile(path)


def test_a_volume_is_reconstructed_on_two_emulated_devices():
    scan = ws.mri.simulate(matrix=8, coils=2, volume=True, spokes=30)
    options = {"iterations": 3, "maps": scan.maps}
    one = ws.mri.reconstruct(scan.samples, scan.k, 8, backend="cpu", **options)
    two = ws.mri.reconstruct(scan.samples, scan.k, 8, backend="emulator", devices=2, **options)
    assert one.image.shape == (8, 8, 8) and two.backend == "emulator"
    assert np.linalg.norm(one.image - two.image) < 1e-4 * np.linalg.norm(one.image)


def test_one_coil_and_weights_are_taken():
    scan = radial(coils=1)
    k, y = scan.k.reshape(-1, 2), scan.samples.reshape(-1)
    weights = np.linalg.norm(k, axis=1)
    found = ws.mri.reconstruct(y, k, 24, method="adjoint", maps="none", density=weights, backend="cpu")
    expected = ws.mri.NUFFT(k, (24, 24)).H((weights * y).astype(np.complex64))
    assert found.density == "weights"
    assert np.allclose(found.image, expected, rtol=1e-3, atol=1e-3 * abs(expected).max())


def test_a_callback_ends_the_iterations():
    scan = radial()
    seen = []

    def callback(iteration):
        seen.append(iteration)
        return iteration.iteration == 4

    options = {"maps": scan.maps, "backend": "cpu", "min_residual": 0}
    found = ws.mri.reconstruct(scan.samples, scan.k, 24, iterations=10**6, callback=callback, **options)
    assert seen[-1].iteration == 4 and seen[-1].residual == found.residuals[3] and len(found.residuals) < 10**4
    with pytest.raises(ZeroDivisionError):
        ws.mri.reconstruct(scan.samples, scan.k, 24, callback=lambda iteration: 1 / 0, **options)


def test_results_are_saved_and_pickled(tmp_path):
    scan = radial()
    found = ws.mri.reconstruct(scan.samples, scan.k, 24, iterations=2, backend="cpu")
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.image, found.image) and again.recipe == found.recipe
    found.save(tmp_path / "image.npy")
    assert np.array_equal(np.load(tmp_path / "image.npy"), found.image)
    found.save(tmp_path / "image.h5")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "image.h5") as file:
        assert np.array_equal(file["/image/data"][()], found.image)
        assert np.array_equal(file["/coil_maps/data"][()].reshape(found.maps.shape), found.maps)
    with pytest.raises(OSError, match="absent"):
        found.save(tmp_path / "absent" / "image.h5")
    pytest.importorskip("xarray")
    assert found.to_xarray()["image"].dims == ("row", "column")


SCAN = {"samples": np.ones((2, 9), dtype=complex), "k": np.zeros((9, 2)), "matrix": 4}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"k": np.zeros(9)}, "k: expected an array"),
        ({"k": np.zeros((9, 4))}, "k: expected an array"),
        ({"samples": np.ones((2, 8))}, "samples: expected shape"),
        ({"k": np.full((9, 2), 0.7)}, "0.5 cycles/pixel"),
        ({"k": np.full((9, 2), np.nan)}, "finite number"),
        ({"samples": np.full((2, 9), np.inf)}, "finite number"),
        ({"matrix": (4, 4, 4)}, "matrix: expected 2"),
        ({"matrix": 0}, "matrix: expected a whole number from 1"),
        ({"matrix": "big"}, "matrix: expected a whole number from 1"),
        ({"matrix": 2**21}, "the matrix"),
        ({"method": "best"}, "method \"best\": expected adjoint, cg, tv or wavelet"),
        ({"maps": "good"}, "maps \"good\": expected auto"),
        ({"maps": np.ones((3, 4, 4))}, "maps: expected shape"),
        ({"maps": np.ones((2, 4, 5))}, "maps: expected shape"),
        ({"maps": None}, "maps: expected a name or an array"),
        ({"density": "some"}, "density \"some\": expected none"),
        ({"density": np.ones(3)}, r"density: expected shape \(9,\), as k has it, found \(3,\)"),
        ({"density": -np.ones(9), "maps": "none"}, "expected at least 0"),
        ({"iterations": 0}, "iterations 0: expected 1"),
        ({"method": "adjoint", "iterations": 3}, "expected 0"),
        ({"lamda": -1.0}, "lamda -1: expected a number"),
        ({"tolerance": 1e-30}, "tolerance 1e-30|tolerance 0.0+1: expected at least"),
        ({"min_residual": 2.0}, "min_residual 2: expected"),
        ({"method": "tv", "min_residual": 0.1}, "expected method cg"),
        ({"operator": "fft"}, "operator \"fft\""),
        ({"method": "adjoint", "operator": "toeplitz"}, "expected nufft or direct"),
        ({"maps": "none", "intensity_correction": True}, "expected coil maps"),
        ({"samples": np.zeros((2, 9))}, "signal in the centre"),
        ({"backend": "gpu"}, "expected auto, cpu, cuda or emulator"),
        ({"backend": "cpu", "devices": 2}, "found cpu"),
        ({"backend": "emulator"}, "f64|double"),
    ],
)
def test_wrong_reconstructions_are_refused_with_a_sentence(change, words):
    with pytest.raises(ws.DataError, match=words):
        ws.mri.reconstruct(**{"backend": "cpu", **SCAN, **change})


@pytest.mark.parametrize("change", [{"trajectory": "square"}, {"matrix": 0}, {"coils": 0}, {"snr": -1.0}])
def test_wrong_simulations_are_refused(change):
    with pytest.raises(ws.DataError):
        ws.mri.simulate(**{"matrix": 16, **change})


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("samples", {"k": np.zeros((0, 2)), "samples": np.zeros((1, 0), complex)}),
        ("k", {"k": np.zeros((0, 2))}),
        ("samples", {"samples": np.zeros((0, 50), complex)}),
        ("maps", {"maps": np.zeros((0, 16, 16), complex)}),
        ("field", {"operator": "direct", "maps": "none", "field": (np.zeros((50, 0)), np.zeros((0, 16, 16)))}),
    ],
)
def test_arrays_without_elements_are_refused(name, changed):
    given = {"samples": np.ones((2, 50), complex), "k": np.full((50, 2), 0.1), "matrix": 16, "backend": "cpu"}
    with pytest.raises(ws.DataError, match=f"^{name}: expected at least one element"):
        ws.mri.reconstruct(**{**given, **changed})


def test_coordinates_that_are_not_finite_are_named():
    with pytest.raises(ws.DataError, match="^y: expected finite values, found nan at point 1"):
        ws.mri.nufft2d1([0.0, 0.1, 0.2], [0.0, np.nan, 0.1], np.ones(3, complex), (4, 4))


def test_trajectories_of_readouts_give_samples_of_readouts():
    scan = ws.mri.simulate(matrix=16, coils=3, spokes=8)
    acquired = scan.k.shape[:-1]
    flat = ws.mri.NUFFT(scan.k.reshape((-1, 2)), (16, 16))
    for maps in (None, scan.maps):
        operator = ws.mri.NUFFT(scan.k, (16, 16), maps=maps)
        again = pickle.loads(pickle.dumps(operator))
        image = scan.maps[0] if maps is None else scan.maps[0] + 1
        expected = flat(image) if maps is None else flat(maps * image)
        found = operator(image)
        assert found.shape == (acquired if maps is None else (3, *acquired))
        assert np.array_equal(found.reshape(expected.shape), expected) and np.array_equal(again(image), found)
        adjoint = operator.H(found)
        assert adjoint.shape == (16, 16)
        assert np.isclose(np.vdot(found, found).real, np.vdot(image, adjoint).real, rtol=1e-4)
    sentence = r"y: expected shape \(8, \d+\) or \(image, 8, \d+\), as k has it, found"
    for bad in (np.zeros(3, complex), np.zeros((2, 2, *acquired)), np.zeros(())):
        with pytest.raises(ws.DataError, match=sentence):
            ws.mri.NUFFT(scan.k, (16, 16)).H(bad)
    with pytest.raises(ws.DataError, match=r"y: expected shape \(\d+,\) or \(coil, \d+\), as k has it, found \(1, 3, \d+\)"):
        ws.mri.NUFFT(scan.k.reshape((-1, 2)), (16, 16), maps=scan.maps).H(scan.samples.reshape((1, 3, -1)))
    assert ws.mri.NUFFT(scan.k, (16, 16))(scan.maps).shape == (3, *acquired)


def test_times_and_weights_have_the_axes_of_the_trajectory():
    scan = ws.mri.simulate(matrix=8, coils=2, spokes=6)
    acquired = scan.k.shape[:-1]
    readouts, count = acquired
    given = (scan.samples, scan.k, 8)
    common = {"maps": scan.maps, "iterations": 2, "backend": "cpu"}
    weights = np.random.default_rng(2).uniform(0.5, 1.5, acquired)
    times = np.broadcast_to(np.linspace(0.0, 0.01, count), acquired)
    hertz = np.full((8, 8), 40.0) + np.arange(8)
    for name, array, options in [("density", weights, {}), ("times", times, {"off_resonance": hertz})]:
        found = ws.mri.reconstruct(*given, **common, **options, **{name: array})
        flat = ws.mri.reconstruct(*given, **common, **options, **{name: array.ravel()})
        assert np.array_equal(found.image, flat.image)
        # Transposed it has the right number of elements, in a wrong order.
        other = ws.mri.reconstruct(*given, **common, **options, **{name: array.T.ravel()})
        assert not np.array_equal(found.image, other.image)
        for bad in (array.T, array[np.newaxis], array.reshape((-1, 1)), array[:-1], array.ravel()[1:], array[0, 0]):
            with pytest.raises(ws.DataError) as refused:
                ws.mri.reconstruct(*given, **common, **options, **{name: bad})
            expected = f"expected shape {acquired} or ({readouts * count},), as k has it"
            assert str(refused.value) == f"{name}: {expected}, found {np.shape(bad)}"
    frames = np.stack([scan.samples, scan.samples])
    with pytest.raises(ws.DataError, match="density: expected shape"):
        ws.mri.reconstruct_all(frames, scan.k, 8, density=weights.T, **common)


@pytest.mark.parametrize("matrix", [(10**6, 10**6), (120_000, 120_000), (20_000,) * 3])
def test_images_that_do_not_fit_are_refused_before_they_are_allocated(matrix, tmp_path):
    samples, k = np.ones((2, 9), dtype=np.complex64), np.zeros((9, len(matrix)))
    with pytest.raises(ws.OutOfMemoryError, match="the reconstruction needs .* GiB of host memory"):
        ws.mri.reconstruct(samples, k, matrix, backend="cpu")
    path = tmp_path / "raw.h5"
    command = [sys.executable, "-m", "warpstride", "mri", "simulate", path, "--matrix", "16", "--coils", "2"]
    subprocess.run(command, check=True, capture_output=True)
    if len(matrix) == 2:
        with pytest.raises(ws.OutOfMemoryError, match="the reconstruction needs .* GiB of host memory"):
            ws.mri.reconstruct(ws.mri.read(path, matrix=matrix), backend="cpu")


def test_coils_are_excluded(tmp_path):
    scan = ws.mri.simulate(matrix=32, coils=4)
    options = {"backend": "cpu", "iterations": 3}
    broken = scan.samples.copy()
    broken[1, 3, 4] = np.nan
    found = ws.mri.reconstruct(broken, scan.k, 32, exclude_coils=1, **options)
    expected = ws.mri.reconstruct(scan.samples[[0, 2, 3]], scan.k, 32, **options)
    assert np.array_equal(found.image, expected.image) and found.maps.shape == (3, 32, 32)
    assert "coil 1 of 4 is excluded" in found.notes
    given = ws.mri.reconstruct(broken, scan.k, 32, exclude_coils=[1], maps=scan.maps, **options)
    assert np.array_equal(given.maps, scan.maps[[0, 2, 3]].astype(given.maps.dtype))
    both = ws.mri.reconstruct_all(broken[None], scan.k, 32, exclude_coils=(1,), **options)
    assert np.array_equal(both[0].image, expected.image)
    path = tmp_path / "raw.h5"
    command = [sys.executable, "-m", "warpstride", "mri", "simulate", path, "--matrix", "32", "--coils", "4"]
    subprocess.run(command, check=True, capture_output=True)
    kept = ws.mri.reconstruct(ws.mri.read(path, exclude_coils=[1, 3]), **options)
    later = ws.mri.reconstruct(ws.mri.read(path, exclude_coils=1), exclude_coils=3, **options)
    assert np.array_equal(later.image, kept.image) and any("coil 3" in note for note in later.notes)
    for coils in (4, [0, 1, 2, 3]):
        with pytest.raises(ws.DataError, match="numbers from 0 to 3, and a coil that is left"):
            ws.mri.reconstruct(scan.samples, scan.k, 32, exclude_coils=coils, **options)
    with pytest.raises(ws.DataError, match="expected numbers among"):
        ws.mri.reconstruct(ws.mri.read(path, exclude_coils=1), exclude_coils=1, **options)
