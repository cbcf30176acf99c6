#!/usr/bin/env python3
"""Times the reading of compressed counts by h5py with hdf5plugin and by builds of warpstride, in turn.

    python3 reading_speed.py FOLDER PTYCHO_READING ... [--gigabytes 1.5] [--runs 5] [--files lz4-u16,gzip-u16]

Needs numpy, h5py and hdf5plugin. FOLDER gets the files, unless it has them: master files as DECTRIS detectors write them, with Poisson
counts of frames of 1028 x 1062 pixels, a frame a chunk, compressed with bitshuffle and LZ4 or with deflate. PTYCHO_READING are programs
`ptycho_reading` of this package (benches/src/bin), each of another version. Every round reads each file, which is in the page cache,
once with each reader, one reader after the other, with one thread and with two. h5py reads the integers (`dataset[...]`) with the one
thread that HDF5 has; warpstride converts them to single precision, looks for pixels without data and adds them up, as
`ptycho reconstruct` does before its first step.

Prints the median and the best of the rounds, GB of stored integers a second, the least processor time of a round (which other work on
the machine changes less), and the load of the machine.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import time

import h5py
import hdf5plugin
import numpy

SHAPE = (1028, 1062)
# Frames of a data file.
TOGETHER = 100
# Different frames; the others are these, shifted.
DIFFERENT = 16
FILTERS = {
    "lz4": dict(hdf5plugin.Bitshuffle(cname="lz4")),
    "gzip": {"compression": "gzip", "compression_opts": 1},
    "gzip-shuffle": {"compression": "gzip", "compression_opts": 4, "shuffle": True},
}


def patterns(rng):
    """Frames of Poisson counts: speckles under a mean that falls off."""
    y, x = numpy.mgrid[: SHAPE[0], : SHAPE[1]]
    radius = numpy.hypot(y - SHAPE[0] / 2, x - SHAPE[1] / 2)
    mean = 3000 * numpy.exp(-radius / 60) + 0.05
    for _ in range(DIFFERENT):
        yield rng.poisson(mean * rng.exponential(1.0, SHAPE))


def make(folder, name, gigabytes, different):
    """The master file of this name, with its points; writes it unless it is there."""
    codec, element = name.rsplit("-", 1)
    dtype = numpy.dtype(element)
    side = round((gigabytes * 1e9 / (SHAPE[0] * SHAPE[1] * dtype.itemsize)) ** 0.5)
    master = folder / f"{name}_master.h5"
    if master.exists():
        return master, side
    frames = side * side
    with h5py.File(folder / f"{name}_part_master.h5", "w") as file:
        data = file.create_group("entry/data")
        for part, first in enumerate(range(0, frames, TOGETHER), 1):
            count = min(TOGETHER, frames - first)
            path = folder / f"{name}_data_{part:06d}.h5"
            with h5py.File(path, "w") as other:
                to = other.create_dataset(
                    "entry/data/data", (count, *SHAPE), dtype, chunks=(1, *SHAPE), **FILTERS[codec]
                )
                for n in range(count):
                    number = first + n
                    to[n] = numpy.roll(different[number % DIFFERENT], number // DIFFERENT, axis=1)
            data[f"data_{part:06d}"] = h5py.ExternalLink(path.name, "/entry/data/data")
    os.rename(folder / f"{name}_part_master.h5", master)
    return master, side


def by_h5py(master):
    begun, used = time.perf_counter(), time.process_time()
    with h5py.File(master, "r") as file:
        group = file["entry/data"]
        read = [group[name][...] for name in sorted(group)]
    seconds = time.perf_counter() - begun, time.process_time() - used
    return seconds, sum(part.nbytes for part in read)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_warpstride(program, master, side, threads):
    used = processor_seconds()
    run = subprocess.run(
        [program, master, f"{side}x{side}"],
        check=True, capture_output=True, text=True, env={**os.environ, "RAYON_NUM_THREADS": str(threads)},
    )
    return float(run.stdout.split()[0]), processor_seconds() - used


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="+", metavar="PTYCHO_READING")
    parser.add_argument("--gigabytes", type=float, default=1.5)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--files", default="lz4-u16,lz4-u32,gzip-u16")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    different = list(patterns(numpy.random.default_rng(1)))
    names = options.files.replace("u16", "u2").replace("u32", "u4").split(",")
    for name in names:
        master, side = make(options.folder, name, options.gigabytes, different)
        stored = sum(path.stat().st_size for path in options.folder.glob(f"{name}_data_*.h5"))
        _, size = by_h5py(master)
        times = {}
        for _ in range(options.runs):
            times.setdefault("h5py", []).append(by_h5py(master)[0])
            for program in options.programs:
                for threads in (1, 2):
                    seconds = by_warpstride(program, master, side, threads)
                    times.setdefault(f"{program}, {threads} threads", []).append(seconds)
        load = os.getloadavg()[0]
        print(f"{name}: {side * side} frames, {size / 1e9:.2f} GB, {size / stored:.1f} times the file; load {load:.1f}")
        for reader, seconds in times.items():
            elapsed, used = zip(*seconds)
            median, best = size / statistics.median(elapsed) / 1e9, size / min(elapsed) / 1e9
            print(f"    {median:6.2f} GB/s, best {best:6.2f}; {min(used):5.2f} s of processors    {reader}", flush=True)


if __name__ == "__main__":
    main()
