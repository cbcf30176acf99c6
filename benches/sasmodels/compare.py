"""Runs sasmodels (pip install sasmodels; its C path, which needs a C compiler) and this project's CPU engine on the
same calculations, alternately, each with one thread.

    python compare.py PATH/TO/sas_cpu [--rounds N] [--seconds S] [CASE ...]

Every round starts our program for one case and then times sasmodels on it in this process. Times are minima over all
rounds, for a whole call: from parameters to intensities. The last column is the largest relative difference of the
sums of intensities; sasmodels averages over 76 directions (76 x 76) for every q.
"""

import argparse
import os
import subprocess
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sasmodels.core import load_model
from sasmodels.direct_model import call_kernel

CASES = {
    "sphere": ("sphere", {}),
    "sphere-80": ("sphere", {"radius": (0.1, 80)}),
    "cylinder": ("cylinder", {}),
    "cylinder-35x35": ("cylinder", {"radius": (0.1, 35), "length": (0.1, 35)}),
    "ellipsoid-35": ("ellipsoid", {"radius_polar": (0.1, 35)}),
    "parallelepiped": ("parallelepiped", {}),
    "cylinder-2d": ("cylinder", {"theta": (15, 15), "phi": (15, 15), "radius": (0.1, 10)}),
}


def call(name):
    """A function that computes the intensities of a case."""
    model, spreads = CASES[name]
    if name.endswith("2d"):
        x, y = np.meshgrid(*[np.linspace(-0.2, 0.2, 128)] * 2)
        q = [x.ravel(), y.ravel()]
    else:
        q = [np.geomspace(1e-3, 0.5, 200)]
    parameters = {}
    for parameter, (width, points) in spreads.items():
        parameters |= {
            f"{parameter}_pd": width,
            f"{parameter}_pd_n": points,
            f"{parameter}_pd_nsigma": 3,
            f"{parameter}_pd_type": "gaussian",
        }
    kernel = load_model(model, dtype="double", platform="dll").make_kernel(q)
    return lambda: call_kernel(kernel, dict(parameters))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    given = parser.parse_args()
    print(f"{'':16} {'ours':>11} {'sasmodels':>11} {'ratio':>7} {'difference':>11}")
    for name in given.cases or CASES:
        theirs = call(name)
        best, sums = [np.inf, np.inf], [0.0, 0.0]
        for _ in range(given.rounds):
            command = [given.program, "--threads", "1", "--seconds", str(given.seconds), "--plain", name]
            printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            best[0], sums[0] = min(best[0], float(printed[1])), float(printed[2])
            begin = time.perf_counter()
            while best[1] == np.inf or time.perf_counter() - begin < given.seconds:
                start = time.perf_counter()
                sums[1] = float(np.sum(theirs()))
                best[1] = min(best[1], time.perf_counter() - start)
        ours, other = (f"{1e3 * seconds:8.3f} ms" for seconds in best)
        print(f"{name:16} {ours:>11} {other:>11} {best[1] / best[0]:7.1f} {abs(sums[0] / sums[1] - 1):11.1e}", flush=True)


if __name__ == "__main__":
    main()
