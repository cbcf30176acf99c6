"""Measures how fast h5py and hdf5plugin read counts, and writes the same chunks as records for `bitshuffle_speed`.

    python3 speed.py RECORDS [bitshuffle|zstd|lzf|blosc]
"""

import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

import h5py
import hdf5plugin
import numpy

FILTERS = {
    "bitshuffle": hdf5plugin.Bitshuffle(cname="lz4"),
    "zstd": hdf5plugin.Bitshuffle(cname="zstd"),
    "lzf": {"shuffle": True, "compression": "lzf"},
    "blosc": hdf5plugin.Blosc(cname="lz4", shuffle=1),
    "blosc2": hdf5plugin.Blosc2(cname="lz4", filters=1),
}

# Poisson counts of 64 frames of a detector of a million pixels, as DECTRIS writes them: a frame a chunk.
rng = numpy.random.default_rng(1)
y, x = numpy.mgrid[-512:512, -512:512]
mean = 300 * numpy.exp(-numpy.hypot(y, x) / 60)
frames = rng.poisson(mean, (64, 1024, 1024)).astype("u4")

with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
    path = Path(folder) / "counts.h5"
    with h5py.File(path, "w") as file:
        create = dict(FILTERS[sys.argv[2] if len(sys.argv) > 2 else "bitshuffle"])
        file.create_dataset("d", data=frames, chunks=(1, 1024, 1024), **create)
    with h5py.File(path, "r") as file:
        dataset = file["d"]
        out = numpy.empty_like(frames)
        for _ in range(5):
            start = time.perf_counter()
            dataset.read_direct(out)
            seconds = time.perf_counter() - start
            print(f"h5py + hdf5plugin: {frames.nbytes / seconds / 1e9:.2f} GB/s decoded, ratio {frames.nbytes / path.stat().st_size:.1f}")
        plist = dataset.id.get_create_plist()
        filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        with open(sys.argv[1], "wb") as records:
            for n, frame in enumerate(frames):
                mask, raw = dataset.id.read_direct_chunk((n, 0, 0))
                records.write(struct.pack("<H4I", 0, 4, frame.nbytes, mask, len(filters)))
                for code, flags, values, _ in filters:
                    records.write(struct.pack(f"<3I{len(values)}I", code, flags & 1, len(values), *values))
                records.write(struct.pack("<I", len(raw)) + raw + struct.pack("<I", zlib.crc32(frame.tobytes())))
