"""Writes Merlin files from formulas, reads them with rosettasciio and LiberTEM, and writes checksums of what they read.

    python3 write_merlin.py vectors/merlin.txt [FOLDER FOR THE FILES]

A line of the table: name, chips, columns, rows, pixels, layout, counter depth and frames of a file; CRC-32 of the file; reader;
CRC-32 of its array (frame, row, column) as little-endian 32-bit integers, the last stored row first.
`merlin.rs` writes the same files and compares. Only numpy and what the readers need is imported.
"""

import logging
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import numpy

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

FILES = [
    # name, chips, columns, rows, pixels, layout, depth, frames
    ("single-u8", 1, 256, 256, "U08", "1x1", 6, 3),
    ("single-u16", 1, 256, 256, "U16", "1x1", 12, 2),
    ("single-u32", 1, 256, 256, "U32", "1x1", 24, 2),
    ("region-u16", 1, 256, 37, "U16", "1x1", 12, 5),
    ("quad-u8", 4, 512, 512, "U08", "2x2", 6, 2),
    ("quad-u16", 4, 512, 512, "U16", "2x2", 12, 1),
    ("quad-u32", 4, 512, 512, "U32", "2x2", 24, 1),
    ("gaps-u16", 4, 514, 514, "U16", "2x2G", 12, 2),
    ("gaps-u32", 4, 515, 515, "U32", "2x2G", 24, 1),
    ("raw-1", 1, 256, 256, "R64", "1x1", 1, 3),
    ("raw-6", 1, 256, 256, "R64", "1x1", 6, 2),
    ("raw-12", 1, 256, 256, "R64", "1x1", 12, 2),
    ("raw-24", 1, 512, 256, "R64", "1x1", 24, 1),
    ("raw-region-12", 1, 256, 64, "R64", "1x1", 12, 3),
    ("raw-region-6", 1, 256, 8, "R64", "1x1", 6, 4),
    ("raw-quad-1", 4, 1024, 256, "R64", "2x2", 1, 2),
    ("raw-quad-6", 4, 1024, 256, "R64", "2x2", 6, 2),
    ("raw-quad-12", 4, 1024, 256, "R64", "2x2", 12, 2),
    ("raw-quad-gaps-6", 4, 1024, 256, "R64", "2x2G", 6, 1),
    ("raw-quad-gaps-12", 4, 1024, 256, "R64", "2x2G", 12, 1),
]


def header(sequence, chips, columns, rows, pixels, layout, depth):
    length = {1: 384, 4: 768}[chips]
    chip = "3RX" + ",100" * 27
    text = (
        f"MQ1,{sequence:06},{length:05},{chips:02},{columns:04},{rows:04},{pixels},{layout:>6},{(1 << chips) - 1:02X},"
        f"2021-05-07 18:51:10.{sequence:06},0.001000,0,0,0" + ",1.000000E+1" * 8 + f",{chip}" * chips
        + f",MQ1A,2021-05-07T16:51:10.{sequence:09}Z,1000000ns,{depth},"
    )
    return text.encode().ljust(length, b"\0")


def payload(seed, chips, columns, rows, pixels, layout, depth):
    """Stored values in their order, from a linear congruential generator."""
    bits = {"U08": 8, "U16": 16, "U32": 32, "R64": {1: 1, 6: 8, 12: 16, 24: 16}[depth]}[pixels]
    count = columns * rows
    item = numpy.dtype({1: "u1", 8: "u1", 16: ">u2", 32: ">u4"}[bits])
    greatest = 255 if bits == 1 else (1 << min(depth, 12 if pixels == "R64" else 24)) - 1
    values, state = numpy.empty(count * bits // (8 * item.itemsize), item), seed
    for i in range(len(values)):
        state = (state * 1103515245 + 12345) % (1 << 31)
        values[i] = state >> 5 & greatest
    return values.tobytes()


def rosettasciio(path, frames):
    from rsciio.quantumdetector import file_reader

    data = numpy.asarray(file_reader(path, navigation_shape=(frames,) if frames > 1 else None)[0]["data"])
    return data.reshape(-1, *data.shape[-2:])


def libertem(path, frames):
    import libertem.api
    from libertem.common import Shape
    from libertem.io.dataset.base import TilingScheme

    context = libertem.api.Context.make_with("inline")
    dataset = context.load("mib", path=path, nav_shape=(frames,), disable_glob=True)
    scheme = TilingScheme.make_for_shape(
        tileshape=Shape((1, *dataset.shape.sig), sig_dims=2), dataset_shape=dataset.shape
    )
    tiles = [
        numpy.array(tile.data)
        for partition in dataset.get_partitions()
        for tile in partition.get_tiles(scheme, dest_dtype="uint32")
    ]
    # LiberTEM returns rows as they are stored.
    return numpy.concatenate(tiles)[:, ::-1]


def main(table, folder):
    lines = []
    for n, (name, *parameters, frames) in enumerate(FILES):
        path = Path(folder) / f"{name}.mib"
        content = b"".join(
            header(frame + 1, *parameters) + payload(1000 * n + frame, *parameters) for frame in range(frames)
        )
        path.write_bytes(content)
        read = 0
        for reader in [rosettasciio, libertem]:
            try:
                array = reader(str(path), frames)
            except Exception as error:
                print(f"{name}: {reader.__name__} does not read it: {type(error).__name__} {str(error)[:90]}")
                continue
            checksum = zlib.crc32(numpy.ascontiguousarray(array).astype("<u4").tobytes())
            lines.append([name, *parameters, frames, zlib.crc32(content), reader.__name__, checksum])
            read += 1
        if not read:
            lines.append([name, *parameters, frames, zlib.crc32(content), "none", 0])
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    Path(table).write_text(text)


if len(sys.argv) > 2:
    main(sys.argv[1], sys.argv[2])
else:
    with tempfile.TemporaryDirectory() as folder:
        main(sys.argv[1], folder)
