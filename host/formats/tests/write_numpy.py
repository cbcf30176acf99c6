"""Writes small NumPy arrays, for `numpy.rs`.

    python3 write_numpy.py vectors/numpy

Element n of an array is (n * 7 + n // 5) % 251 - offset, offset 100 for signed and floating types; of truth values, whether that is
above 100.
"""

import sys
from pathlib import Path

import numpy

folder = Path(sys.argv[1])


def array(dtype, *shape):
    n = numpy.arange(numpy.prod(shape))
    offset = 0 if numpy.dtype(dtype).kind == "u" else 100
    values = (n * 7 + n // 5) % 251 - offset
    return (values // 2 if dtype == "i1" else values).astype(dtype).reshape(shape)


for dtype in ["u1", "i1", "<u2", ">u2", "<i2", "<u4", ">i4", "<i8", "<f4", ">f4", "<f8"]:
    name = dtype.replace("<", "le-").replace(">", "be-")
    numpy.save(folder / f"{name}.npy", array(dtype, 3, 4, 5))
numpy.save(folder / "le-u8.npy", array("<u8", 3, 4, 5))
numpy.save(folder / "be-f2.npy", array(">f2", 3, 4, 5))
numpy.save(folder / "bool.npy", array("u1", 3, 4, 5) > 100)
numpy.save(folder / "largest.npy", numpy.array([[[0, 2**24 + 1, 2**63, 2**64 - 1]]], "u8"))
numpy.savez(folder / "plane.npz", mask=numpy.asfortranarray(array("u1", 4, 5) > 100), energy=8000.0)
numpy.save(folder / "rank-4.npy", array("<u2", 2, 3, 4, 5))
numpy.save(folder / "rank-2.npy", array("<u2", 4, 5))
numpy.save(folder / "fortran.npy", numpy.asfortranarray(array("<u2", 3, 4, 5)))
numpy.save(folder / "complex.npy", array("<f4", 3, 4, 5).astype("c8"))
others = {"positions": array("<f8", 6, 2), "name": numpy.array("a scan")}
numpy.savez(folder / "stored.npz", frames=array("<u2", 6, 4, 5), **others)
numpy.savez_compressed(folder / "compressed.npz", frames=array("<u2", 2, 3, 4, 5), **others)
numpy.savez(folder / "two.npz", first=array("<u2", 6, 4, 5), second=array("<f4", 3, 4, 5))
numpy.savez_compressed(folder / "fortran.npz", frames=numpy.asfortranarray(array("<u2", 2, 3, 4, 5)))
