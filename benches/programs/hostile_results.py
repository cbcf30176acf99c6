"""Writes hostile results, start objects, checkpoints and HDF5 files of no layout, runs `warpstride ptycho` on each, and prints a table.

    hostile_results.py WARPSTRIDE FOLDER [PART OF A NAME]

Needs what hostile_files.py needs. Each file must be refused as there; those of no layout must be described with exit code 0 within the same
limits, without control characters.
"""

import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib

import h5py
import hdf5plugin
import numpy as np
from hostile_files import GZIP, PROBE, TRANSLATION, bomb, measured, scan, table

IMAGE = "/entry_1/image_1"
# What a terminal acts on: control characters but line breaks, and marks that reorder text.
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def damaged_heap(path):
    """Makes the first object of every global heap free space of length 0, which HDF5 reads for ever."""
    content = bytearray(pathlib.Path(path).read_bytes())
    at = content.find(b"GCOL\x01")
    while at >= 0:
        content[at + 16 : at + 18] = bytes(2)
        content[at + 24 : at + 32] = bytes(8)
        at = content.find(b"GCOL\x01", at + 1)
    pathlib.Path(path).write_bytes(content)


def virtual(file, name, shape, kind, other, dataset):
    """A virtual dataset of `dataset` in `other`."""
    if name in file:
        del file[name]
    layout = h5py.VirtualLayout(shape, kind)
    layout[...] = h5py.VirtualSource(other, dataset, shape)
    file.create_virtual_dataset(name, layout)


def valid(program, folder):
    """A scan, a result and a checkpoint."""
    paths = [str(folder / name) for name in ("valid.cxi", "result.h5", "run.checkpoint")]
    with scan(paths[0]) as file:
        del file["/entry_1/instrument_1/detector_1/data"]
        y, x = np.indices((32, 32)) - 16
        file["/entry_1/instrument_1/detector_1/data"] = np.random.default_rng(1).poisson(
            100 * np.exp(-(y**2 + x**2) / 20), (16, 32, 32)
        ).astype("u4")
    command = [program, "ptycho", "reconstruct", paths[0], "-o", paths[1], "--backend", "cpu", "--quiet"]
    subprocess.run([*command, "--engine", "epie:2"], check=True)
    command[5] = str(folder / "stopped.h5")
    with subprocess.Popen([*command, "--engine", "epie:1000000", "--checkpoint", paths[2]], stderr=subprocess.DEVNULL) as run:
        time.sleep(3)
        run.send_signal(signal.SIGINT)
    return paths


def of_results(program, folder):
    """Names and arguments of commands that read results."""
    cxi, result, checkpoint = valid(program, folder)
    out = str(folder / "written.h5")

    def changed(name, change, *, heap=False):
        path = str(folder / name)
        shutil.copy(result, path)
        with h5py.File(path, "r+") as file:
            change(file)
        if heap:
            damaged_heap(path)
        yield "--start", ["reconstruct", cxi, "-o", out, "--start", path, "--engine", "epie:1", "--backend", "cpu"]
        yield "compare", ["compare", path, result]
        yield "export", ["export", path, "--phase", str(folder / "phase.tif"), "--probe", str(folder / "probe.npy")]
        yield "info", ["info", path]

    def each(name, file, change, **options):
        for command, arguments in changed(file, change, **options):
            yield f"{name}, {command}", arguments

    def zstd(name, shape, kind, chunk):
        def change(file):
            del file[name]
            bomb(file, name, shape, kind, chunk, hdf5plugin.Zstd())

        return change

    def never(name, shape, kind, **options):
        def change(file):
            del file[name]
            file.create_dataset(name, shape, kind, **options)

        return change

    yield from each("an object of 8 GB", "object.h5", zstd(f"{IMAGE}/data", (2**15, 2**15), "c8", (2**11, 2**11)))
    yield from each("a probe of 2 GB", "probe.h5", zstd(PROBE, (2**18, 32, 32), "c8", (2**8, 32, 32)))
    yield from each("an object of 8 GB that was never written", "never.h5", never(f"{IMAGE}/data", (2**15, 2**15), "c8"))
    yield from each("the same in chunks", "never2.h5",
                    never(f"{IMAGE}/data", (2**15, 2**15), "c8", chunks=(2**9, 2**9), **GZIP))  # fmt: skip

    def chunk(file):
        del file[PROBE]
        data = file.create_dataset(PROBE, (1, 32, 32), "c8", chunks=(500, 1000, 1000), maxshape=(None,) * 3, **GZIP)
        data.id.write_direct_chunk((0, 0, 0), zlib.compress(bytes(2**20)))

    yield from each("a probe in a chunk of 4 GB", "chunk.h5", chunk)
    yield from each("6 GB of positions", "positions.h5", zstd(TRANSLATION, (2**28, 3), "f8", (2**18, 3)))
    yield from each("4 GB of fluence", "fluence.h5", zstd(f"{IMAGE}/fluence", (2**15, 2**14), "f8", (2**11, 2**11)))
    yield from each("2 GB of mode powers", "power.h5", zstd("/entry_1/instrument_1/source_1/mode_power", (2**28,), "f8", (2**20,)))
    yield from each("8 GB of history", "history.h5", zstd(f"{IMAGE}/history/iteration", (2**30,), "u8", (2**20,)))
    text = h5py.string_dtype()

    def many_engines(file):
        del file[f"{IMAGE}/history/engine"]
        file.create_dataset(f"{IMAGE}/history/engine", (2**31,), text, chunks=(2**16,))

    yield from each("2 billion engines", "engines.h5", many_engines)

    def long_text(file):
        del file[f"{IMAGE}/process_1/recipe"]
        file[f"{IMAGE}/process_1/recipe"] = "x" * (150 << 20)

    yield from each("a recipe of 150 MB", "recipe.h5", long_text)

    def itself(file):
        virtual(file, f"{IMAGE}/data", (50, 50), "f4", ".", f"{IMAGE}/data")

    yield from each("an object that is a virtual dataset of itself", "itself.h5", itself)
    yield from each("the same with a damaged heap", "heap.h5", itself, heap=True)
    yield from each("a damaged heap", "heap2.h5", lambda file: None, heap=True)

    def soft(file):
        virtual(file, "/elsewhere", (50, 50), "f4", "none.h5", "/x")
        del file[f"{IMAGE}/data"]
        file["a"] = h5py.SoftLink("/elsewhere")
        for n in range(40):
            file[f"a{n}"] = h5py.SoftLink("/a" if n == 0 else f"/a{n - 1}")
        file[f"{IMAGE}/data"] = h5py.SoftLink("/a39")

    yield from each("40 links to a virtual dataset with a damaged heap", "soft.h5", soft, heap=True)

    def outside(file):
        del file[f"{IMAGE}/data"]
        file[f"{IMAGE}/data"] = h5py.ExternalLink("result.h5", f"{IMAGE}/data")

    yield from each("an object behind a link to another file", "outside.h5", outside)

    def circle(file):
        del file[f"{IMAGE}/data"]
        file[f"{IMAGE}/data"] = h5py.SoftLink(f"{IMAGE}/data")

    yield from each("an object behind a link to itself", "circle.h5", circle)

    start = str(folder / "start.h5")
    with h5py.File(start, "w") as file:
        bomb(file, "/zeros", (2**15, 2**15), "c8", (2**11, 2**11), hdf5plugin.Zstd())
        file.create_dataset("/never", (2**15, 2**15), "c8")
        virtual(file, "/virtual", (50, 50), "f4", ".", "/virtual")
    for name in ("zeros", "never", "virtual"):
        yield f"/{name} as --start-object", ["reconstruct", cxi, "-o", out, "--start-object", f"{start}:/{name}"]
    header = b"\x93NUMPY\x01\x00\x76\x00" + b"{'descr': '<c8', 'fortran_order': False, 'shape': (1048576, 1048576), }".ljust(117) + b"\n"
    path = folder / "start.npy"
    path.write_bytes(header + bytes(1000))
    yield "a huge .npy as --start-object", ["reconstruct", cxi, "-o", out, "--start-object", str(path)]

    whole = pathlib.Path(checkpoint).read_bytes()
    length = struct.unpack_from("<Q", whole, 20)[0]
    arrays = 28 + length

    def with_sum(content):
        content = content[:12] + struct.pack("<Q", len(content) + 4) + content[20:]
        return content + struct.pack("<I", zlib.crc32(content))

    name = whole[arrays + 4 :]
    first = 8 + struct.unpack_from("<I", name)[0] + 2
    checkpoints = {
        "a header of 2^62 bytes": whole[:20] + struct.pack("<Q", 2**62) + whole[28:],
        "a length of 2^62 bytes": whole[:12] + struct.pack("<Q", 2**62) + whole[20:],
        "4 billion arrays": with_sum(whole[:arrays] + b"\xff\xff\xff\xff" + whole[arrays + 4 : -4]),
        "an array of 2^60 numbers": with_sum(whole[: arrays + first] + struct.pack("<Q", 2**60) + whole[arrays + first + 8 : -4]),
        "a header that is no JSON": with_sum(whole[:28] + b"x" * length + whole[28 + length : -4]),
        "a header of braces": with_sum(whole[:28] + b"[" * length + whole[28 + length : -4]),
        "a wrong sum": whole[:-1] + bytes([whole[-1] ^ 1]),
    }  # fmt: skip
    for what, content in checkpoints.items():
        path = folder / f"{len(what)}.checkpoint"
        path.write_bytes(content)
        yield f"a checkpoint with {what}", ["reconstruct", cxi, "-o", out, "--resume", str(path)]
    path = folder / "hdf5.checkpoint"
    shutil.copy(str(folder / "heap.h5"), path)
    yield "a damaged result as a checkpoint", ["reconstruct", cxi, "-o", out, "--resume", str(path)]


def listed(folder):
    """HDF5 files of no layout, which are listed."""

    def file(name, fill, **options):
        path = str(folder / name)
        with h5py.File(path, "w", **options) as file:
            fill(file)
        return path

    def deep(file):
        # From the innermost group on, as HDF5 has no way to a path this long.
        group = file.create_group(None)
        group["numbers"] = np.arange(3)
        for _ in range(10_000):
            outer = file.create_group(None)
            outer["g"] = group
            group = outer
        file["g"] = group

    yield "10 000 groups in each other", file("deep.h5", deep)

    def loop(file):
        for name in "abc":
            file.create_group(name)
        for name in "abc":
            for other in "abc":
                file[f"{name}/{other}"] = file[other]
        file["a/numbers"] = np.arange(3)
        file["root"] = file["/"]

    yield "groups linked into each other", file("loop.h5", loop)

    def many(file):
        for n in range(100_000):
            file.create_dataset(f"d{n:06}", (), "u1")

    yield "100 000 datasets", file("many.h5", many, libver="latest")
    yield "100 000 datasets in an old group", file("many_old.h5", many, libver="earliest")

    def groups(file):
        for n in range(300):
            for m in range(300):
                file.create_group(f"g{n}/h{m}")

    yield "90 000 groups", file("groups.h5", groups)

    def long(file):
        for n in range(20):
            file[f"{n}" + "n" * 60_000] = np.arange(n + 1)
        file["frames" + "x" * 60_000] = np.ones((4, 8, 8), "u2")

    yield "names of 60 kB", file("long.h5", long, libver="latest")

    def control(file):
        for n, name in enumerate(("\x1b[31mred", "two\nlines", "back\b\b\b", "\x9b31m", "right\u202eleft", "tab\t", "bell\x07", "'\"\\")):
            data = file.create_dataset(name, data=np.arange(n + 2))
            data.attrs["units"] = "m\n[data]\nformat = \x1b[2J"
        data = file.create_dataset("frames\n[x]\x1b[5m", data=np.ones((4, 8, 8), "u2"))
        data.attrs["units"] = "\x1b]0;title\x07"

    yield "names with control characters", file("control.h5", control)

    def dots(file):
        group = file.create_group("a")
        group["numbers"] = np.arange(3)
        file["b"] = h5py.SoftLink("a/../a")

    yield "paths with dots", file("dots.h5", dots)


def main(program, folder, part=""):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    rows = table(folder)
    for name, arguments in of_results(program, folder):
        if part in name:
            # What says nothing of a result's object is no scan, and may be listed.
            rows.row(name, [program, "ptycho", *arguments], (0, 1) if arguments[0] == "info" else 1)
    for name, path in listed(folder):
        if part in name:
            for json in ([], ["--json"]):
                arguments = [program, "ptycho", "info", path, *json]
                printed = subprocess.run(arguments, capture_output=True, check=False, timeout=60).stdout.decode()
                acts = ACTS.search(printed)
                what = f"{len(printed)} characters" + (f", with {acts.group()!r}" if acts else "")
                last = [line for line in printed.splitlines() if line.startswith("and ")]
                rows.row(name, arguments, 0, said="; ".join([what, *last]), good=not acts and (json or len(printed) < 10**5))
    sys.exit(1 if rows.wrong else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
