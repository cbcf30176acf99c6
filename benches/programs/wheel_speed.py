#!/usr/bin/env python3
"""Processor seconds of computations on the CPU, to compare builds of the Python package.

    RAYON_NUM_THREADS=1 PYTHONPATH=FOLDER python3 wheel_speed.py [--runs 7]

FOLDER has the package `warpstride` with its extension module. The least of the runs is printed for each computation.
"""

import argparse
import time

import numpy as np

import warpstride as ws


def calls():
    """Name and call."""
    random = np.random.default_rng(1)
    field = random.random((1000, 1000))
    yield "relaxation, 1000 x 1000, 60 sweeps", lambda: ws.jacobi.solve(field, iterations=60, tolerance=-1, backend="cpu")
    k = ws.mri.simulate(matrix=128, coils=8, spokes=80)
    samples, points = k.samples.reshape(8, -1), k.k.reshape(-1, 2)
    yield "mri cg, 128 x 128, 8 coils", lambda: ws.mri.reconstruct(samples, points, 128, maps=k.maps, iterations=15, backend="cpu")
    operator = ws.mri.NUFFT(points, (128, 128))
    image = k.image.astype(np.complex64)
    yield "NUFFT forward, 100 of 128 x 128", lambda: [operator(image) for _ in range(100)]
    scan = ws.ptycho.simulate(frame=64, positions=100)
    given = dict(wavelength=scan.wavelength, distance=scan.distance, pixel_size=scan.pixel_size, probe=scan.probe, backend="cpu")
    for name, engine in (("dm", ws.ptycho.DM(10)), ("lsqml", ws.ptycho.LSQML(10)), ("ml", ws.ptycho.ML(10))):
        yield f"ptycho {name}, 100 of 64 x 64, 10 iterations", lambda engine=engine: ws.ptycho.reconstruct(
            scan.frames, scan.positions, engines=[engine], **given
        )
    q = np.linspace(0.001, 0.5, 200)
    for name in ("cylinder@hardsphere", "parallelepiped", "triaxial_ellipsoid"):
        model = ws.sas.Model(name, backend="cpu")
        yield f"sas {name}, 200 sets", lambda model=model: model.batch(q, {"scale": np.linspace(1, 2, 200)})
    times = np.datetime64("2026-01-01", "ns") + np.arange(2_000_000) * np.timedelta64(10, "ms")
    table = ws.series.table(times, random.random(2_000_000))
    yield "series, 2 million, mean and 95pct of 1m", lambda: ws.series.resample(table, "1m", ["mean", "95pct"], backend="cpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    for name, call in calls():
        call()
        least = float("inf")
        for _ in range(options.runs):
            begun = time.process_time()
            call()
            least = min(least, time.process_time() - begun)
        print(f"{least:.4f} {name}")


if __name__ == "__main__":
    main()
