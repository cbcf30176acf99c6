"""Reconstruct a simulated radial acquisition of several coils, and draw gridding beside CG-SENSE.

    python mri.py -o mri.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

import warpstride as ws


def main(arguments=None):
    """Write the picture; return the error of the image with total variation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="mri.png")
    parser.add_argument("--small", action="store_true", help="a small matrix, for tests")
    options = parser.parse_args(arguments)
    matrix, spokes = (32, 16) if options.small else (128, 40)

    scan = ws.mri.simulate(matrix=matrix, trajectory="golden", spokes=spokes, coils=6, snr=100)
    images = {"truth": scan.image}
    for title, method in {"gridding": "adjoint", "CG-SENSE": "cg", "total variation": "tv"}.items():
        iterations = None if method == "adjoint" else 40
        images[title] = ws.mri.reconstruct(scan.samples, scan.k, matrix, method=method, iterations=iterations).image

    figure, axes = pyplot.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    errors = {}
    for axis, (title, image) in zip(axes, images.items()):
        image = abs(image)
        # The scale of coil maps, and so of an image, is a matter of convention.
        image = image * (np.vdot(image, abs(scan.image)) / np.vdot(image, image))
        errors[title] = np.linalg.norm(image - abs(scan.image)) / np.linalg.norm(scan.image)
        axis.imshow(image, cmap="gray", vmin=0, vmax=abs(scan.image).max())
        axis.set(title=f"{title}: {errors[title]:.2f}" if title != "truth" else title, xticks=[], yticks=[])
    figure.savefig(options.output, dpi=80)
    return errors["total variation"]


if __name__ == "__main__":
    print(f"relative error: {main():.3f}")
