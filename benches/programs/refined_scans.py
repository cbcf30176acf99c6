#!/usr/bin/env python3
"""Reconstructs scans whose positions or intensities are wrong, and compares what is found with the truth.

    python3 benches/programs/refined_scans.py target/release/warpstride FOLDER [--star FILE] [--backend cuda]

Prints relative L2, the root mean square of the distances from the true positions, px (after removing the mean; after
removing an affine map), of the relative error of intensity scales, and of modes' powers. FILE is the Siemens star
(../shared/data/ptycho/siemens-star.cxi); its positions are moved by 2 px (standard deviation on each axis) and compared
with those refined from the scan as it is. Scans and results go to FOLDER. Needs h5py and numpy.
"""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import h5py
import numpy as np

POSITIONS = "entry_1/sample_1/geometry_1/translation"
COUNTS = "entry_1/instrument_1/detector_1/data"
RECIPES = Path(__file__).resolve().parents[2] / "docs/recipes"
SMALL_BATCHES = ["--set", "lsqml.batch=10", "--engine", "lsqml:300", "--engine", "ml:200"]


def object_pixel(file):
    detector = file["entry_1/instrument_1/detector_1"]
    wavelength = file["entry_1/instrument_1/source_1/wavelength"][()]
    sizes = np.array([detector["y_pixel_size"][()], detector["x_pixel_size"][()]])
    return wavelength * detector["distance"][()] / (np.array(detector["data"].shape[1:]) * sizes)


def move(source, target, change):
    """Copies a scan; `change` maps its positions (frame, (row, column)), px."""
    shutil.copyfile(source, target)
    with h5py.File(target, "r+") as file:
        pixel, metres = object_pixel(file), file[POSITIONS][:]
        metres[:, 1::-1] = change(metres[:, 1::-1] / pixel) * pixel
        file[POSITIONS][...] = metres


def distort(positions):
    """A rotation of 2 degrees, a scale of 1.01 and a shear of 0.01 about the mean."""
    angle, centre = np.deg2rad(2.0), positions.mean(0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.array([[1.0, 0.01], [0.0, 1.0]]) * 1.01
    return centre + (positions - centre) @ matrix.T


def refined(result):
    image = h5py.File(result)["entry_1/image_1"]
    return image["corners"][:] + image["fractions"][:]


def distances(found, truth):
    """Root mean squares without the mean and without an affine map; the largest of the latter."""
    rest = found - truth
    rest -= rest.mean(0)
    terms = np.c_[truth - truth.mean(0), np.ones(len(truth))]
    fitted = rest - terms @ np.linalg.lstsq(terms, rest, rcond=None)[0]
    lengths = [np.hypot(*values.T) for values in (rest, fitted)]
    return *(np.sqrt((values**2).mean()) for values in lengths), lengths[1].max()


def powers(probe):
    shares = np.sort(np.linalg.eigvalsh(np.einsum("mrc,nrc->mn", probe.conj(), probe)))[::-1]
    return shares / shares.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--star", type=Path)
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)

    def run(*options):
        subprocess.run([arguments.program, "ptycho", *options], check=True, stdout=subprocess.DEVNULL)

    def reconstruct(scan, name, *options):
        result, summary = folder / f"{name}.h5", folder / f"{name}.json"
        fixed = ["-o", result, "--summary", summary, "--backend", arguments.backend, "--no-pictures"]
        run("reconstruct", scan, *fixed, *options)
        return result, json.loads(summary.read_text())

    def report(name, summary, *values):
        names = ("relative_l2", "err_phot", "r_factor", "r_free")
        found = [f"{key} {summary[key]:.4g}" for key in names if summary.get(key) is not None]
        print(name, *found, *values, sep="  ", flush=True)

    random = np.random.default_rng(5)
    scans = {name: folder / f"{name}.cxi" for name in ("clean", "jitter", "distorted", "modes", "flicker")}
    run("simulate", scans["clean"], "--seed", "11")
    run("simulate", scans["jitter"], "--seed", "14", "--position-error", "1.7")
    run("simulate", scans["modes"], "--seed", "13", "--probe-modes", "3")
    move(scans["jitter"], scans["distorted"], distort)
    shutil.copyfile(scans["clean"], scans["flicker"])
    with h5py.File(scans["flicker"], "r+") as file:
        counts = file[COUNTS][:]
        shares = random.uniform(0.8, 1.2, len(counts))
        kept = random.binomial(counts.astype(np.int64), (shares / 1.2)[:, None, None])
        file[COUNTS][...] = kept.astype(counts.dtype)

    _, summary = reconstruct(scans["clean"], "clean", "--engine", "dm:60", "--engine", "ml:300")
    report("clean", summary)
    for name in ("jitter", "distorted"):
        positions = ["--refine-positions", "gradient", "--set", "positions.bound=12"]
        result, summary = reconstruct(scans[name], name, *SMALL_BATCHES, *positions)
        with h5py.File(scans[name]) as file:
            truth = file["simulation/positions"][:] / object_pixel(file)
        report(name, summary, "distances %.4f, %.4f, largest %.4f" % distances(refined(result), truth))
    options = ["--probe-modes", "3", "--engine", "dm:60", "--engine", "ml:200"]
    result, summary = reconstruct(scans["modes"], "modes", *options)
    with h5py.File(result) as found, h5py.File(scans["modes"]) as truth:
        probe = found["entry_1/instrument_1/source_1/illumination"][:]
        error = powers(probe) / powers(truth["simulation/probe"][:]) - 1
    report("modes", summary, "powers", *(f"{value:+.2%}" for value in error))
    options = [*SMALL_BATCHES, "--fit-frame-scales"]
    result, summary = reconstruct(scans["flicker"], "flicker", *options)
    with h5py.File(result) as found:
        scales = found["entry_1/image_1/frame_scales"][:]
    error = scales / scales.mean() * shares.mean() / shares - 1
    report("flicker", summary, f"scales {np.sqrt((error**2).mean()):.3%}, largest {abs(error).max():.3%}")

    if arguments.star:
        moved = folder / "star-moved.cxi"
        move(arguments.star, moved, lambda positions: positions + random.normal(0, 2, positions.shape))
        for recipe in ("one-mode", "uncertain-positions"):
            options = ["--recipe", RECIPES / f"{recipe}.toml"]
            result, summary = reconstruct(arguments.star, recipe, *options)
            report(recipe, summary)
            again, summary = reconstruct(moved, f"{recipe}-moved", *options)
            compared = distances(refined(again), refined(result))
            report(f"{recipe}, moved", summary, "distances %.3f, %.3f, largest %.3f" % compared)


if __name__ == "__main__":
    main()
