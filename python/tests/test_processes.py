"""Processes: what ends them, and too little memory."""

import subprocess
import sys

import numpy as np
import pytest

import warpstride as ws


def _process(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)


_COMPUTATIONS = [
    "ws.jacobi.solve(np.zeros((500, 500)), iterations=10**7, tolerance=-1, backend='cpu')",
    "ws.ptycho.reconstruct(scan.frames, scan.positions, wavelength=scan.wavelength, distance=scan.distance,"
    " pixel_size=scan.pixel_size, engines=[ws.ptycho.DM(10**6)], backend='cpu')",
    "[model.batch(q, {'radius': np.linspace(10, 60, 1000)}) for _ in range(10**6)]",
    "[transform(np.ones((64, 64), complex)) for _ in range(10**6)]",
    "[ws.selftest('jacobi', backend='emulator') for _ in range(10**6)]",
]


@pytest.mark.parametrize("computation", _COMPUTATIONS)
def test_the_interpreter_ends_while_a_thread_computes(computation):
    found = _process(
        "import threading, time, numpy as np, warpstride as ws\n"
        "scan = ws.ptycho.simulate(frame=32, positions=16)\n"
        "model, q = ws.sas.Model('sphere', backend='cpu'), np.linspace(0.01, 0.3, 200)\n"
        "transform = ws.mri.NUFFT(np.random.default_rng(1).uniform(-0.5, 0.5, (5000, 2)), (64, 64))\n"
        f"threading.Thread(target=lambda: {computation}, daemon=True).start()\n"
        "time.sleep(0.3)\n"
        "print('ended')\n"
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "ended\n", "")


def test_computations_go_on_in_what_ends_the_interpreter():
    found = _process(
        "import atexit, numpy as np\n"
        "def last(): print(ws.sas.Model('sphere', backend='cpu')([0.1], background=0).shape)\n"
        "atexit.register(last)\n"
        "import warpstride as ws\n"
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "(1,)\n", "")


@pytest.mark.parametrize("first", ["ws.ptycho.simulate(frame=256, positions=60)", "ws.mri.simulate(matrix=256, coils=8)"])
def test_ctrl_c_in_the_first_call_of_a_process(first):
    found = _process(
        "import os, signal, threading, warpstride as ws\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        f"    while True: {first}\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
        "print(ws.sas.Model('sphere', backend='cpu')([0.1]).shape)\n"
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "interrupted\n(1,)\n", "")


def test_ctrl_c_in_a_set_that_takes_long():
    found = _process(
        "import os, signal, threading, numpy as np, warpstride as ws\n"
        "model, q = ws.sas.Model('parallelepiped', backend='cpu'), np.linspace(0.01, 0.3, 2000)\n"
        "widths = {f'length_{axis}_pd': 0.2 for axis in 'abc'} | {f'length_{axis}_pd_n': 60 for axis in 'abc'}\n"
        "model(q[:1])\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n"
        "    model(q, **widths)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', model(q[:1]).shape)\n"
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "interrupted (1,)\n", "")


def _huge(value, shape):
    """An array of any size that takes no memory."""
    return np.broadcast_to(value, shape)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.jacobi.solve(_huge(0.0, (2**21, 2**21))), "field: a copy needs .* of memory, but .* is available"),
        (lambda: ws.jacobi.solve(_huge(np.float32(0), (2**21, 2**21))), "field: a copy needs"),
        (
            lambda: ws.ptycho.reconstruct(
                _huge(np.uint16(1), (2**24, 512, 512)), np.zeros((2**24, 2)), wavelength=1e-10, distance=1.0, pixel_size=1e-5
            ),
            "frames: a copy needs",
        ),
        (
            lambda: ws.ptycho.reconstruct(
                np.ones((2, 32, 32)), _huge(0.0, (2**42, 2)), wavelength=1e-10, distance=1.0, pixel_size=1e-5
            ),
            "positions: a copy needs",
        ),
        (lambda: ws.series.table(np.zeros(1, "M8[ns]"), _huge(0.0, (2**42,))), "values: a copy needs|of one length|as many"),
        (lambda: ws.mri.simulate(matrix=512, coils=256, volume=True), "the simulation needs"),
        (lambda: ws.ptycho.simulate(frame=8192, positions=1_000_000), "the simulation needs"),
    ],
)
def test_too_little_memory_is_an_error(call, words):
    with pytest.raises((ws.OutOfMemoryError, MemoryError, ws.DataError), match=words):
        call()


@pytest.mark.parametrize("backend", ["cpu", "emulator"])
def test_callbacks_end_runs_after_the_same_iteration(backend):
    scan, seen = ws.mri.simulate(matrix=16, coils=2), []
    result = ws.mri.reconstruct(
        scan.samples,
        scan.k,
        16,
        maps=scan.maps,
        callback=lambda of: of.iteration == 5 or seen.append(of),
        iterations=1000,
        min_residual=0.0,
        backend=backend,
    )
    assert len(result.residuals) == 5 and len(seen) == 4
    field = np.zeros((30, 30))
    field[0] = 1
    sweeps = {
        ws.jacobi.solve(field, iterations=10_000, tolerance=0, callback=lambda of: of.sweep >= 40, backend=backend).sweeps
        for _ in range(3)
    }
    assert len(sweeps) == 1 and sweeps.pop() > 40
