"""The package: exceptions, devices, the command, Ctrl-C, threads."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import warpstride as ws


def program(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "warpstride", *arguments], capture_output=True, text=True, check=False
    )


def test_exceptions_are_those_of_python():
    assert issubclass(ws.DataError, ValueError)
    assert issubclass(ws.DeviceError, RuntimeError)
    assert issubclass(ws.OutOfMemoryError, MemoryError)
    assert pickle.loads(pickle.dumps(ws.DataError("text"))).args == ("text",)


def test_devices_are_listed_or_a_reason_is_given():
    assert bool(ws.devices()) == (ws.why_no_devices() is None)


def test_a_gpu_that_is_not_there_is_a_device_error():
    for device in (None, 4711):
        if device is None and ws.devices():
            continue
        with pytest.raises(ws.DeviceError):
            ws.sas.Model("sphere", backend="cuda", device=device)([0.1])
        with pytest.raises(ws.DeviceError):
            ws.jacobi.solve(np.zeros((5, 5)), backend="cuda", devices=device)


def test_the_command_prints_and_returns_its_exit_code():
    done = program("--version")
    assert (done.returncode, done.stdout.split()) == (0, ["warpstride", ws.__version__])
    done = program("sas", "evaluate", "spere", "--q", "0.01:0.1:5")
    assert done.returncode == 2
    assert done.stdout == "" and "sphere" in done.stderr and "Traceback" not in done.stderr


def test_intensities_have_the_bits_of_the_command():
    done = program(
        "sas", "evaluate", "cylinder@hardsphere", "--q", "0.01:0.3:7", "--set", "radius=25,volfraction=0.1",
        "--pd", "radius=0.1:schulz:20:5", "--json", "--backend", "cpu",
    )  # fmt: skip
    expected = json.loads(done.stdout)
    model = ws.sas.Model("cylinder@hardsphere", backend="cpu")
    found = model(
        expected["q"], radius=25, volfraction=0.1, radius_pd=0.1, radius_pd_type="schulz", radius_pd_n=20,
        radius_pd_nsigma=5,
    )  # fmt: skip
    assert found.tolist() == expected["intensity"]


def interrupt_soon():
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_raises_and_the_next_run_works():
    handler = signal.getsignal(signal.SIGINT)
    scan = ws.ptycho.simulate(frame=32, positions=12)
    field = np.random.default_rng(1).normal(size=(300, 300))
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        ws.jacobi.solve(field, iterations=10**9, tolerance=-1, backend="cpu")
    timer.join()
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.DM(10**6)], backend="cpu")
    timer.join()
    assert signal.getsignal(signal.SIGINT) is handler
    assert ws.jacobi.solve(field, iterations=3, tolerance=-1, backend="cpu").sweeps == 3
    assert len(ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.DM(3)], backend="cpu").history) == 3


def test_other_threads_run_meanwhile():
    steps, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            steps[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = steps[0]
    ws.jacobi.solve(np.ones((200, 200)), iterations=500, tolerance=-1, backend="cpu")
    after = steps[0]
    ended.set()
    thread.join()
    assert after > before


def test_several_threads_compute_at_once():
    model = ws.sas.Model("sphere", backend="cpu")
    expected = [model([0.01, 0.1], radius=radius).tolist() for radius in range(10, 18)]
    found = [None] * len(expected)

    def compute(at):
        found[at] = model([0.01, 0.1], radius=10 + at).tolist()

    threads = [threading.Thread(target=compute, args=(at,)) for at in range(len(expected))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_a_part_of_the_selftest_passes_in_the_emulator():
    found = ws.selftest(["sas"], backend="emulator")
    assert found.passed and found.backend == "emulator" and len(found.cases) > 10
    assert all(case.error <= case.tolerance for case in found.cases)
    with pytest.raises(ws.DataError, match="expected auto, cuda or emulator"):
        ws.selftest(backend="cpu")


@pytest.mark.parametrize("only", ["nosuch", "", "Jacobi", ["jacobi", "nosuch"], [3], 3, [None], b"sas"])
def test_a_selftest_of_an_unknown_science_is_refused(only):
    with pytest.raises(ws.DataError, match="^only: expected names among jacobi, mri, ptycho, sas, series, found "):
        ws.selftest(only, backend="emulator")


def test_the_names_of_the_selftest_are_those_of_the_library():
    for science in ("jacobi", "series"):
        assert ws.selftest((science,), backend="emulator").cases


def test_relaxations_have_the_bits_of_the_command(tmp_path):
    field = np.random.default_rng(4).normal(size=(40, 50))
    np.save(tmp_path / "field.npy", field)
    done = program(
        "jacobi", "--restart", str(tmp_path / "field.npy"), "--boundary", "dirichlet", "--precision", "f64", "--iterations",
        "25", "--tolerance", "0", "--backend", "cpu", "-o", str(tmp_path / "out.npy"), "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = ws.jacobi.solve(field, iterations=25, tolerance=0, backend="cpu")
    assert np.array_equal(found.field, np.load(tmp_path / "out.npy"))


def test_aggregates_have_the_bits_of_the_command(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(5)
    times = np.datetime64("2026-03-01", "ns") + (1e9 * np.sort(random.uniform(0, 3600, 500))).astype("timedelta64[ns]")
    table = ws.series.table(times, random.normal(size=500))
    table.save(tmp_path / "in.arrow")
    aggregates = ["mean", "std", "sum", "95pct", "median", "first"]
    done = program(
        "series", "resample", str(tmp_path / "in.arrow"), "-o", str(tmp_path / "out.parquet"), "--granularity", "5m",
        "--aggregate", ",".join(aggregates), "--backend", "cpu",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("out*.parquet")
    expected = parquet.read_table(path)
    found = ws.series.resample(table, "5m", aggregates, backend="cpu")
    for name in aggregates:
        values = [row["value"] for row in expected.to_pylist() if row["aggregate"] == name]
        assert found[name].tolist() == values and len(values) == 12
