"""Compares averages over all directions with a rule of 1200 points: those of sasmodels and of warpstride.

    python averages.py [PATH/TO/warpstride]

For three models whose averages sasmodels computes by its rule of 76 points (with their default parameters), the
formula is evaluated here once more, with NumPy and Gauss-Legendre rules of 1200 points in each variable; rules of 900
points show that these have converged. Printed are, for every q, the intensity and the relative differences from it:
of the rule of 900 points, of sasmodels (its kernels in C, double precision), and of the program, if one is given.

Needs NumPy, SciPy and sasmodels (BSD-3-Clause), and a C compiler. Takes about a minute.
"""

import json
import subprocess
import sys

import numpy as np
from scipy.special import j1

Q = [0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5]
CONTRAST = 3.0


def rule(points, low, high):
    """Nodes and weights of a Gauss-Legendre rule from low to high."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = (high - low) / 2
    return low + half * (nodes + 1), half * weights


def disc(x):
    """2 J1(x)/x."""
    safe = np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, 2 * j1(safe) / safe)


def ball(x):
    """3 (sin x - x cos x)/x^3."""
    safe = np.where(x < 1e-3, 1.0, x)
    return np.where(x < 1e-3, 1 - x**2 / 10, 3 * (np.sin(safe) - safe * np.cos(safe)) / safe**3)


def triaxial_ellipsoid(q, points, a=20.0, b=400.0, c=10.0):
    """J. A. Finnigan and D. J. Jacobs, J. Phys. D 4 (1971) 72: mean over an octant."""
    u, u_weights = rule(points, 0, 1)
    phi, phi_weights = rule(points, 0, np.pi / 2)
    across = np.sqrt(1 - u**2)[:, None]
    radius = np.sqrt(across**2 * ((a * np.cos(phi)) ** 2 + (b * np.sin(phi)) ** 2) + (c * u[:, None]) ** 2)
    mean = u_weights @ ball(q * radius) ** 2 @ phi_weights / (np.pi / 2)
    return mean * 4 / 3 * np.pi * a * b * c


def with_caps(q, points, radius, cap, centre, length):
    """H. Kaya, J. Appl. Cryst. 37 (2004) 223: a cylinder and two caps, whose centres lie `centre` beyond its ends."""
    u, u_weights = rule(points, 0, 1)
    z, z_weights = rule(points, 0, cap + centre)
    along, across = q * u[:, None], q * np.sqrt(1 - u**2)[:, None]
    # The square of a distance from the axis, as a product, which has no cancellation at the top.
    rho = np.sqrt((cap + centre - z) * (cap - centre + z))
    caps = 2 * np.pi * (np.cos(along * (length / 2 + z)) * rho**2 * disc(across * rho)) @ z_weights
    along, across = along[:, 0], across[:, 0]
    cylinder = np.pi * radius**2 * length * disc(across * radius) * np.sinc(along * length / 2 / np.pi)
    height = cap + centre
    volume = np.pi * (radius**2 * length + 2 * height**2 * (cap - height / 3))
    return u_weights @ (cylinder + caps) ** 2 / volume


def barbell(q, points):
    return with_caps(q, points, 20.0, 40.0, np.sqrt(40.0**2 - 20.0**2), 400.0)


def capped_cylinder(q, points):
    return with_caps(q, points, 20.0, 20.0, 0.0, 400.0)


def of_sasmodels(name):
    from sasmodels.core import load_model
    from sasmodels.direct_model import call_kernel

    model = load_model(name, dtype="double", platform="dll")
    return call_kernel(model.make_kernel([np.array(Q)]), {"background": 0.0})


def of_warpstride(program, name):
    points = ",".join(map(str, Q))
    options = ["--set", "background=0", "--points", points, "--backend", "cpu", "--json"]
    done = subprocess.run([program, "sas", "evaluate", name, *options], capture_output=True, text=True, check=True)
    return np.array(json.loads(done.stdout)["intensity"])


def main():
    import sasmodels

    print(f"sasmodels {sasmodels.__version__}, NumPy {np.__version__}")
    for model in (triaxial_ellipsoid, barbell, capped_cylinder):
        name = model.__name__
        exact, fewer = (CONTRAST**2 * 1e-4 * np.array([model(q, points) for q in Q]) for points in (1200, 900))
        others = {"900 points": fewer, "sasmodels": of_sasmodels(name)}
        if len(sys.argv) > 1:
            others["warpstride"] = of_warpstride(sys.argv[1], name)
        print(f"\n{name}\n{'q':>7} {'1200 points':>17}" + "".join(f" {other:>11}" for other in others))
        for row, q in enumerate(Q):
            differences = "".join(f" {values[row] / exact[row] - 1:11.1e}" for values in others.values())
            print(f"{q:7} {exact[row]:17.10e}{differences}")


if __name__ == "__main__":
    main()
