"""Writes the test vectors of HDF5 filters: chunks as h5py and hdf5plugin store them, with checksums of what they decode.

    python3 write_vectors.py vectors

All data are from formulas. A file has records, in which all numbers are little-endian:

    u16 length of the name, name; u32 element size; u32 decoded size; u32 filter mask; u32 number of filters;
    for each filter u32 identifier, u32 optional, u32 number of parameters, u32 parameters;
    u32 stored size, stored bytes; u32 CRC-32 of the decoded bytes
"""

import io
import struct
import sys
import zlib
from pathlib import Path

import h5py
import hdf5plugin
import numpy


def counts(dtype, n):
    """Small counts with some large ones, as detectors have them."""
    i = numpy.arange(n, dtype=numpy.uint64)
    values = (i * i * 7 + i // 3) % 23 // (1 + i // 5 % 9)
    values = numpy.where(i % 211 == 3, i * 2654435761 % (1 << 62), values)
    if numpy.dtype(dtype).kind == "f":
        return (values % 100000).astype(dtype) / 8
    return values.astype(dtype)


def sparse(dtype, n):
    """Few counts among zeros, for chunks with several blocks."""
    i = numpy.arange(n, dtype=numpy.uint64)
    return numpy.where(i * i % 4001 == 16, i % 7 + 1, 0).astype(dtype)


def noise(dtype, n):
    """Bytes that cannot be compressed (a linear congruential generator)."""
    state, bytes_ = 12345, bytearray()
    for _ in range(n * numpy.dtype(dtype).itemsize):
        state = (state * 1103515245 + 12345) % (1 << 31)
        bytes_.append(state >> 16 & 255)
    return numpy.frombuffer(bytes(bytes_), dtype)


def periodic(dtype, n, period=9000):
    """Noise that repeats at a large distance."""
    return numpy.tile(noise(dtype, period), -(-n // period))[:n]


def record(name, data, create, mask=None, stored=None):
    """A chunk of a dataset with the filters of `create`."""
    image = io.BytesIO()
    with h5py.File(image, "w") as file:
        dataset = file.create_dataset("d", data.shape, data.dtype, chunks=data.shape, **create)
        if mask is None:
            dataset[...] = data
        else:
            dataset.id.write_direct_chunk((0,) * data.ndim, stored, mask)
    with h5py.File(image, "r") as file:
        dataset = file["d"]
        decoded = dataset[...]
        assert decoded.tobytes() == data.tobytes(), name
        mask, raw = dataset.id.read_direct_chunk((0,) * data.ndim)
        plist = dataset.id.get_create_plist()
        filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
    out = struct.pack("<H", len(name)) + name.encode()
    out += struct.pack("<4I", data.dtype.itemsize, data.nbytes, mask, len(filters))
    for code, flags, values, _ in filters:
        out += struct.pack(f"<3I{len(values)}I", code, flags & 1, len(values), *values)
    out += struct.pack("<I", len(raw)) + raw + struct.pack("<I", zlib.crc32(decoded.tobytes()))
    print(f"{name:48} mask {mask} {data.nbytes:7} -> {len(raw):6}  {[(f[0], f[2]) for f in filters]}")
    return out


SIZES = ["u1", "u2", "u4", "u8"]


def bitshuffle():
    for cname in ["none", "lz4", "zstd"]:
        for dtype in SIZES:
            for n in [5, 64, 1003]:
                yield f"{cname} {dtype} {n}", counts(dtype, n), hdf5plugin.Bitshuffle(cname=cname)
        yield f"{cname} blocks of 64", counts("u4", 1003), hdf5plugin.Bitshuffle(nelems=64, cname=cname)
        yield f"{cname} noise", noise("u2", 600), hdf5plugin.Bitshuffle(nelems=128, cname=cname)
    yield "lz4 several blocks", counts("u4", 6157), hdf5plugin.Bitshuffle(cname="lz4")
    yield "lz4 f4", counts("f4", 1003), hdf5plugin.Bitshuffle(cname="lz4")
    complex_ = counts("f8", 600).view("c16")
    yield "lz4 c16", complex_, hdf5plugin.Bitshuffle(cname="lz4")
    three = numpy.frombuffer(counts("u1", 3 * 333).tobytes(), "V3")
    yield "lz4 V3", three, hdf5plugin.Bitshuffle(cname="lz4")
    yield "zstd rank 3", counts("u2", 3 * 17 * 19).reshape(3, 17, 19), hdf5plugin.Bitshuffle(cname="zstd")


def lz4():
    for dtype in SIZES:
        yield f"{dtype}", counts(dtype, 1003), hdf5plugin.LZ4()
    yield "blocks of 1000 bytes", counts("u4", 1003), hdf5plugin.LZ4(nbytes=1000)
    yield "noise", noise("u1", 1500), hdf5plugin.LZ4(nbytes=700)
    yield "one element", counts("u4", 1), hdf5plugin.LZ4()


def zstd():
    for dtype in SIZES:
        yield f"{dtype}", counts(dtype, 1003), hdf5plugin.Zstd(clevel=5)
    yield "noise", noise("u1", 1500), hdf5plugin.Zstd()


def blosc():
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for shuffle in [0, 1, 2]:
            for dtype, n in [("u1", 3001), ("u2", 1003), ("u4", 1000), ("u8", 517)]:
                yield f"{cname} {shuffle} {dtype} {n}", counts(dtype, n), hdf5plugin.Blosc(cname=cname, clevel=5, shuffle=shuffle)
        yield f"{cname} several blocks", sparse("u2", 150011), hdf5plugin.Blosc(cname=cname, clevel=1, shuffle=1)
        yield f"{cname} blocks of bits", sparse("u4", 60012), hdf5plugin.Blosc(cname=cname, clevel=1, shuffle=2)
    yield "noise", noise("u4", 300), hdf5plugin.Blosc(shuffle=1)
    yield "blosclz period", periodic("u1", 20000), hdf5plugin.Blosc(cname="blosclz", clevel=9, shuffle=0)
    yield "blosclz zeros", numpy.zeros(70000, "u4"), hdf5plugin.Blosc(cname="blosclz", clevel=9, shuffle=1)


def blosc2():
    for cname in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
        for filters in [0, 1, 2]:
            for dtype, n in [("u1", 3001), ("u2", 1003), ("u4", 1000), ("u8", 517)]:
                yield f"{cname} {filters} {dtype} {n}", counts(dtype, n), hdf5plugin.Blosc2(cname=cname, clevel=5, filters=filters)
        yield f"{cname} several blocks", sparse("u2", 150011), hdf5plugin.Blosc2(cname=cname, clevel=1, filters=1)
        yield f"{cname} blocks of bits", sparse("u4", 60013), hdf5plugin.Blosc2(cname=cname, clevel=1, filters=2)
    yield "noise", noise("u4", 300), hdf5plugin.Blosc2(filters=1)
    yield "delta", counts("u4", 3003), hdf5plugin.Blosc2(cname="lz4", filters=hdf5plugin.Blosc2.DELTA)
    yield "delta several blocks", sparse("u2", 150011), hdf5plugin.Blosc2(cname="lz4", clevel=1, filters=hdf5plugin.Blosc2.DELTA)
    yield "zeros", numpy.zeros(3000, "u4"), hdf5plugin.Blosc2(filters=1)
    yield "lz4 runs", counts("u2", 3003) % 200 + numpy.uint16(0x700), hdf5plugin.Blosc2(cname="lz4", filters=1)
    yield "zstd runs", counts("u4", 3003) % 200 + numpy.uint32(0x01020300), hdf5plugin.Blosc2(cname="zstd", filters=1)
    yield "ones", numpy.ones(3000, "u4"), hdf5plugin.Blosc2(filters=1)
    yield "rank 2", counts("u2", 37 * 41).reshape(37, 41), hdf5plugin.Blosc2(cname="lz4", filters=1)
    yield "rank 3", counts("u4", 3 * 37 * 41).reshape(3, 37, 41), hdf5plugin.Blosc2(cname="zstd", filters=2)
    yield "rank 3 blocks", sparse("u2", 5 * 170 * 150).reshape(5, 170, 150), hdf5plugin.Blosc2(cname="lz4", clevel=1, filters=1)
    yield "rank 2 blocks", sparse("u4", 410 * 333).reshape(410, 333), hdf5plugin.Blosc2(cname="zstd", clevel=1, filters=2)
    yield "rank 2 delta", sparse("u4", 410 * 333).reshape(410, 333), hdf5plugin.Blosc2(cname="lz4", clevel=1, filters=hdf5plugin.Blosc2.DELTA)
    yield "rank 4", sparse("u1", 3 * 5 * 70 * 61).reshape(3, 5, 70, 61), hdf5plugin.Blosc2(cname="lz4", clevel=1, filters=1)


def builtin():
    for dtype in SIZES:
        data = counts(dtype, 1003)
        yield f"lzf {dtype}", data, {"compression": "lzf"}
        yield f"deflate {dtype}", data, {"compression": "gzip"}
        yield f"shuffle {dtype}", data, {"shuffle": True}
        yield f"fletcher32 {dtype}", data, {"fletcher32": True}
        yield f"shuffle lzf {dtype}", data, {"shuffle": True, "compression": "lzf"}
        yield f"shuffle deflate fletcher32 {dtype}", data, {"shuffle": True, "compression": "gzip", "fletcher32": True}
    yield "lzf noise, not compressed", noise("u1", 500), {"compression": "lzf"}
    yield "lzf period", periodic("u1", 9000, 4000), {"compression": "lzf"}
    yield "lzf zeros", numpy.zeros(5000, "u1"), {"compression": "lzf"}
    yield "deflate noise", noise("u1", 500), {"compression": "gzip", "fletcher32": True}


def masks():
    data = counts("u4", 203)
    both = {"shuffle": True, "compression": "gzip", "compression_opts": 6}
    shuffled = numpy.frombuffer(data.tobytes(), "u1").reshape(-1, 4).T.tobytes()
    yield "no filter skipped", data, both, 0, zlib.compress(shuffled)
    yield "shuffle skipped", data, both, 1, zlib.compress(data.tobytes())
    yield "deflate skipped", data, both, 2, shuffled
    yield "both skipped", data, both, 3, data.tobytes()
    yield "bitshuffle skipped", data, dict(hdf5plugin.Bitshuffle()), 1, data.tobytes()


def main(folder):
    for write in [bitshuffle, lz4, zstd, blosc, blosc2, builtin]:
        records = [record(name, data, dict(create)) for name, data, create in write()]
        (folder / f"{write.__name__}.bin").write_bytes(b"".join(records))
    records = [record(name, data, create, mask, stored) for name, data, create, mask, stored in masks()]
    (folder / "masks.bin").write_bytes(b"".join(records))


main(Path(sys.argv[1]))
