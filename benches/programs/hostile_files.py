"""Writes hostile files of scans, runs `warpstride` on each, and prints a table (numpy, h5py, hdf5plugin).

    hostile_files.py WARPSTRIDE FOLDER [PART OF A NAME]

Each file must be refused with exit code 1 and one sentence within 1 s of processor time and 200 MB; the last ones are valid scans of few photons,
and must be read. The folder gets about 150 MB. The exit code is 1 if a file is treated otherwise.
"""

import io
import os
import pathlib
import struct
import subprocess
import sys
import time
import zipfile
import zlib

import h5py
import hdf5plugin
import numpy as np

FRAMES = "/entry_1/instrument_1/detector_1/data"
MASK = "/entry_1/instrument_1/detector_1/mask"
TRANSLATION = "/entry_1/sample_1/geometry_1/translation"
PROBE = "/entry_1/instrument_1/source_1/illumination"
SECONDS, MEGABYTES, LONGEST = 1.0, 200, 60
GEOMETRY = ["--raster", "4x4", "--step", "1um", "--set", "data.constants.wavelength=1e-10",
            "--set", "data.constants.distance=1", "--set", "data.constants.pixel_size=[75e-6,75e-6]"]  # fmt: skip


def scan(path, count=16, pixels=32, frames=True):
    """A small valid scan (CXI); open, so that parts can be replaced."""
    file = h5py.File(path, "w")
    y, x = np.indices((pixels, pixels)) - pixels / 2
    beam = 1000 * np.exp(-(y**2 + x**2) / 20)
    if frames:
        counts = np.random.default_rng(1).poisson(beam, (count, pixels, pixels))
        file[FRAMES] = counts.astype("u4")
    side = int(np.ceil(np.sqrt(count)))
    places = np.array([[n % side, n // side, 0] for n in range(count)]) * 1e-6
    file[TRANSLATION] = places
    for name, value in (("distance", 1.0), ("x_pixel_size", 75e-6), ("y_pixel_size", 75e-6)):
        file[f"/entry_1/instrument_1/detector_1/{name}"] = value
    file["/entry_1/instrument_1/source_1/wavelength"] = 1e-10
    return file


def bomb(file, name, shape, kind, chunk, filters):
    """A dataset whose chunks are all the same compressed zeros."""
    with h5py.File("one", "w", driver="core", backing_store=False) as other:
        one = other.create_dataset("one", data=np.zeros(chunk, kind), chunks=chunk, **filters)
        mask, stored = one.id.read_direct_chunk((0,) * len(chunk))
    numbers = file.create_dataset(name, shape, kind, chunks=chunk, **filters)
    for place in np.ndindex(*(-(-n // c) for n, c in zip(shape, chunk))):
        numbers.id.write_direct_chunk([p * c for p, c in zip(place, chunk)], stored, mask)


GZIP = {"compression": "gzip", "compression_opts": 9}
FILTERS = {
    "deflate": GZIP,
    "Zstandard": hdf5plugin.Zstd(),
    "LZ4": hdf5plugin.LZ4(),
    "bitshuffle-LZ4": hdf5plugin.Bitshuffle(),
    "bitshuffle-Zstandard": hdf5plugin.Bitshuffle(cname="zstd"),
    "Blosc-Zstandard": hdf5plugin.Blosc(cname="zstd"),
    "Blosc2-Zstandard": hdf5plugin.Blosc2(cname="zstd"),
}
STACK, STACK_CHUNK = (4000, 512, 512), (1, 512, 512)


def hostile(folder):
    """Pairs of a name and the arguments that a command gets; the files are written as they are asked for."""

    def place(name):
        return str(folder / name)

    def frames(name, write, *options):
        path = place(name)
        with scan(path, frames=False) as file:
            write(file)
        return [path, *options]

    def links(name, target):
        def write(file):
            file[FRAMES] = target

        return frames(name, write)

    yield "soft links in a circle", links("circle.h5", h5py.SoftLink(FRAMES))
    with h5py.File(place("there.h5"), "w") as other:
        other["back"] = h5py.ExternalLink("back.h5", FRAMES)
    yield "links between two files in a circle", links("back.h5", h5py.ExternalLink("there.h5", "back"))

    def itself(file):
        layout = h5py.VirtualLayout((16, 32, 32), "u4")
        layout[:] = h5py.VirtualSource(".", FRAMES, (16, 32, 32))
        file.create_virtual_dataset(FRAMES, layout)

    yield "a virtual dataset of itself", frames("itself.h5", itself)
    os.mkfifo(place("pipe.h5"))
    yield "a link to a named pipe", links("to_pipe.h5", h5py.ExternalLink("pipe.h5", "/x"))
    yield "a link out of the folder", links("out.h5", h5py.ExternalLink("/etc/hostname", "/x"))
    yield "a link to a file that is missing", links("gone.h5", h5py.ExternalLink("none.h5", "/x"))
    yield "a link to a dataset that is missing", links("gone2.h5", h5py.ExternalLink("there.h5", "/x"))

    def of_missing(target):
        def write(file):
            layout = h5py.VirtualLayout((16, 32, 32), "u4")
            layout[:] = h5py.VirtualSource(target, "/x", (16, 32, 32))
            file.create_virtual_dataset(FRAMES, layout)

        return write

    yield "a virtual dataset of a missing file", frames("gone3.h5", of_missing("none.h5"))
    yield "a virtual dataset of a missing dataset", frames("gone4.h5", of_missing("there.h5"))

    def group(file):
        del file["entry_1"]
        file["entry_1"] = h5py.ExternalLink("there.h5", "/entry_1")

    yield "a group that is missing in another file", frames("gone5.h5", group)

    def chunk(file):
        data = file.create_dataset(FRAMES, (16, 32, 32), "u4", chunks=(16, 1024, 60_000), maxshape=(None,) * 3, **GZIP)
        data.id.write_direct_chunk((0, 0, 0), zlib.compress(bytes(2**20)))

    yield "a declared chunk of 3.9 GB", frames("chunk.h5", chunk)
    for name, filters in FILTERS.items():
        def write(file, filters=filters):
            bomb(file, FRAMES, STACK, "u2", STACK_CHUNK, filters)

        yield f"2.1 GB of zeros, {name}", frames(f"bomb-{name}.h5", write)

    def blink(file):
        bomb(file, FRAMES, STACK, "u2", STACK_CHUNK, GZIP)
        with h5py.File("one", "w", driver="core", backing_store=False) as other:
            data = np.zeros(STACK_CHUNK, "u2")
            data[0, 7, 9] = 1
            one = other.create_dataset("one", data=data, chunks=STACK_CHUNK, **GZIP)
            _, stored = one.id.read_direct_chunk((0, 0, 0))
        for n in range(STACK[0]):
            file[FRAMES].id.write_direct_chunk((n, 0, 0), stored)

    yield "2.1 GB, deflate, one count in each frame", frames("one-count.h5", blink)

    def missing(filters):
        return lambda file: file.create_dataset(FRAMES, (10_000, 512, 512), "u2", chunks=(50, 512, 512), **filters)

    yield "5.2 GB of chunks that were never written", frames("missing.h5", missing({}))
    yield "the same with deflate", frames("missing-gzip.h5", missing(GZIP))
    yield "5.2 GB in one piece that was never written", frames(
        "contiguous.h5", lambda file: file.create_dataset(FRAMES, (10_000, 512, 512), "u2"))  # fmt: skip

    def mostly(file):
        data = file.create_dataset(FRAMES, (10_000, 512, 512), "u2", chunks=STACK_CHUNK, **GZIP)
        data[:10] = np.random.default_rng(1).poisson(3, (10, 512, 512))

    yield "10 of 10 000 frames written", frames("mostly.h5", mostly)

    def wide(file):
        layout = h5py.VirtualLayout((2**20, 2**15, 2**10), "u2")
        layout[:16, :32, :32] = h5py.VirtualSource(".", "/small", (16, 32, 32))
        file["small"] = np.ones((16, 32, 32), "u2")
        file.create_virtual_dataset(FRAMES, layout)

    yield "a virtual dataset of 64 TiB", frames("wide.h5", wide)

    def again(file):
        file["one"] = np.random.default_rng(1).poisson(3, (1, 512, 512)).astype("u2")
        layout = h5py.VirtualLayout((5000, 512, 512), "u2")
        for n in range(5000):
            layout[n] = h5py.VirtualSource(".", "/one", (1, 512, 512))[0]
        file.create_virtual_dataset(FRAMES, layout)

    yield "a virtual dataset with one frame 5000 times", frames("again.h5", again)

    def master(name, target):
        path = place(name)
        with h5py.File(path, "w") as file:
            for n in range(1, 9):
                file[f"/entry/data/data_{n:06}"] = target
        return [path, *GEOMETRY]

    with h5py.File(place("part.h5"), "w") as other:
        bomb(other, "data", (900, 512, 512), "u2", STACK_CHUNK, GZIP)
    yield "a master whose 8 links lead to 0.5 GB of zeros", master("m_master.h5", h5py.ExternalLink("part.h5", "data"))

    def other_part(name, shape, kind, part, chunk):
        def write(file):
            bomb(file, part, shape, kind, chunk, hdf5plugin.Zstd())

        path = place(name)
        with scan(path) as file:
            if part in file:
                del file[part]
            write(file)
        return [path]

    yield "8 GB of masks", other_part("mask.h5", (16, 2**14, 2**14), "u2", MASK, (1, 2**11, 2**11))
    yield "8 GB of positions", other_part("positions.h5", (2**28, 4), "f8", TRANSLATION, (2**18, 4))
    yield "4 GB of start probes", other_part("probe.h5", (2**19, 32, 32), "f8", PROBE, (2**8, 32, 32))
    valid = place("valid.cxi")
    scan(valid).close()
    with h5py.File(place("dark.h5"), "w") as other:
        bomb(other, "dark", (2**20, 32, 32), "f8", (2**8, 32, 32), hdf5plugin.Zstd())
        bomb(other, "yx", (2**28, 4), "f8", (2**18, 4), hdf5plugin.Zstd())
    for option in ("dark", "flat", "mask", "monitor"):
        yield f"8 GB as data.{option}", [valid, "--set", f"data.{option}={place('dark.h5')}:/dark"]
    yield "8 GB as --positions", [valid, "--positions", f"{place('dark.h5')}:/yx", "--position-unit", "m"]

    path = place("frames.npz")
    header = io.BytesIO()
    shape = {"descr": "<u2", "fortran_order": False, "shape": (5000, 512, 512)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("frames.npy", "w", force_zip64=True) as member:
        member.write(header.getvalue())
        for _ in range(500):
            member.write(bytes(10 * 512 * 512 * 2))
    yield "2.6 GB of zeros in an .npz", [path, *GEOMETRY]
    path = place("shape.npy")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {**shape, "shape": (2**40, 2**20, 2**20)})
    pathlib.Path(path).write_bytes(header.getvalue() + bytes(1000))
    yield "an .npy with a huge shape", [path, *GEOMETRY]
    path = place("header.npy")
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(1000))
    yield "an .npy with a header of 2 GB", [path, *GEOMETRY]

    def tiff(pages, side, stored, compression):
        """Pages that share one strip."""
        out = bytearray(b"II*\0" + struct.pack("<I", 8 + len(stored)) + stored)
        for page in range(pages):
            tags = [(256, 4, side), (257, 4, side), (258, 3, 16), (259, 3, compression), (262, 3, 1), (273, 4, 8),
                    (277, 3, 1), (278, 4, side), (279, 4, len(stored))]  # fmt: skip
            after = len(out) + 2 + 12 * len(tags) + 4
            out += struct.pack("<H", len(tags))
            for tag, kind, value in tags:
                out += struct.pack("<HHII", tag, kind, 1, value)
            out += struct.pack("<I", after if page + 1 < pages else 0)
        return bytes(out)

    path = place("bomb.tif")
    zeros = zlib.compress(bytes(2 * 4096 * 4096), 9)
    pathlib.Path(path).write_bytes(tiff(200, 4096, zeros, 8))
    yield "a TIFF of 200 pages with one strip of zeros", [path, *GEOMETRY]
    noise = np.random.default_rng(1).poisson(50, 512 * 512).astype("u2").tobytes()
    path = place("shared.tif")
    pathlib.Path(path).write_bytes(tiff(3000, 512, noise, 1))
    yield "a TIFF of 3000 pages with one strip", [path, *GEOMETRY]
    whole = tiff(16, 32, noise[:2048], 1)
    for name, content in (("begin", b"II*\0" + bytes(4)), ("other", b"no TIFF at all"), ("cut", whole[:2200]),
                          ("strip", whole.replace(struct.pack("<HHII", 273, 4, 1, 8), struct.pack("<HHII", 273, 4, 1, 2**31)))):  # fmt: skip
        path = place(f"{name}.tif")
        pathlib.Path(path).write_bytes(content)
        yield f"a broken TIFF ({name})", [path, *GEOMETRY]
    path = place("header.mib")
    pathlib.Path(path).write_bytes(b"MQ1,000001,99999999,01,0256,0256,U16,   1x1,01,".ljust(4096, b"\0"))
    yield "an .mib with a header of 100 MB", [path, *GEOMETRY]
    path = place("header2.mib")
    pathlib.Path(path).write_bytes(b"MQ1,000001,00384,01,999999,999999,U16,   1x1,01,".ljust(4096, b"\0"))
    yield "an .mib with frames of 2 TB", [path, *GEOMETRY]
    path = place("scan.xml")
    pathlib.Path(path).write_text("<root>" * 100_000)
    yield "an EMPAD .xml 100 000 elements deep", [path, *GEOMETRY]
    path = place("line.csv")
    pathlib.Path(path).write_bytes(b"y_m,x_m\n" + b"1," * 25_000_000)
    yield "a table with a line of 50 MB", [valid, "--positions", path]
    path = place("digits.csv")
    pathlib.Path(path).write_bytes(b"y_m,x_m\n" + b"1" * 50_000_000 + b",2\n")
    yield "a table with a number of 50 MB", [valid, "--positions", path]


def sparse(folder):
    """Valid scans of few photons."""
    y, x = np.indices((512, 512)) - 256
    beam = 1 / (1 + (np.hypot(y, x) / 20) ** 3)
    for photons, name in ((1000, "Blosc-Zstandard"), (1000, "bitshuffle-LZ4"), (300, "deflate")):
        path = str(folder / f"sparse-{name}.h5")
        some = np.random.default_rng(1).poisson(photons * beam / beam.sum(), (16, 512, 512)).astype("u4")
        with scan(path, 400, frames=False) as file:
            data = file.create_dataset(FRAMES, (400, 512, 512), "u4", chunks=STACK_CHUNK, **FILTERS[name])
            for n in range(0, 400, 16):
                data[n : n + 16] = some
            ratio = some.nbytes * 25 / data.id.get_storage_size()
        yield f"{photons} photons a frame, {name} ({ratio:.0f}:1)", ["info", path]


def measured(command):
    """Exit code, seconds (by the clock, and of processors), largest memory (MB; asked every 2 ms) and the message of a command."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
        killed = False
        os.set_blocking(child.stderr.fileno(), False)
        text, memory = b"", 0
        status_file = pathlib.Path(f"/proc/{child.pid}/status")
        while True:
            text += child.stderr.read() or b""
            lines = [line for line in status_file.read_text().splitlines() if line.startswith("VmHWM")]
            memory = max([memory, *(int(line.split()[1]) for line in lines)])
            found, status, usage = os.wait4(child.pid, os.WNOHANG)
            if found:
                text += child.stderr.read() or b""
                break
            if time.monotonic() - begin > LONGEST and not killed:
                child.kill()
                killed = True
            time.sleep(0.002)
        child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    message = next((line for line in lines if line.startswith("warpstride:")), lines[-1] if lines else "")
    return child.returncode, (seconds, usage.ru_utime + usage.ru_stime), memory / 1024, message


class table:
    """A table of commands and what they gave, printed row by row."""

    def __init__(self, folder):
        self.folder, self.wrong = folder, 0
        print("| file | command | exit code | s | CPU s | MB | message |\n|---|---|---|---|---|---|---|")

    def row(self, name, command, expected, said=None, good=True, seconds=SECONDS):
        """Runs a command and prints a row; `said` takes the place of its message. Without `seconds`, it may take any time."""
        limit = LONGEST if seconds is None else seconds
        expected = expected if isinstance(expected, tuple) else (expected,)
        code, (seconds, cpu), memory, message = measured(command)
        good = good and code in expected and (cpu < limit and memory < MEGABYTES or said is None and expected == (0,))
        # A command that is killed for its time has none of its own.
        good = good and (code != 1 or message.startswith("warpstride: "))
        self.wrong += not good
        message = message.removeprefix("warpstride: ").replace(f"{self.folder}/", "").replace("|", "\\|")
        message = message if len(message) < 400 else message[:400] + "…"
        message = said if said is not None else message if code else ""
        mark = "" if good else " **(not as expected)**"
        print(f"| {name}{mark} | {command[2]} | {code} | {seconds:.2f} | {cpu:.2f} | {memory:.0f} | {message} |", flush=True)


def main(program, folder, part=""):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    rows = table(folder)
    for name, arguments in hostile(folder):
        if part in name:
            rows.row(name, [program, "ptycho", "info", *arguments], 1)
            rows.row(name, [program, "ptycho", "reconstruct", *arguments, "-o", str(folder / "written.h5"), "--backend", "cpu"], 1)
    for name, arguments in sparse(folder):
        if part in name:
            rows.row(name, [program, "ptycho", *arguments], 0)
    sys.exit(1 if rows.wrong else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
