"""Writes small TIFF stacks with tifffile, for `tiff.rs`.

    python3 write_tiff.py vectors

Pixel (frame, row, column) is (frame * 131 + row * 17 + column * 3) % 251 - offset, offset 125 for signed and floating types.
"""

import sys
from pathlib import Path

import numpy
import tifffile

STACKS = [
    # name, type, rows, columns, options
    ("u8", "u1", 13, 21, {}),
    ("u16-big-endian", "u2", 13, 21, {"byteorder": ">"}),
    ("u32-deflate-strips", "u4", 40, 21, {"compression": "zlib", "rowsperstrip": 7}),
    ("i16-lzw", "i2", 13, 21, {"compression": "lzw"}),
    ("i32-tiles", "i4", 40, 50, {"tile": (16, 32)}),
    ("i8", "i1", 13, 21, {}),
    ("f32-tiles-deflate", "f4", 40, 50, {"tile": (16, 16), "compression": "zlib", "predictor": True}),
    ("f64", "f8", 13, 21, {}),
    ("u16-predictor", "u2", 13, 21, {"compression": "zlib", "predictor": True}),
    ("u16-zstd", "u2", 13, 21, {"compression": "zstd"}),
    ("u8-packbits", "u1", 13, 21, {"compression": "packbits"}),
]

folder = Path(sys.argv[1])
for name, dtype, rows, columns, options in STACKS:
    frame, row, column = numpy.mgrid[:3, :rows, :columns]
    offset = 0 if dtype[0] == "u" else 125
    data = ((frame * 131 + row * 17 + column * 3) % 251 - offset).astype(dtype)
    options = dict(options)
    byteorder = options.pop("byteorder", "<")
    bigtiff = name == "f64"
    with tifffile.TiffWriter(folder / f"{name}.tif", byteorder=byteorder, bigtiff=bigtiff) as file:
        for image in data:
            file.write(image, photometric="minisblack", metadata=None, contiguous=False, **options)
# As ImageJ writes stacks of more than 4 GB: one image, and the frames behind it.
tifffile.imwrite(folder / "imagej.tif", numpy.zeros((5, 7), "u2"), description="ImageJ=1.54f\nimages=3\nslices=3\n", metadata=None)
with tifffile.TiffWriter(folder / "different.tif") as file:
    file.write(numpy.zeros((5, 7), "u2"), metadata=None)
    file.write(numpy.zeros((5, 8), "u2"), metadata=None)
tifffile.imwrite(folder / "colour.tif", numpy.zeros((5, 7, 3), "u1"), photometric="rgb", metadata=None)
