"""Fit core-shell particles to two contrasts at once, and draw the curves.

    python scattering.py -o scattering.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

import warpstride as ws


def main(arguments=None):
    """Write the picture; return the fitted radius of the core, whose truth is 60 Å."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="scattering.png")
    parser.add_argument("--small", action="store_true", help="few points, for tests")
    options = parser.parse_args(arguments)
    q = np.logspace(-2.5, -0.4, 40 if options.small else 150)

    model = ws.sas.Model("core_shell_sphere")
    truth = {"radius": 60, "radius_pd": 0.1, "thickness": 12, "sld_core": 1.0, "sld_shell": 3.5, "scale": 0.01}
    solvents = {"D₂O": 6.4, "H₂O": -0.56}
    random = np.random.default_rng(1)
    data = []
    for solvent in solvents.values():
        exact = model(q, **truth, sld_solvent=solvent, background=0.02)
        data.append((q, exact * random.normal(1, 0.03, q.size), 0.03 * exact))

    found = ws.sas.fit(
        model,
        data,
        {"radius": (30, 90), "radius_pd": (0.02, 0.3), "thickness": (5, 30), "scale": (0.001, 0.1), "background": (0, 1)},
        shared=["radius", "radius_pd", "thickness", "scale"],
        each=[{"sld_solvent": solvent} for solvent in solvents.values()],
        sld_core=1.0,
        sld_shell=3.5,
        starts=8,
    )

    figure, axis = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for name, (points, intensity, _), fitted in zip(solvents, data, found.sets):
        (line,) = axis.loglog(points, intensity, ".", ms=4, label=name)
        axis.loglog(points, fitted.model, color=line.get_color())
    radius, thickness = found.parameters["radius"], found.parameters["thickness"]
    axis.set(
        xlabel="q / Å⁻¹",
        ylabel="I / cm⁻¹",
        title=f"core {radius.value:.2f} ± {radius.uncertainty:.2f} Å, shell {thickness.value:.2f} ± {thickness.uncertainty:.2f} Å",
    )
    axis.legend()
    figure.savefig(options.output, dpi=80)
    return radius.value


if __name__ == "__main__":
    print(f"radius of the core: {main():.2f} Å")
