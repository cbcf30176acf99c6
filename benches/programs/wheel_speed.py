#!/usr/bin/env python3
"""Processor seconds of computations on the CPU, to compare builds of the Python package.

    RAYON_NUM_THREADS=1 PYTHONPATH=FOLDER python3 wheel_speed.py [--runs 7]

FOLDER has the package `warpstride` with its extension module. The least of the runs is printed for each computation.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

import warpstride as ws


def calls(folder):
    """Name and call; files are written into the folder."""
    random = np.random.default_rng(1)
    field = random.random((1000, 1000))
    yield "relaxation, 1000 x 1000, 60 sweeps", lambda: ws.jacobi.solve(field, iterations=60, tolerance=-1, backend="cpu")
    k = ws.mri.simulate(matrix=128, coils=8, spokes=80)
    samples, points = k.samples.reshape(8, -1), k.k.reshape(-1, 2)
    yield "mri cg, 128 x 128, 8 coils", lambda: ws.mri.reconstruct(samples, points, 128, maps=k.maps, iterations=15, backend="cpu")
    operator = ws.mri.NUFFT(points, (128, 128))
    image = k.image.astype(np.complex64)
    yield "NUFFT forward, 100 of 128 x 128", lambda: [operator(image) for _ in range(100)]
    yield "mri espirit maps and cg, 128 x 128, 8 coils", lambda: ws.mri.reconstruct(samples, points, 128, maps="auto", iterations=5, backend="cpu")
    volume = random.uniform(-0.5, 0.5, (100_000, 3))
    strengths = random.normal(size=100_000) + 1j * random.normal(size=100_000)
    axes = 2 * np.pi * np.ascontiguousarray(volume.T)
    yield "nufft3d1, 100000 points, 40 x 40 x 40, complex128", lambda: ws.mri.nufft3d1(*axes, strengths, (40, 40, 40), eps=1e-9)
    scan = ws.ptycho.simulate(frame=64, positions=100)
    given = dict(wavelength=scan.wavelength, distance=scan.distance, pixel_size=scan.pixel_size, probe=scan.probe, backend="cpu")
    for name, engine in (
        ("dm", ws.ptycho.DM(10)),
        ("lsqml", ws.ptycho.LSQML(10)),
        ("ml", ws.ptycho.ML(10)),
        ("rpie", ws.ptycho.RPIE(10)),
    ):
        yield f"ptycho {name}, 100 of 64 x 64, 10 iterations", lambda engine=engine: ws.ptycho.reconstruct(
            scan.frames, scan.positions, engines=[engine], **given
        )
    yield "ptycho dm, 3 modes", lambda: ws.ptycho.reconstruct(
        scan.frames, scan.positions, engines=[ws.ptycho.DM(10)], probe_modes=3, **given
    )
    path = os.path.join(folder, "scan.h5")
    command("ptycho", "simulate", path, "--frame", "128", "--positions", "200")
    yield "reading 200 frames of 128 x 128 from HDF5", lambda: ws.ptycho.read_scan(path)
    q = np.linspace(0.001, 0.5, 200)
    for name in ("cylinder@hardsphere", "parallelepiped", "triaxial_ellipsoid"):
        model = ws.sas.Model(name, backend="cpu")
        yield f"sas {name}, 200 sets", lambda model=model: model.batch(q, {"scale": np.linspace(1, 2, 200)})
    times = np.datetime64("2026-01-01", "ns") + np.arange(2_000_000) * np.timedelta64(10, "ms")
    table = ws.series.table(times, random.random(2_000_000))
    yield "series, 2 million, mean and 95pct of 1m", lambda: ws.series.resample(table, "1m", ["mean", "95pct"], backend="cpu")
    several = ["min", "std", "nunique", "median", "rate:mean"]
    yield "series, five aggregates", lambda: ws.series.resample(table, "1m", several, backend="cpu")
    written = os.path.join(folder, "points.csv")
    with open(written, "w") as file:
        file.write("time,name,value\n")
        file.writelines(f"{stamp}Z,{'ab'[row % 2]},{row % 977}.25\n" for row, stamp in enumerate(times[:300_000].astype(str)))
    out = os.path.join(folder, "buckets")
    yield "command: 300000 lines of CSV", lambda: command("series", "resample", written, "-o", out + ".csv")
    columns = os.path.join(folder, "points.parquet")
    command("series", "resample", written, "-o", columns, "--granularity", "10ms")
    names = ["--series-columns", "series", "--ignore-columns", "granularity_s,aggregate"]
    yield "command: 300000 rows of Parquet", lambda: command("series", "resample", columns, "-o", out + ".parquet", *names)


def command(*arguments):
    """Runs the command of the package."""
    subprocess.run([sys.executable, "-m", "warpstride", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds():
    """Processor seconds of this process and those that it started."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(options, folder)


def measure(options, folder):
    for name, call in calls(folder):
        call()
        least = float("inf")
        for _ in range(options.runs):
            begun = seconds()
            call()
            least = min(least, seconds() - begun)
        print(f"{least:.4f} {name}")


if __name__ == "__main__":
    main()
