#!/usr/bin/env python3
"""Times the set-up of MRI reconstructions by several builds of warpstride, in turn.

    python3 setup.py SAMPLES BUILD[=COIL_MAPS] ... [--runs 9]

SAMPLES is an ISMRMRD file, BUILD a program, COIL_MAPS its --coil-maps (default: auto). Each build reconstructs with one
iteration on the CPU, with one thread and with two, the builds one after the other in every round. Prints the least
processor time of the whole run, and the least and the median of `setup_seconds` of the summary.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples")
    parser.add_argument("builds", nargs="+", metavar="BUILD[=COIL_MAPS]")
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        summary = pathlib.Path(folder) / "summary.json"
        for threads in ["1", "2"]:
            times = {build: [] for build in options.builds}
            for _ in range(options.runs):
                for build in options.builds:
                    program, _, maps = build.partition("=")
                    begun = processor_seconds()
                    subprocess.run(
                        [program, "mri", "reconstruct", options.samples, "-o", f"{folder}/image.npy", "--iterations", "1",
                         "--coil-maps", maps or "auto", "--backend", "cpu", "--quiet", "--summary", summary],
                        check=True, env={**os.environ, "RAYON_NUM_THREADS": threads},
                    )
                    setup = json.loads(summary.read_text())["setup_seconds"]
                    times[build].append((processor_seconds() - begun, setup))
            for build, runs in times.items():
                setups = [setup for _, setup in runs]
                print(f"{threads} threads  processor {min(used for used, _ in runs):.3f} s  "
                      f"set-up {min(setups):.3f} s, median {statistics.median(setups):.3f} s  {build}")


if __name__ == "__main__":
    main()
