"""Bars of progress: in terminals and notebooks, and silence in pipes."""

import os
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import warpstride as ws
from warpstride._progress import Progress

RUN = """
import numpy as np, warpstride as ws
ws.jacobi.solve(np.random.default_rng(1).normal(size=(400, 400)), iterations=10**9, tolerance=-1, backend="cpu",
    callback=lambda sweep, begun=__import__("time").monotonic(): __import__("time").monotonic() > begun + 1.5)
"""


def test_a_pipe_is_silent():
    done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, check=True)
    assert done.stdout == "" and done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_a_terminal_has_a_bar():
    reader, writer = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", RUN], stdout=writer, stderr=writer)
    os.close(writer)
    text = b""
    try:
        while chunk := os.read(reader, 4096):
            text += chunk
    except OSError:
        # The terminal ends with the process.
        pass
    os.close(reader)
    assert process.wait() == 0
    assert b"\rrelaxation [" in text and b"/1000000000 norm " in text and text.endswith(b"\n")


def test_a_notebook_has_a_bar(monkeypatch):
    shown = []

    class Handle:
        def update(self, content, raw):
            shown.append(content["text/plain"])

    def display(content, raw, display_id):
        shown.append(content["text/plain"])
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = types.ModuleType("IPython.display")
    ipython.display.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)
    monkeypatch.setattr("warpstride._progress._PATIENCE", 0.0)
    with Progress("fit", None) as bar:
        bar.see(1, 4, "rounds")
        bar.see(4, 4, "rounds")
    assert [line.split("]")[1][:12] for line in shown] == [" 1/4 rounds,", " 4/4 rounds"]


def test_a_bar_can_be_asked_for_and_left_out(capsys, monkeypatch):
    monkeypatch.setattr("warpstride._progress._PATIENCE", 0.0)
    scan = ws.ptycho.simulate(frame=32, positions=12)
    options = {"engines": [ws.ptycho.DM(3)], "backend": "cpu"}
    ws.ptycho.reconstruct(**scan.arguments, **options, progress=True)
    assert "reconstruction [" in capsys.readouterr().err
    ws.ptycho.reconstruct(**scan.arguments, **options, progress=True, callback=lambda iteration, run: False)
    assert "3/3" in capsys.readouterr().err
    ws.ptycho.reconstruct(**scan.arguments, **options, progress=False)
    kspace = ws.mri.simulate(matrix=16, coils=2)
    ws.mri.reconstruct(kspace.samples, kspace.k, 16, progress=False, backend="cpu")
    assert capsys.readouterr().err == ""
    ws.mri.reconstruct(kspace.samples, kspace.k, 16, progress=True, backend="cpu")
    assert "residual" in capsys.readouterr().err


def runs():
    scan = ws.ptycho.simulate(frame=32, positions=12)
    kspace = ws.mri.simulate(matrix=32, coils=4)
    model = ws.sas.Model("core_shell_cylinder", backend="cpu")
    q = np.linspace(0.01, 0.3, 60)
    wide = {"radius_pd": 0.2, "radius_pd_n": 20, "thickness_pd": 0.2, "thickness_pd_n": 20}
    return {
        "jacobi": lambda: ws.jacobi.solve(np.ones((300, 300)) * np.eye(300), iterations=10**9, tolerance=-1, backend="cpu"),
        "ptycho": lambda: ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.DM(10**6)], backend="cpu"),
        "mri": lambda: ws.mri.reconstruct(
            kspace.samples, kspace.k, 32, iterations=10**6, method="tv", maps=kspace.maps, backend="cpu"
        ),
        "sas": lambda: model.batch(q, {"radius": np.linspace(10, 90, 5000)}, **wide),
        "fit": lambda: ws.sas.fit(
            model, (q, q, q), {"radius": (1, 90), "thickness": (1, 90)}, method="de", generations=10**4, **wide
        ),
    }


@pytest.mark.parametrize("name", ["jacobi", "ptycho", "mri", "sas", "fit"])
def test_ctrl_c_ends_every_run_and_the_next_one_works(name):
    run = runs()[name]
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    timer.join()
    assert ws.jacobi.solve(np.eye(5), iterations=3, tolerance=-1, backend="cpu").sweeps == 3
