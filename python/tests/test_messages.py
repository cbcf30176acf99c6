"""Files that cannot be written, and messages that name what the user gave."""

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import warpstride as ws
from warpstride._warpstride import in_python

FIELD = np.pad(np.ones((1, 9)), ((0, 8), (0, 0)))
Q = np.linspace(0.01, 0.3, 30)


@pytest.fixture(scope="module")
def solution():
    return ws.jacobi.solve(FIELD, iterations=3, backend="cpu")


@pytest.fixture(scope="module")
def fit():
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35)
    return ws.sas.fit(model, (Q, intensity, 0.01 * intensity), {"radius": (10, 60)}, starts=2)


ENDINGS = {"solution": ".npy", "fit": ".json"}


@pytest.mark.parametrize("name", ["solution", "fit"])
def test_saves_refuse_pipes_and_follow_links(name, request, tmp_path):
    result = request.getfixturevalue(name)
    ending = ENDINGS[name]
    pipe = tmp_path / f"pipe{ending}"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="pipe.*: cannot be written: it is a device, pipe or socket"):
        result.save(pipe)
    assert pipe.is_fifo()
    target, link = tmp_path / f"target{ending}", tmp_path / f"link{ending}"
    target.write_bytes(b"old")
    link.symlink_to(target)
    result.save(link)
    assert link.is_symlink() and target.stat().st_size > 100
    assert sorted(os.listdir(tmp_path)) == [f"{of}{ending}" for of in ("link", "pipe", "target")]


@pytest.mark.parametrize("name", ["solution", "fit"])
def test_saves_name_the_path_that_was_given(name, request, tmp_path):
    result = request.getfixturevalue(name)
    path = tmp_path / "none" / f"x{ENDINGS[name]}"
    with pytest.raises(OSError) as refused:
        result.save(path)
    assert str(refused.value) == f"{path}: cannot be written: there is no folder {path.parent}"
    with pytest.raises(OSError, match="cannot be written: .*(NUL|nul)"):
        result.save(f"{tmp_path}/a\0b{ENDINGS[name]}")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["solution", "fit"])
def test_a_save_that_fails_keeps_the_old_file(name, tmp_path):
    program = f"""
        import resource, numpy as np, warpstride as ws
        if {name!r} == "fit":
            model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 300)
            result = ws.sas.fit(model, (q, model(q, radius=35), q), {{"radius": (10, 60)}}, starts=2)
        else:
            result = ws.jacobi.solve(np.ones((50, 50)), iterations=3, backend="cpu")
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
        try:
            result.save("x" + {ENDINGS[name]!r})
        except OSError as error:
            print(error)
    """
    (tmp_path / f"x{ENDINGS[name]}").write_text("old")
    command = [sys.executable, "-c", textwrap.dedent(program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    saved = f"x{ENDINGS[name]}"
    assert run.stdout.startswith(f"{saved}: cannot be written: "), run.stdout + run.stderr
    assert (tmp_path / saved).read_text() == "old" and os.listdir(tmp_path) == [saved]


def test_saved_files_are_whole(solution, fit, tmp_path):
    solution.save(tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy"), solution.field)
    fit.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == fit.summary


@pytest.mark.parametrize("read", [ws.ptycho.read, ws.ptycho.read_scan, ws.sas.read, ws.mri.read])
def test_names_of_files_are_not_rewritten(read, tmp_path):
    path = tmp_path / "a --pd b---c.txt"
    with pytest.raises(ws.DataError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: cannot be read: ")
    path.write_text("x")
    with pytest.raises(ws.DataError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: expected ")


def test_options_are_rewritten_beside_names_of_files():
    assert in_python("a.txt: give --pd radius=0.1") == "a.txt: give radius_pd=0.1"


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        (np.array(["3000"], "M8[Y]"), r"times: row 0 \(from 0\): expected a time from 1677-09-21 to 2262-04-11.*, found 3000"),
        (np.array(["2000", "1677"], "M8[Y]"), r"times: row 1 .*, found 1677"),
        (np.array(["2262-04-12"], "M8[s]"), "times: row 0 .*, found 2262-04-12"),
        (np.array([2**62]).view("M8[Y]"), "times: row 0 .*1677-09-21"),
        (np.array([2**62]).view("M8[7000ps]"), "times: row 0 .*1677-09-21"),
        (np.array(["2000", "NaT"], "M8[D]"), r"times: row 1 \(from 0\): expected a time of each point, found NaT"),
    ],
)
def test_times_beyond_nanoseconds_are_refused(times, sentence):
    with pytest.raises(ws.DataError, match=sentence):
        ws.series.table(times, np.ones(len(times)))


@pytest.mark.parametrize("unit", ["Y", "M", "D", "h", "s", "25s", "ms", "us", "ns", "2000ps", "500ps"])
def test_times_of_all_units_are_kept(unit):
    times = np.array([-30, 1, 2, 30], "i8").view(f"M8[{unit}]")
    assert np.array_equal(ws.series.table(times, np.ones(4))["time"], times.astype("M8[ns]"))
    assert len(ws.series.table(times[:0], [])) == 0


def test_the_range_of_times_has_its_ends():
    times = np.array(["1677-09-21T00:12:44", "2262-04-11T23:47:16"], "M8[s]")
    # As integers: NumPy's conversion of the earliest times back to seconds overflows.
    assert ws.series.table(times, np.ones(2))["time"].view("i8").tolist() == [-9223372036 * 10**9, 9223372036 * 10**9]


@pytest.mark.parametrize("every", ["7x", "7m", ["1m", "1m"]])
def test_lengths_of_buckets_are_the_argument_every(every):
    points = ws.series.table(np.array(["2020-01-01"], "M8[s]"), [1.0])
    with pytest.raises(ws.DataError, match=r"^every \d\w: expected") as refused:
        ws.series.resample(points, every, timezone="Europe/Zurich")
    assert "granularity" not in str(refused.value)


@pytest.mark.parametrize("eps", [2, 1, 0, -1, 1e-14, float("nan")])
def test_a_tolerance_out_of_range_is_eps(eps):
    with pytest.raises(ws.DataError, match=r"eps: expected a tolerance of at least 1e-13 .*and less than 1, found"):
        ws.mri.NUFFT(np.zeros((1, 2)), (8, 8), eps=eps)
    with pytest.raises(ws.DataError, match=r"eps: expected a tolerance of at least .* and less than 1 in f64, found"):
        ws.mri.nufft2d2(np.zeros(1), np.zeros(1), np.ones((8, 8), complex), eps=eps)


def test_a_tolerance_of_single_precision_is_eps():
    operator = ws.mri.NUFFT(np.zeros((1, 2)), (8, 8), eps=1e-9)
    with pytest.raises(ws.DataError, match=r"eps: expected a tolerance of at least .* in f32, found 1e-9"):
        operator(np.ones((8, 8), np.complex64))


def test_a_trajectory_that_is_not_finite_is_refused_at_once():
    with pytest.raises(ws.DataError, match=r"k: expected finite values, found NaN or infinity at \[1, 0\]"):
        ws.mri.NUFFT([[0.0, 0.0], [np.nan, 0.0]], (8, 8))


@pytest.mark.parametrize("several", [False, True])
def test_a_fit_warns_of_its_data(several, tmp_path):
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35)
    intensity[-2:] = -1e-6
    path = tmp_path / "a.txt"
    np.savetxt(path, np.column_stack([Q, intensity, np.full(30, 0.01)]))
    data = ws.sas.read(path)
    found = ws.sas.fit(model, [data, data] if several else data, {"radius": (10, 60)}, starts=2)
    sentence = "2 of 30 intensities are not positive"
    expected = [f"data set 1: {sentence}", f"data set 2: {sentence}"] if several else [sentence]
    assert [one for one in found.problems if "positive" in one] == expected
    assert found.summary["problems"][: len(expected)] == expected


@pytest.mark.parametrize("name", ["pixel_size", "wavelength", "distance"])
@pytest.mark.parametrize("value", [-1, 0, np.nan, np.inf])
def test_lengths_of_arrays_of_frames_name_their_argument(name, value):
    given = {"wavelength": 1e-10, "distance": 1.0, "pixel_size": 1e-4, name: value}
    with pytest.raises(ws.DataError, match=f"^{name}: expected a finite length > 0 m, found"):
        ws.ptycho.reconstruct(
            np.ones((2, 16, 16)), positions=[[0, 0], [0, 1e-6]], engines=[ws.ptycho.DM(1)], backend="cpu", **given
        )


def test_a_start_object_names_its_argument():
    made = ws.ptycho.simulate()
    with pytest.raises(ws.DataError, match="^start_object: expected finite values"):
        ws.ptycho.reconstruct(
            made.frames,
            positions=made.positions,
            wavelength=made.wavelength,
            distance=made.distance,
            pixel_size=made.pixel_size,
            engines=[ws.ptycho.DM(1)],
            backend="cpu",
            start_object=np.full((5, 5), np.nan + 0j),
        )
