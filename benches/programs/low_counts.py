#!/usr/bin/env python3
"""Noise models of `ml` at 10 000 photons a frame: relative L2 and R_free for several weights of the
regulariser, as a table and as docs/images/low-counts.png.

    python3 benches/programs/low_counts.py target/release/warpstride FOLDER docs/images/low-counts.png

Scans and results go to FOLDER. Needs matplotlib.
"""

import json
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NOISES = ["poisson", "amplitude", "gaussian"]
WEIGHTS = [2, 5, 10, 20, 50, 100]
EDGE = 0.05
ITERATIONS = 200


def reconstruct(program, folder, noise, weight):
    """Relative L2 and R_free of one run."""
    name = f"{noise}-{weight}"
    subprocess.run(
        [
            *[program, "ptycho", "reconstruct", folder / "scan.cxi", "--quiet"],
            *["-o", folder / f"{name}.h5", "--summary", folder / f"{name}.json"],
            *["--engine", f"ml:{ITERATIONS}", "--free-pixels", "0.02", "--stop", "auto"],
            *["--set", f"ml.noise={noise}", "--set", f"ml.regulariser={weight}"],
            *["--set", f"ml.regulariser_edge={EDGE}"],
        ],
        check=True,
    )
    summary = json.loads((folder / f"{name}.json").read_text())
    return summary["relative_l2"], summary["r_free"]


def main():
    program, folder, picture = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)
    scan = folder / "scan.cxi"
    options = ["--photons", "1e4", "--seed", "12"]
    subprocess.run([program, "ptycho", "simulate", scan, *options], check=True)
    found = {n: [reconstruct(program, folder, n, w) for w in WEIGHTS] for n in NOISES}
    print("| w |", " | ".join(NOISES), "|")
    for i, weight in enumerate(WEIGHTS):
        cells = [f"{found[n][i][0]:.4f} / {found[n][i][1]:.4f}" for n in NOISES]
        print(f"| {weight} |", " | ".join(cells), "|")

    # The weight of smallest R_free of each noise model.
    best = {n: min(range(len(WEIGHTS)), key=lambda i: found[n][i][1]) for n in NOISES}
    figure = plt.figure(figsize=(9.6, 6.4), layout="constrained")
    rows = figure.subfigures(2, 1, height_ratios=[1, 1.1])
    axis = rows[0].subplots()
    for noise in NOISES:
        (line,) = axis.plot(WEIGHTS, [l2 for l2, _ in found[noise]], "-", label=noise)
        i = best[noise]
        axis.plot(WEIGHTS[i], found[noise][i][0], "o", color=line.get_color())
    axis.set(xscale="log", xlabel="weight of the regulariser", ylabel="relative L2", ylim=0)
    axis.legend(title="noise (dot: smallest R_free)")
    for axis, noise in zip(rows[1].subplots(1, len(NOISES)), NOISES):
        weight, (l2, _) = WEIGHTS[best[noise]], found[noise][best[noise]]
        axis.imshow(plt.imread(folder / f"{noise}-{weight}-phase.png"), cmap="gray")
        axis.set_title(f"{noise}, w = {weight}: {l2:.3f}")
        axis.axis("off")
    figure.savefig(picture, dpi=100)


if __name__ == "__main__":
    main()
