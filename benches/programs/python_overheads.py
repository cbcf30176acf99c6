#!/usr/bin/env python3
"""Measures what the Python package adds to the library.

    PYTHONPATH=FOLDER python3 python_overheads.py [--runs 5] [--only import,overhead,memory,thread,interrupt]

FOLDER has the package `warpstride` with its extension module. Everything is computed on the CPU.

import     Seconds of `import warpstride` after `import numpy`, in new processes.
overhead   A call from Python against the library: of a relaxation what its result says, of the others `seconds` and
           `setup_seconds` of the summary of the command `python -m warpstride` of the same module, which runs in turn with
           the call. Both with the least of the runs.
memory     The peak of a call beyond what the process had before it, in a new process for each, beside the bytes of inputs
           and outputs, and what the command's process takes at its peak, which reads its inputs from a file.
thread     Steps a second of a loop in another thread of Python while a call computes with one thread, beside those while
           another process does the same, with which processors and caches are shared as much.
interrupt  Seconds from a signal to KeyboardInterrupt, and of an iteration.
"""

import argparse
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def command(*arguments):
    """Runs the command of the package; its summary and the peak of its memory, bytes."""
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder) / "summary.json"
        given = [str(of).replace("{folder}", folder).replace("{summary}", str(summary)) for of in arguments]
        begun = time.monotonic()
        process = subprocess.Popen([sys.executable, "-m", "warpstride", *given], stdout=subprocess.PIPE)
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        took = time.monotonic() - begun
        if status:
            raise SystemExit(f"{given}: exit status {status}")
        text = summary.read_text() if summary.exists() else output
        return json.loads(text), 1024 * used.ru_maxrss, took


def cases(folder):
    """Name, what prepares the inputs, the call, and the command that computes the same."""
    import numpy as np

    import warpstride as ws

    scan = ws.ptycho.simulate(frame=128, positions=100)
    subprocess.run(
        [sys.executable, "-m", "warpstride", "ptycho", "simulate", f"{folder}/scan.cxi", "--frame", "128", "--positions", "100"],
        check=True, capture_output=True,
    )
    kspace = ws.mri.simulate(matrix=192, coils=8, spokes=120)
    for name, array, dimensions in [
        ("ksp", kspace.samples, [1, kspace.samples.shape[2], 120, 8]),
        ("traj", np.concatenate([kspace.k * 192, np.zeros_like(kspace.k[..., :1])], axis=2), [3, kspace.k.shape[1], 120]),
    ]:
        text = " ".join(str(n) for n in [*dimensions, *[1] * (16 - len(dimensions))])
        pathlib.Path(f"{folder}/{name}.hdr").write_text(f"# Dimensions\n{text}\n")
        array.astype(np.complex64).tofile(f"{folder}/{name}.cfl")
    field = np.random.default_rng(1).normal(size=(2000, 2000))
    np.save(f"{folder}/field.npy", field)
    q = np.logspace(-3, -0.3, 200)
    model = ws.sas.Model("core_shell_cylinder", backend="cpu")
    wide = {"radius_pd": 0.1, "radius_pd_n": 20, "thickness_pd": 0.1, "thickness_pd_n": 10}
    return {
        "jacobi, 2000 x 2000, 60 sweeps": (
            lambda: ws.jacobi.solve(field, iterations=60, tolerance=0, backend="cpu"),
            ["jacobi", "--restart", f"{folder}/field.npy", "--boundary", "dirichlet", "--iterations", "60", "--tolerance", "0",
             "--precision", "f64", "-o", "{folder}/out.npy", "--json", "--backend", "cpu"],
            2 * field.nbytes,
        ),
        "mri cg, 192 x 192, 8 coils": (
            lambda: ws.mri.reconstruct(kspace.samples, kspace.k, 192, iterations=30, min_residual=0, maps="walsh", backend="cpu"),
            ["mri", "reconstruct", f"{folder}/ksp.cfl", "--trajectory", f"{folder}/traj.cfl", "--matrix", "192x192",
             "--iterations", "30", "--min-residual", "0", "--coil-maps", "walsh", "-o", "{folder}/image.npy", "--summary",
             "{summary}", "--quiet", "--backend", "cpu"],
            kspace.samples.nbytes + kspace.k.nbytes + 9 * 192 * 192 * 8,
        ),
        "ptycho dm, 100 frames of 128 x 128": (
            lambda: ws.ptycho.reconstruct(
                **scan.arguments, engines=[ws.ptycho.DM(40)], recipe={"probe": {"source": "mean-pattern"}}, backend="cpu"
            ),
            ["ptycho", "reconstruct", f"{folder}/scan.cxi", "--engine", "dm:40", "--set", "probe.source=mean-pattern", "-o",
             "{folder}/r.h5", "--summary", "{summary}", "--quiet", "--backend", "cpu"],
            scan.frames.nbytes + scan.positions.nbytes + scan.object.nbytes + scan.probe.nbytes,
        ),
        "sas, 200 points, 200 mesh points": (
            lambda: model(q, **wide),
            ["sas", "evaluate", "core_shell_cylinder", "--q", "0.001:0.5:200:log", "--pd", "radius=0.1:gaussian:20:3",
             "--pd", "thickness=0.1:gaussian:10:3", "--json", "--backend", "cpu"],
            2 * q.nbytes,
        ),
    }  # fmt: skip


def library_seconds(summary):
    return summary["seconds"] + summary.get("setup_seconds", 0.0)


def overhead(runs):
    with tempfile.TemporaryDirectory() as folder:
        for name, (call, arguments, _) in cases(folder).items():
            call()
            ours, theirs = [], []
            for _ in range(runs):
                begun = time.monotonic()
                result = call()
                ours.append(time.monotonic() - begun)
                if hasattr(result, "sweeps"):
                    theirs.append(result.seconds)
                else:
                    theirs.append(library_seconds(command(*arguments)[0]))
                del result
            more = min(ours) / min(theirs) - 1
            print(f"{name}: {min(ours):.4f} s, library {min(theirs):.4f} s, {100 * more:+.1f} %")


def memory():
    with tempfile.TemporaryDirectory() as folder:
        names = list(cases(folder))
    for name in names:
        done = subprocess.run([sys.executable, __file__, "--peak", name], capture_output=True, text=True, check=True)
        before, peak, arrays, of_command = json.loads(done.stdout)
        print(f"{name}: {(peak - before) / 1e6:.1f} MB beyond {before / 1e6:.0f} MB with the inputs; inputs and outputs "
              f"{arrays / 1e6:.1f} MB; process of the command {of_command / 1e6:.0f} MB")  # fmt: skip


def peak(name):
    """For a process of its own: prints memory before the call, at its peak, of arrays, and of the command."""
    with tempfile.TemporaryDirectory() as folder:
        call, arguments, arrays = cases(folder)[name]
        # What was taken to prepare the inputs may be taken again without being seen; the peak counts from here.
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        status = pathlib.Path("/proc/self/status").read_text()
        before = 1024 * int(status.split("VmRSS:")[1].split()[0])
        result = call()
        status = pathlib.Path("/proc/self/status").read_text()
        highest = 1024 * int(status.split("VmHWM:")[1].split()[0])
        del result
        print(json.dumps([before, highest, arrays, command(*arguments)[1]]))


CALLS = """
import numpy as np, warpstride as ws
field = np.random.default_rng(1).normal(size=(1000, 1000))
scan = ws.ptycho.simulate(frame=64, positions=60)
kspace = ws.mri.simulate(matrix=96, coils=4)
few = {"engines": [ws.ptycho.DM(60)], "backend": "cpu"}
calls = {
    "jacobi": lambda: ws.jacobi.solve(field, iterations=500, tolerance=0, backend="cpu"),
    "ptycho": lambda: ws.ptycho.reconstruct(**scan.arguments, **few),
    "ptycho, a callback": lambda: ws.ptycho.reconstruct(**scan.arguments, **few, callback=lambda iteration, run: False),
    "mri": lambda: ws.mri.reconstruct(
        kspace.samples, kspace.k, 96, iterations=300, min_residual=0, maps=kspace.maps, backend="cpu"
    ),
}
"""


def thread(runs):
    """In a process with one computing thread, so that the other has a processor of its own."""
    code = CALLS + f"""
import subprocess, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from python_overheads import CALLS, steps_a_second

def elsewhere(name):
    code = CALLS + f"print('ready', flush=True); input(); calls[{{name!r}}]()"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process

for name, call in calls.items():
    shares = []
    for _ in range({runs}):
        process = elsewhere(name)
        beside = steps_a_second(lambda: process.communicate(b"\\n"))
        shares.append(steps_a_second(call) / beside)
    shares.sort()
    print(f"{{name}}: another thread keeps {{100 * shares[len(shares) // 2]:.1f}} % of its speed "
          f"({{100 * shares[0]:.1f}} to {{100 * shares[-1]:.1f}} %)", flush=True)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "RAYON_NUM_THREADS": "1"})


def steps_a_second(call):
    """Steps of a loop in another thread while `call` runs."""
    steps, ended = [0], threading.Event()

    def count():
        while not ended.is_set():
            steps[0] += 1

    other = threading.Thread(target=count)
    other.start()
    begun, first = time.monotonic(), steps[0]
    call()
    rate = (steps[0] - first) / (time.monotonic() - begun)
    ended.set()
    other.join()
    return rate


def interrupt(runs):
    import numpy as np

    import warpstride as ws

    scan = ws.ptycho.simulate(frame=128, positions=100)
    kspace = ws.mri.simulate(matrix=192, coils=8, spokes=120)
    model = ws.sas.Model("core_shell_cylinder", backend="cpu")
    q, field = np.linspace(0.01, 0.3, 60), np.random.default_rng(1).normal(size=(1000, 1000))
    wide = {"radius_pd": 0.2, "radius_pd_n": 20, "thickness_pd": 0.2, "thickness_pd_n": 20}
    calls = {
        "jacobi": lambda: ws.jacobi.solve(field, iterations=10**8, tolerance=-1, backend="cpu"),
        "ptycho": lambda: ws.ptycho.reconstruct(
            **scan.arguments, engines=[ws.ptycho.DM(10**6)], recipe={"probe": {"source": "mean-pattern"}}, backend="cpu"
        ),
        "mri": lambda: ws.mri.reconstruct(
            kspace.samples, kspace.k, 192, method="tv", iterations=10**6, maps=kspace.maps, backend="cpu"
        ),
        "sas batch": lambda: model.batch(q, {"radius": np.linspace(10, 90, 20000)}, **wide),
        "sas fit": lambda: ws.sas.fit(
            model, (q, q, q), {"radius": (1, 90), "thickness": (1, 90)}, method="de", generations=10**4, **wide
        ),
    }
    for name, call in calls.items():
        took = []
        for run in range(runs):
            sent = []

            def send():
                sent.append(time.monotonic())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(1.0 + 0.037 * run, send)
            timer.start()
            try:
                call()
            except KeyboardInterrupt:
                took.append(time.monotonic() - sent[0])
            timer.join()
        print(f"{name}: {statistics.median(took):.3f} s after the signal, at most {max(took):.3f} s")


def importing(runs):
    code = "import time, numpy; t = time.monotonic(); import warpstride; print(time.monotonic() - t)"
    took = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(2 * runs)]
    print(f"import: {statistics.median(took):.3f} s, at least {min(took):.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="import,overhead,memory,thread,interrupt")
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.peak)
        return
    parts = {
        "import": lambda: importing(options.runs),
        "overhead": lambda: overhead(options.runs),
        "memory": memory,
        "thread": lambda: thread(options.runs),
        "interrupt": lambda: interrupt(options.runs),
    }
    for name in options.only.split(","):
        print(f"{name}, load {os.getloadavg()[0]:.1f}", flush=True)
        parts[name]()


if __name__ == "__main__":
    main()
