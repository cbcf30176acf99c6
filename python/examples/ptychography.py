"""Reconstruct a simulated scan step by step, and draw the object and the errors.

    python ptychography.py -o ptychography.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

import warpstride as ws


def main(arguments=None):
    """Write the picture; return R of the last iteration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="ptychography.png")
    parser.add_argument("--small", action="store_true", help="a small scan, for tests")
    options = parser.parse_args(arguments)
    frame, positions, iterations = (32, 14, 30) if options.small else (64, 80, 45)

    scan = ws.ptycho.simulate(frame=frame, positions=positions, photons=1e6, seed=1)
    engines = [ws.ptycho.DM(iterations), ws.ptycho.LSQML(iterations // 2)]
    # What `ws.ptycho.reconstruct` does in one call; here the object is looked at on the way.
    views = {}
    with ws.ptycho.Reconstruction(**scan.arguments, engines=engines) as run:
        for iteration in run:
            if iteration.iteration in (3, iterations // 3):
                views[f"iteration {iteration.iteration}"] = run.object
        result = run.result()
    views[f"iteration {len(result.history)}"] = result.object

    metrics = result.metrics
    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3), layout="constrained")
    scanned = result.fluence > 0.05 * result.fluence.max()
    for axis, (title, view) in zip(axes, views.items()):
        # The phase of the whole object cannot be measured.
        phase = np.angle(view * np.exp(-1j * np.angle(np.vdot(scanned, view))))
        axis.imshow(np.where(scanned, phase, np.nan), cmap="twilight", vmin=-1, vmax=1)
        axis.set(title=title, xticks=[], yticks=[])
    axes[3].semilogy(metrics["iteration"], metrics["err_fourier"])
    axes[3].set(title="Fourier error", xlabel="iteration")
    figure.savefig(options.output, dpi=80)
    return metrics["r_factor"][-1]


if __name__ == "__main__":
    print(f"R = {main():.4f}")
