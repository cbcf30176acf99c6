"""Relax the potential of a charge between two plates, and draw it.

    python relaxation.py -o relaxation.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

import warpstride as ws


def main(arguments=None):
    """Write the picture; return the largest deviation from the five-point equation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="relaxation.png")
    parser.add_argument("--small", action="store_true", help="a small grid, for tests")
    options = parser.parse_args(arguments)
    side = 33 if options.small else 129

    field, source = np.zeros((side, side)), np.zeros((side, side))
    field[0], field[-1] = 1.0, -1.0
    field[:, 0] = field[:, -1] = np.linspace(1, -1, side)
    source[side // 3, side // 3] = 2.0
    solution = ws.jacobi.solve(field, source, iterations=100_000, tolerance=1e-9, check_every=10)

    found = solution.field
    neighbours = found[1:-1, 2:] + found[1:-1, :-2] + found[:-2, 1:-1] + found[2:, 1:-1]
    deviation = abs(4 * found[1:-1, 1:-1] - neighbours - source[1:-1, 1:-1]).max()

    figure, axes = pyplot.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    axes[0].contourf(found, 30, cmap="RdBu_r")
    axes[0].set(title="potential", aspect="equal", xticks=[], yticks=[])
    axes[1].semilogy(solution.norm_sweeps, solution.norms)
    axes[1].set(title="residual norm", xlabel="sweep")
    figure.savefig(options.output, dpi=80)
    return deviation


if __name__ == "__main__":
    print(f"largest deviation: {main():.1e}")
