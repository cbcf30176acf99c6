"""Runs a release build of warpstride on a GPU with all counts and exit waves there and with blocks of frames, compares the results, and
runs the latter under compute-sanitizer.

Usage: counts_in_blocks.py WARPSTRIDE [ENGINE ...], in an empty folder; needs numpy, h5py and compute-sanitizer.
"""

import json
import subprocess
import sys

import h5py
import numpy as np

PROGRAM = sys.argv[1]
# File, frames, pixels of a side.
SCANS = [("s.cxi", 60, 128), ("t.cxi", 30, 64)]
# Engine, frames of a batch.
ENGINES = [("lsqml", 10), ("epie", 1), ("rpie", 7), ("ml", None), ("dm", None), ("raar", None)]
ENGINES = [of for of in ENGINES if of[0] in sys.argv[2:] or not sys.argv[2:]]
# Share of the memory that all exit waves need, with which most of them travel.
SHARE = 0.7


def of_engine(name, iterations, batch):
    options = ["--engine", f"{name}:{iterations}"]
    return options + (["--set", f"{name}.batch={batch}"] if batch else [])


def too_little(scan, options):
    """A little less device memory than all counts need, clearly less than exit waves need."""
    command = [PROGRAM, "ptycho", "info", scan, "--json"] + options
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    needed = json.loads(found.stdout)["memory"]["gpu_device_bytes"]
    projects = any(of.startswith(("dm", "raar")) for of in options)
    return str(int(SHARE * needed) if projects else needed - 1000)


def reconstruct(scan, output, options, before=()):
    fixed = ["-o", output, "--backend", "cuda", "--no-pictures", "--summary", output + ".json"]
    command = [*before, PROGRAM, "ptycho", "reconstruct", scan, *fixed, *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def compare(scan, options, free):
    limit = ["--device-memory", too_little(scan, options)]
    runs = [reconstruct(scan, f"{n}.h5", options + free + more) for n, more in enumerate([[], limit])]
    if any(run.returncode for run in runs):
        return [run.stderr for run in runs]
    whole, blocks = (h5py.File(f"{n}.h5")["entry_1/image_1/data"][()] for n in range(2))
    summaries = [json.load(open(f"{n}.h5.json")) for n in range(2)]
    same = np.array_equal(whole, blocks)
    notes = [note for note in summaries[1]["notes"] if "blocks" in note]
    return [
        "equal" if same else np.linalg.norm(whole - blocks) / np.linalg.norm(whole),
        summaries[0]["r_free"] == summaries[1]["r_free"],
        summaries[0]["r_factor"],
        summaries[1]["r_factor"],
        notes,
    ]


for scan, frames, side in SCANS:
    size = ["--frame", str(side), "--positions", str(frames), "--photons", "1e6"]
    subprocess.run([PROGRAM, "ptycho", "simulate", scan] + size, capture_output=True, check=True)
    for name, batch in ENGINES:
        if (name, scan) in [("dm", "t.cxi"), ("raar", "t.cxi")]:
            continue  # Fewer frames than the slices of a probe update: one block.
        for subpixel in ["true", "false"]:
            options = of_engine(name, 4, batch) + ["--set", f"{name}.subpixel={subpixel}"]
            print(scan, name, subpixel, *compare(scan, options, ["--free-pixels", "0.02"]), flush=True)
for tool in ["memcheck", "racecheck", "initcheck", "synccheck"]:
    for name, batch in ENGINES:
        options = of_engine(name, 2, batch)
        scan = "s.cxi" if name in ["dm", "raar"] else "t.cxi"
        limit = ["--device-memory", too_little(scan, options)]
        found = reconstruct(scan, "x.h5", options + limit, ["compute-sanitizer", "--tool", tool])
        lines = [line for line in found.stdout.split("\n") if "SUMMARY" in line]
        print(tool, name, found.returncode, lines, "blocks" in found.stdout, flush=True)
