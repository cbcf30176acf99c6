"""Writes hostile files of MRI, small-angle scattering or time series, runs `warpstride` on each, and prints a table.

    hostile_sciences.py WARPSTRIDE mri|sas|series FOLDER [PART OF A NAME]

Needs what hostile_files.py needs, and pyarrow and zstandard for series. Each file must be refused with exit code 1 and one sentence within 1 s of
processor time and 200 MB. Streams of valid points ("long") must be read within that memory or refused, however long that takes. Series are read with --memory 100MB.
"""

import gzip
import pathlib
import shutil
import struct
import subprocess
import sys

import h5py
import hdf5plugin
import numpy as np
from hostile_files import GZIP, bomb, table
from hostile_results import damaged_heap, virtual

XML = ('<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD"><encoding><encodedSpace><matrixSize><x>16</x><y>16</y><z>1</z>'
       "</matrixSize><fieldOfView_mm><x>256</x><y>256</y><z>5</z></fieldOfView_mm></encodedSpace><reconSpace><matrixSize><x>16</x><y>16</y><z>1</z>"
       "</matrixSize><fieldOfView_mm><x>256</x><y>256</y><z>5</z></fieldOfView_mm></reconSpace><trajectory>radial</trajectory></encoding>"
       "</ismrmrdHeader>")  # fmt: skip


def mri(program, folder):
    """Names and arguments of commands that read samples, trajectories, maps and images."""
    raw = str(folder / "valid.h5")
    size = ["--matrix", "16", "--coils", "2", "--spokes", "16", "--quiet"]
    subprocess.run([program, "mri", "simulate", raw, *size], check=True)
    out = ["-o", str(folder / "image.npy"), "--backend", "cpu", "--iterations", "1"]

    def both(name, path, *options):
        yield name, ["info", str(path), *options]
        yield name, ["reconstruct", str(path), *options, *out]

    def changed(name, file, change, *, heap=False):
        path = str(folder / file)
        shutil.copy(raw, path)
        with h5py.File(path, "r+") as opened:
            change(opened)
        if heap:
            damaged_heap(path)
        yield from both(name, path)

    def replaced(what, make):
        def change(file):
            kind = file["dataset/data"].dtype
            del file[what]
            make(file, kind)

        return change

    yield from changed("10 billion acquisitions that were never written", "never.h5", replaced(
        "dataset/data", lambda file, kind: file.create_dataset("dataset/data", (10**10,), kind, chunks=(1000,))))  # fmt: skip
    yield from changed("the same in one piece", "never2.h5", replaced(
        "dataset/data", lambda file, kind: file.create_dataset("dataset/data", (10**8,), kind)))  # fmt: skip

    def records(filters, count, chunk):
        def make(file, kind):
            with h5py.File(raw) as other:
                first = other["dataset/data"][:1]
            data = file.create_dataset("dataset/data", (count,), kind, chunks=(chunk,), **filters)
            data[:chunk] = np.repeat(first, chunk)
            mask, stored = data.id.read_direct_chunk((0,))
            for n in range(1, count // chunk):
                data.id.write_direct_chunk((n * chunk,), stored, mask)

        return replaced("dataset/data", make)

    yield from changed("a million acquisitions with the same samples", "same.h5", records(GZIP, 2**20, 2**12))

    def large(file):
        data = file["dataset/data"]
        one = data[:1]
        one["head"]["number_of_samples"] = 60_000
        one["head"]["active_channels"] = 16
        one["traj"][0] = np.zeros(2 * 60_000, "f4")
        one["data"][0] = np.zeros(2 * 60_000 * 16, "f4")
        kind = data.dtype
        del file["dataset/data"]
        data = file.create_dataset("dataset/data", (2000,), kind, chunks=(1,))
        data[:1] = one
        mask, stored = data.id.read_direct_chunk((0,))
        for n in range(1, 2000):
            data.id.write_direct_chunk((n,), stored, mask)

    yield from changed("16 GB of samples that are one sequence of 8 MB", "one.h5", large)

    def chunk(file, kind):
        data = file.create_dataset("dataset/data", (16,), kind, chunks=(10**7,), maxshape=(None,), **GZIP)
        data.id.write_direct_chunk((0,), gzip.zlib.compress(bytes(2**20)))

    yield from changed("acquisitions in a chunk of 3.6 GB", "chunk.h5", replaced("dataset/data", chunk))

    def heads(**members):
        def change(file):
            data = file["dataset/data"]
            read = data[:]
            for name, value in members.items():
                read["head"][name] = value
            data[:] = read

        return change

    yield from changed("65535 samples of 65535 coils", "heads.h5", heads(number_of_samples=65535, active_channels=65535))
    yield from changed("65535 axes of the trajectory", "axes.h5", heads(trajectory_dimensions=65535))

    def header(content):
        def change(file):
            del file["dataset/xml"]
            file.create_dataset("dataset/xml", data=np.array([content], object), dtype=h5py.string_dtype())

        return change

    def many_headers(file):
        del file["dataset/xml"]
        file.create_dataset("dataset/xml", (2**40,), h5py.string_dtype(), chunks=(2**16,))

    yield from changed("a million million headers", "headers.h5", many_headers)
    documents = {
        "a header of 100 MB": XML + " " * (100 << 20),
        "a header a million elements deep": "<a>" * 10**6,
        "a header with a million elements": XML.replace("<encoding>", "<a/>" * 10**6 + "<encoding>"),
        "a header with a million attributes": "<ismrmrdHeader " + " ".join(f'a{n}=""' for n in range(10**6)) + "/>",
        "a header with entities": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
            f'<!ENTITY a{n} "{f"&a{n - 1 if n else str()};" * 10}">' for n in range(10)) + "]><ismrmrdHeader>&a9;</ismrmrdHeader>",
        "a matrix of 2^31 voxels": XML.replace("<x>16<", "<x>2147483647<").replace("<y>16<", "<y>2147483647<"),
        "a matrix of 30000 x 30000 voxels": XML.replace(">16<", ">30000<"),
    }  # fmt: skip
    for n, (name, content) in enumerate(documents.items()):
        yield from changed(name, f"xml{n}.h5", header(content))
    yield from changed("a damaged heap", "heap.h5", lambda file: None, heap=True)

    def itself(name):
        def change(file):
            virtual(file, name, (16,), "f4", ".", f"/{name}")

        return change

    for name in ("dataset/data", "dataset/xml"):
        yield from changed(f"{name} is a virtual dataset of itself", f"itself{len(name)}.h5", itself(name))
        yield from changed(f"{name} is a virtual dataset with a damaged heap", f"virtual{len(name)}.h5", itself(name), heap=True)

    def outside(file):
        del file["dataset/data"]
        file["dataset/data"] = h5py.ExternalLink("valid.h5", "/dataset/data")

    yield from changed("acquisitions behind a link to another file", "outside.h5", outside)

    arrays = str(folder / "arrays.h5")
    with h5py.File(arrays, "w") as file:
        for name in ("/image/data", "/image/coil_maps", "/truth/image", "/truth/coil_maps", "/field/maps"):
            bomb(file, name, (8, 2**13, 2**13), "c8" if "field" not in name else "f8", (1, 2**11, 2**11), hdf5plugin.Zstd())
        bomb(file, "/field/hertz", (2**15, 2**15), "f8", (2**11, 2**11), hdf5plugin.Zstd())
        bomb(file, "/field/coefficients", (2**27, 8), "f8", (2**17, 8), hdf5plugin.Zstd())
    never = str(folder / "arrays2.h5")
    with h5py.File(never, "w") as file:
        for name in ("/image/data", "/image/coil_maps", "/truth/image", "/truth/coil_maps"):
            file.create_dataset(name, (8, 2**13, 2**13), "c8")
        file.create_dataset("/field/hertz", (2**15, 2**15), "f8")
    loops = str(folder / "arrays3.h5")
    with h5py.File(loops, "w") as file:
        for name in ("/image/data", "/image/coil_maps", "/truth/image", "/truth/coil_maps", "/field/hertz"):
            virtual(file, name, (16, 16), "f4", ".", name)
    damaged_heap(loops)
    npy = str(folder / "huge.npy")
    text = b"{'descr': '<c16', 'fortran_order': False, 'shape': (1048576, 1048576), }".ljust(117) + b"\n"
    pathlib.Path(npy).write_bytes(b"\x93NUMPY\x01\x00\x76\x00" + text + bytes(1000))
    for name, path in (("4 GB of zeros", arrays), ("4 GB that were never written", never), ("a damaged heap", loops), ("a huge .npy", npy)):
        for option, more in (("--coil-maps", []), ("--reference", []), ("--off-resonance", ["--operator", "direct"])):
            yield f"{name} as {option}", ["reconstruct", raw, *out, option, path, *more]
    for path in (arrays, loops):
        yield "8 GB as --field", ["reconstruct", raw, *out, "--field", path, "--operator", "direct"]

    def bart(name, of_samples, of_trajectory, lengths=(4096, 4096)):
        for file, text, length in zip(("ksp", "traj"), (of_samples, of_trajectory), lengths):
            (folder / f"{name}-{file}.hdr").write_bytes(text if isinstance(text, bytes) else f"# Dimensions\n{text}\n".encode())
            (folder / f"{name}-{file}.cfl").write_bytes(bytes(length))
        return both(f"BART: {name}", folder / f"{name}-ksp.cfl", "--trajectory", str(folder / f"{name}-traj.cfl"))

    yield from bart("huge dimensions", "1 1000000 1000000 8", "3 1000000 1000000")
    yield from bart("dimensions beyond 2^64", " ".join(["4294967295"] * 16), "3 4 4")
    yield from bart("dimensions of 0", "1 0 0 1", "3 0 0", (0, 0))
    yield from bart("a header of 100 MB", b"# Dimensions\n" + b"1 " * (50 << 20), "3 4 4")
    yield from bart("a header without end of numbers", b"# Dimensions\n" + b"9" * 60_000, "3 4 4")
    yield from bart("a header that is no text", bytes(range(256)) * 100, "3 4 4")
    yield from bart("a trajectory of 65535^5 images", "1 2 2 1", "3 2 2 1 1 65535 1 1 1 1 65535 65535 1 65535 1 65535", (32, 96))


CANSAS = ('<?xml version="1.0"?><SASroot version="1.1" xmlns="urn:cansas1d:1.1"><SASentry><Title>t</Title><Run/><SASdata>{}</SASdata></SASentry></SASroot>')
ROW = '<Idata><Q unit="1/A">{}</Q><I unit="1/cm">1</I></Idata>'


def sas(_, folder):
    """Names and arguments of commands that read scattering."""

    def fit(path):
        return ["fit", "sphere", str(path), "--fit", "radius", "--iterations", "1", "--backend", "cpu"]

    def both(name, path):
        yield name, ["info", str(path)]
        yield name, fit(path)

    def hdf5(name, file, fill, *, heap=False):
        path = str(folder / file)
        with h5py.File(path, "w") as opened:
            entry = opened.create_group("entry")
            entry.attrs["canSAS_class"] = "SASentry"
            data = entry.create_group("data")
            data.attrs.update({"canSAS_class": "SASdata", "signal": "I", "I_axes": "Q"})
            data["Q"], data["I"] = np.linspace(0.01, 0.3, 50), np.ones(50)
            data["Q"].attrs["units"] = "1/angstrom"
            fill(opened, data)
        if heap:
            damaged_heap(path)
        yield from both(name, path)

    def zstd(names, shape, chunk):
        def fill(_, data):
            for name in names:
                if name in data:
                    del data[name]
                bomb(data, name, shape, "f8", chunk, hdf5plugin.Zstd())

        return fill

    yield from hdf5("8 GB of intensities", "i.h5", zstd(["I"], (2**30,), (2**20,)))
    yield from hdf5("8 GB of intensities and of q", "iq.h5", zstd(["I", "Q"], (2**30,), (2**20,)))
    yield from hdf5("8 GB of q", "q.h5", zstd(["Q"], (2**30,), (2**20,)))
    yield from hdf5("8 GB of uncertainties", "s.h5", zstd(["Idev"], (2**30,), (2**20,)))
    yield from hdf5("8 GB of an image", "image.h5", zstd(["I", "Qx", "Qy"], (2**15, 2**15), (2**11, 2**11)))

    def never(_, data):
        for name in ("I", "Q"):
            del data[name]
            data.create_dataset(name, (2**30,), "f8", chunks=(2**20,))

    yield from hdf5("8 GB that were never written", "never.h5", never)

    def medium(_, data):
        for name in ("I", "Q"):
            del data[name]
            data.create_dataset(name, (2**24,), "f8")

    yield from hdf5("128 MB that were never written", "medium.h5", medium)

    def itself(_, data):
        virtual(data, "I", (50,), "f8", ".", "/entry/data/I")

    yield from hdf5("intensities that are a virtual dataset of themselves", "itself.h5", itself)
    yield from hdf5("the same with a damaged heap", "heap.h5", itself, heap=True)

    def label(file, data):
        file["entry/title"] = "a title"
        data["title"] = "x" * (100 << 20)

    yield from hdf5("a damaged heap", "heap2.h5", label, heap=True)

    def title(file, _):
        file["entry/title"] = "\x1b[31m\n" + "x" * (100 << 20)

    yield "a title of 100 MB", next(hdf5("", "title.h5", title))[1]

    def entries(file, _):
        del file["entry"]
        for n in range(50_000):
            file.create_group(f"e{n}").attrs["canSAS_class"] = "SASentry"

    yield from hdf5("50 000 entries without data", "entries.h5", entries)

    def loop(file, data):
        del file["entry/data/I"]
        data["I"] = h5py.SoftLink("/entry/data/I")
        file["entry/entry"] = file["entry"]

    yield from hdf5("groups linked into themselves", "loop.h5", loop)

    def outside(_, data):
        del data["I"]
        data["I"] = h5py.ExternalLink("i.h5", "/entry/data/I")

    yield from hdf5("intensities behind a link to another file", "outside.h5", outside)
    rows = "".join(ROW.format(0.01 * (n + 1)) for n in range(10))
    documents = {
        "a million elements deep": "<?xml version='1.0'?>" + "<SASroot>" * 10**6,
        "a million attributes": "<SASroot " + " ".join(f'a{n}=""' for n in range(10**6)) + "/>",
        "30 million empty elements": CANSAS.format("<a/>" * (30 * 10**6)),
        "entities": '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + "".join(
            f'<!ENTITY a{n} "{f"&a{n - 1 if n else str()};" * 10}">' for n in range(10)) + "]><SASroot>&a9;</SASroot>",
        "a number of 50 MB": CANSAS.format(ROW.format("1" * (50 << 20))),
        "a text of 100 MB": CANSAS.format("x" * (100 << 20) + rows),
        "a comment of 100 MB": "<?xml version='1.0'?><!--" + "x" * (100 << 20),
        "100 000 data sets without rows": CANSAS.format("</SASdata><SASdata>" * 100_000),
    }  # fmt: skip
    for n, (name, content) in enumerate(documents.items()):
        path = folder / f"{n}.xml"
        path.write_text(content)
        yield from both(f"canSAS: {name}", path)
    columns = {
        "a line of 100 MB": b"1 " * (50 << 20),
        "a number of 100 MB": b"0.1 " + b"1" * (100 << 20) + b"\n",
        "100 MB of letters": b"abcdefg " * (12 << 20),
        "100 MB of empty lines": b"\n" * (100 << 20),
        "100 MB of zero bytes": bytes(100 << 20),
        "20 million lines of one number": b"1.5\n" * (20 << 20),
        "10 million equal rows": b"0.1 1\n" * 10_000_000,
    }
    for n, (name, content) in enumerate(columns.items()):
        path = folder / f"{n}.dat"
        path.write_bytes(content)
        yield from both(f"columns: {name}", path)


def series(_, folder):
    """Names and arguments of commands that read points."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    def resample(path):
        # Without the option it is the memory that is available.
        limit = ["--memory", "100MB"]
        return ["resample", str(path), "-o", str(folder / "out.csv"), "--backend", "cpu", "--quiet", *limit]

    head = b"time,value\n"
    points = b"".join(b"%d,1.5\n" % (1_600_000_000 + 10 * n) for n in range(100_000))

    def packed(name, parts):
        """A file of gzip and one of Zstandard."""
        path = folder / f"{name}.csv.gz"
        with gzip.open(path, "wb", compresslevel=1) as file:
            for part in parts():
                file.write(part)
        yield path
        path = folder / f"{name}.csv.zst"
        with open(path, "wb") as raw, zstandard.ZstdCompressor(level=3).stream_writer(raw) as file:
            for part in parts():
                file.write(part)
        yield path

    contents = {
        "500 MB of zero bytes": lambda: (bytes(1 << 20) for _ in range(500)),
        "a line of 500 MB": lambda: [head, *(b"1" * (1 << 20) for _ in range(500))],
        "a header of 500 MB": lambda: (b"a" * (1 << 20) for _ in range(500)),
        "100 million columns": lambda: (b"a," * (1 << 19) for _ in range(200)),
        "500 MB of commas": lambda: [head, *(b"," * (1 << 20) for _ in range(500))],
        "a quoted cell of 500 MB": lambda: [head, b'"', *(b"a\n" * (1 << 19) for _ in range(500))],
        "500 MB of empty lines, long": lambda: [head, *(b"\n" * (1 << 20) for _ in range(500))],
        "400 MB of the same points, long": lambda: [head, *(points for _ in range(25))],
    }
    for name, parts in contents.items():
        for path in packed(name.replace(" ", "-"), parts):
            yield f"{name} in {path.suffix}", resample(path)
    many = folder / "many.csv.gz"
    with gzip.open(many, "wb", compresslevel=1) as file:
        file.write(b"time,value,series\n")
        for n in range(1_000_000):
            file.write(b"1600000000,1,%040d\n" % n)
    yield "a million series, long", resample(many)
    for name, window in (("2^41", 31 << 3), ("2^31", 21 << 3)):
        path = folder / f"window{window}.csv.zst"
        path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes([0x00, window]) + b"\x03\x00\x00" + b"\x00" * 100)
        yield f"a Zstandard window of {name} bytes", resample(path)
    path = folder / "size.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x03\x00\x00" + bytes(100))
    yield "a Zstandard frame of 2^64 bytes", resample(path)
    path = folder / "skippable.csv.zst"
    path.write_bytes((b"\x50\x2a\x4d\x18" + struct.pack("<I", 0)) * 10**6)
    yield "a million empty Zstandard frames", resample(path)
    path = folder / "empty.csv.gz"
    path.write_bytes(gzip.compress(b"") * 10**6)
    yield "a million empty gzip members", resample(path)
    path = folder / "twice.csv.gz"
    path.write_bytes(gzip.compress(gzip.compress(bytes(100 << 20))))
    yield "gzip within gzip", resample(path)

    def varint(n):
        out = b""
        while n > 0x7F:
            out += bytes([n & 0x7F | 0x80])
            n >>= 7
        return out + bytes([n])

    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    literal = lambda content: varint(len(content)) + b"\xfc" + struct.pack("<I", len(content) - 1) + content  # noqa: E731
    name = field(1, field(1, b"__name__") + field(2, b"up"))
    sample = field(2, b"\x09" + struct.pack("<d", 1.0) + b"\x10" + varint(1_600_000_000_000))
    copies = b"\x00a" + b"\xfe\x01\x00" * 2**22
    snappy = {
        "a Snappy block of 4 GB": varint(2**32 - 1) + b"\x00" * 1000,
        "a Snappy block of 2^63 bytes": varint(2**63) + b"\x00" * 1000,
        "256 MB of Snappy copies": varint(1 + 64 * 2**22) + copies,
        "a message of fields of 2^60 bytes": literal(b"\x0a" + varint(2**60)),
        "a message without samples": literal(field(1, name) * 10**6),
        "a message in messages": literal(b"\x0a\x06" * 10**6 + b"\x08\x00"),
        "a million labels": literal(field(1, name + field(1, field(1, b"a") + field(2, b"b")) * 10**6 + sample)),
    }
    for n, (what, content) in enumerate(snappy.items()):
        path = folder / f"{n}.snappy"
        path.write_bytes(content)
        yield what, resample(path)
    framed = folder / "framed.snappy"
    block = varint(65536) + b"\x00a" + b"\xfe\x01\x00" * 1024
    framed.write_bytes(b"\xff\x06\x00\x00sNaPpY" + (b"\x00" + struct.pack("<I", len(block) + 4)[:3] + bytes(4) + block) * 8_000)
    yield "500 MB of framed Snappy", resample(framed)

    prometheus = {
        "a line of 50 MB": b"up{a=\"" + b"x" * (50 << 20) + b"\"} 1 1600000000000\n",
        "a million labels": b"up{" + b",".join(b'a%d="b"' % n for n in range(10**6)) + b"} 1 1600000000000\n",
        "50 MB of comments": b"# HELP a b\n" * 5_000_000,
        "an open brace": b"up{" * 10**6,
    }
    for n, (what, content) in enumerate(prometheus.items()):
        path = folder / f"{n}.prom"
        path.write_bytes(content)
        yield f"Prometheus: {what}", resample(path)

    rows = 2_000_000
    time = pa.array(np.full(rows, 1_600_000_000_000_000_000), pa.timestamp("ns"))
    points = pa.table({"time": time, "value": pa.array(np.ones(rows))})
    path = folder / "valid.parquet"
    pq.write_table(points, path, row_group_size=rows, compression="zstd")
    valid = path.read_bytes()
    yield "2 million rows in one Parquet row group, long", resample(path)
    whole = pa.table({"time": pa.array(np.zeros(10**8, "i8"), pa.timestamp("ns")), "value": pa.array(np.zeros(10**8))})
    path = folder / "bomb.parquet"
    pq.write_table(whole, path, row_group_size=10**8, compression="zstd", data_page_size=2**30)
    yield "100 million equal rows in one Parquet row group, long", resample(path)
    del whole
    path = folder / "texts.parquet"
    texts = pa.array(["x" * 1_000_000] * 1000)
    pq.write_table(pa.table({"time": time[:1000], "value": pa.array(np.ones(1000)), "series": texts}), path, compression="zstd", use_dictionary=False)
    yield "1 GB of names in Parquet", resample(path)
    for what, content in (
        ("a Parquet footer of 4 GB", valid[:-8] + b"\xff\xff\xff\xffPAR1"),
        ("a Parquet footer of 2 GB", valid[:-8] + b"\xff\xff\xff\x7fPAR1"),
        ("a Parquet footer of zeros", valid[: -8 - 500] + bytes(500) + valid[-8:]),
        ("a Parquet footer of bytes 0xff", valid[: -8 - 300] + b"\xff" * 300 + valid[-8:]),
        ("Parquet pages of zeros", valid[:4] + bytes(2000) + valid[2004:]),
        ("Parquet pages of bytes 0xff", valid[:4] + b"\xff" * 2000 + valid[2004:]),
        ("a list of 2^31 columns in a Parquet footer", b"PAR1" + b"\x15\x04\x19\xfc\xff\xff\xff\xff\x07" + bytes(100) + struct.pack("<I", 109) + b"PAR1"),
    ):
        path = folder / "broken.parquet"
        path.write_bytes(content)
        yield what, resample(path)

    def arrow(name, batch, compression=None, file=False):
        path = folder / f"{name}.arrow"
        options = pa.ipc.IpcWriteOptions(compression=compression)
        make = pa.ipc.new_file if file else pa.ipc.new_stream
        with make(str(path), batch.schema, options=options) as writer:
            writer.write_batch(batch)
        return path

    zeros = pa.record_batch({"time": pa.array(np.zeros(5 * 10**7, "i8"), pa.timestamp("ns")), "value": pa.array(np.zeros(5 * 10**7))})
    for file in (False, True):
        kind = "file" if file else "stream"
        path = arrow(f"bomb-{kind}", zeros, "zstd", file)
        yield f"800 MB of zeros in an Arrow {kind}", resample(path)
        small = arrow(f"small-{kind}", points.slice(0, 1000).combine_chunks().to_batches()[0], None, file)
        content = bytearray(small.read_bytes())
        for what, at, new in (
            ("a message of 2 GB", 12 if file else 4, b"\xff\xff\xff\x7f"),
            ("a message of -1 bytes", 12 if file else 4, b"\xff\xff\xff\xff"),
            ("a schema of bytes 0xff", 40, b"\xff" * 100),
            ("a batch of bytes 0xff", len(content) // 2, b"\xff" * 100),
        ):
            broken = bytes(content[:at]) + new + bytes(content[at + len(new) :])
            path = folder / f"broken-{kind}.arrow"
            path.write_bytes(broken)
            # Bytes 0xff in the data are times and values that are read.
            # A file has its schema and the places of its messages at its end, too.
            yield f"Arrow {kind}: {what}" + (", long" if file or "batch" in what else ""), resample(path)
        if file:
            path.write_bytes(bytes(content[:-10]) + b"\xff\xff\xff\x7fARROW1")
            yield "an Arrow footer of 2 GB", resample(path)


def main(program, science, folder, part=""):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    rows = table(folder)
    for name, arguments in {"mri": mri, "sas": sas, "series": series}[science](program, folder):
        if part in name:
            command = [program, science, *arguments]
            if "long" in name:
                rows.row(name, command, (0, 1), seconds=None)
            else:
                rows.row(name, command, 1)
    sys.exit(1 if rows.wrong else 0)


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or sys.argv[2] not in ("mri", "sas", "series"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
