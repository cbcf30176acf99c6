"""Writes filtered.h5: the same numbers with the filters that detectors and programs use.

    pip install h5py hdf5plugin numpy
    python3 write_filtered.py

Of each dataset /NAME the plain numbers are /plain/NAME. The library of the tests has none of these filters.
"""

import h5py
import hdf5plugin
import numpy

counts = numpy.fromfunction(lambda n, r, c: (n * 7919 + r * 131 + c * 17) % 1009 // 40, (6, 11, 13), dtype=int)
unusual = counts.astype("u4")
unusual[2, 3, 4] = 2**32 - 1

CASES = {
    "bitshuffle_lz4": (unusual, "u4", (1, 11, 13), hdf5plugin.Bitshuffle(cname="lz4")),
    "bitshuffle_zstd": (unusual, "u4", (2, 5, 13), hdf5plugin.Bitshuffle(cname="zstd")),
    "bitshuffle": (counts, "u2", (4, 4, 4), hdf5plugin.Bitshuffle(cname="none")),
    "lz4": (counts, "i2", (6, 11, 13), hdf5plugin.LZ4()),
    "zstd": (counts, "f8", (1, 11, 7), hdf5plugin.Zstd()),
    "blosc": (counts, "f4", (3, 3, 13), hdf5plugin.Blosc(cname="lz4")),
    "blosc2": (counts, "i8", (6, 1, 13), hdf5plugin.Blosc2(cname="zstd")),
    "lzf": (counts, "u1", (5, 11, 13), {"compression": "lzf", "shuffle": True, "fletcher32": True}),
    "big_endian": (unusual, ">u4", (1, 11, 13), {"compression": "lzf"}),
    "boolean": (counts > 3, "?", (2, 11, 13), {"compression": "lzf"}),
    "complex": (counts * (1 - 2j), "c8", (2, 11, 13), {"compression": "lzf"}),
}

with h5py.File("filtered.h5", "w", userblock_size=512) as file:
    for name, (numbers, kind, chunks, filters) in CASES.items():
        numbers = numbers.astype(kind)
        file.create_dataset(name, data=numbers, chunks=chunks, **dict(filters))
        file.create_dataset(f"plain/{name}", data=numbers)
    # Two of three chunks are not there.
    with_gaps = file.create_dataset("gaps", (6, 11, 13), "u4", chunks=(2, 11, 13), fillvalue=7, compression="lzf")
    with_gaps[2:4] = unusual[2:4]
    expected = numpy.full((6, 11, 13), 7, "u4")
    expected[2:4] = unusual[2:4]
    file.create_dataset("plain/gaps", data=expected)
