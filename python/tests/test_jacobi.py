"""Relaxation against its definition."""

import pickle

import numpy as np
import pytest

import warpstride as ws


def sweep(field, source):
    new = field.copy()
    inner = ((field[1:-1, 2:] + field[1:-1, :-2]) + field[:-2, 1:-1]) + field[2:, 1:-1]
    new[1:-1, 1:-1] = (inner + source[1:-1, 1:-1]) / field.dtype.type(4)
    return new


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("backend", "devices"), [("cpu", None), ("emulator", 2)])
def test_sweeps_have_the_bits_of_their_definition(dtype, backend, devices):
    random = np.random.default_rng(3)
    field, source = random.normal(size=(2, 12, 9)).astype(dtype)
    start = field.copy()
    found = ws.jacobi.solve(field, source, iterations=4, tolerance=-1, backend=backend, devices=devices)
    expected, norms = field, []
    for _ in range(4):
        new = sweep(expected, source)
        norms.append(np.linalg.norm((new - expected).astype(np.float64)))
        expected = new
    assert found.field.dtype == dtype and np.array_equal(found.field, expected)
    assert np.allclose(found.norms, norms) and found.norm_sweeps.tolist() == [0, 1, 2, 3]
    assert (found.sweeps, found.converged) == (4, False)
    assert np.array_equal(field, start)


def test_views_and_integers_are_taken():
    field = np.arange(80).reshape(8, 10)[::2, ::-1]
    found = ws.jacobi.solve(field, iterations=2, tolerance=-1, backend="cpu")
    expected = ws.jacobi.solve(field.astype(float).copy(), iterations=2, tolerance=-1, backend="cpu")
    assert np.array_equal(found.field, expected.field)
    assert np.array_equal(pickle.loads(pickle.dumps(found)).field, found.field)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.jacobi.solve(np.zeros((2, 5))), "at least 3"),
        (lambda: ws.jacobi.solve(np.zeros(5)), "field: expected an array"),
        (lambda: ws.jacobi.solve(np.full((5, 5), np.nan)), "expected finite values"),
        (lambda: ws.jacobi.solve(np.zeros((5, 5)), np.zeros((5, 6))), "source: expected 5"),
        (lambda: ws.jacobi.solve(np.zeros((5, 5)), boundary="open"), "expected textbook, dirichlet"),
        (lambda: ws.jacobi.solve(np.zeros((5, 5)), check_every=0), "check_every: expected a whole number from 1"),
        (lambda: ws.jacobi.solve(np.zeros((5, 5)), backend="cpu", devices=[0, 1]), "found cpu"),
        (lambda: ws.jacobi.solve(np.zeros((5, 5)), devices="some"), 'expected "all"'),
        (lambda: ws.jacobi.solve(np.full((5, 5), 1e300) * np.eye(5), backend="cpu"), "expected a finite number"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ws.DataError, match=words):
        call()


def test_a_callback_ends_the_relaxation():
    seen = []

    def callback(sweep):
        seen.append(sweep)
        return sweep.sweep >= 20

    field = np.random.default_rng(2).normal(size=(20, 20))
    found = ws.jacobi.solve(field, iterations=10**6, tolerance=-1, callback=callback, backend="cpu")
    assert 20 < found.sweeps < 10**5 and seen[20].norm == found.norms[20]
    with pytest.raises(ZeroDivisionError):
        ws.jacobi.solve(field, iterations=10**6, tolerance=-1, callback=lambda sweep: 1 / 0, backend="cpu")


def test_solutions_are_saved_and_given_to_xarray(tmp_path):
    found = ws.jacobi.solve(np.eye(6), iterations=3, tolerance=-1, backend="cpu")
    found.save(tmp_path / "field.npy")
    assert np.array_equal(np.load(tmp_path / "field.npy"), found.field)
    with pytest.raises(OSError, match="absent"):
        found.save(tmp_path / "absent" / "field.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["field.npy"]
    pytest.importorskip("xarray")
    assert np.array_equal(found.to_xarray()["field"], found.field)


def test_notes_say_that_there_is_no_solution_or_that_the_field_stays_0():
    zeros, options = np.zeros((9, 9)), {"iterations": 3, "tolerance": -1, "backend": "cpu"}
    unbalanced = ws.jacobi.solve(zeros, np.ones((9, 9)), boundary="periodic", **options)
    assert len(unbalanced.notes) == 1 and "there is no solution" in unbalanced.notes[0] and "found 49" in unbalanced.notes[0]
    still = ws.jacobi.solve(zeros, **options)
    assert still.notes == ["the field is 0 and stays 0: give a start field that is not 0 everywhere, or a source"]
    assert ws.jacobi.solve(np.eye(9), **options).notes == []
    assert ws.jacobi.solve(zeros, np.ones((9, 9)), **options).notes == []
