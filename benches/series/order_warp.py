#!/usr/bin/env python3
"""Times the kernel of order statistics of buckets of 33 to 512 points alone, from PTX files, and compares its results
with NumPy's and, bit by bit, between the files.

    python order_warp.py [FILE.ptx ...]

Needs a GPU, NumPy and CuPy. Without files it uses the committed PTX. 7 340 032 points in buckets of equal length, two
queries: the median and the number of distinct values. Prints microseconds per launch, each the median of nine graphs
of 20 launches; the files run in turn, three times.
"""
import argparse
import pathlib

import cupy
import numpy

from tiles import POINTS, together

# `OrderQuery` of kernels-gpu/src/series/order_query.rs, and two of its kinds.
QUERY = numpy.dtype([("percent", numpy.float64), ("kind", numpy.uint32), ("column", numpy.uint32)])
MEDIAN, NUNIQUE = 1, 2


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="times series_order_warp of PTX files")
    parser.add_argument("files", nargs="*", default=[root / "kernels-gpu/ptx/series.ptx"])
    options = parser.parse_args()
    kernels = [cupy.RawModule(path=str(file)).get_function("series_order_warp") for file in options.files]

    # Rounded, so that values repeat.
    values = numpy.round(numpy.random.default_rng(1).normal(20, 5, POINTS), 1)
    on_device = cupy.asarray(values)
    queries = numpy.array([(0, MEDIAN, 0), (0, NUNIQUE, 1)], dtype=QUERY)
    wanted = cupy.asarray(queries.view(numpy.uint8))
    u = numpy.uint32
    for length in [33, 64, 100, 128, 200, 256, 400, 512]:
        buckets = POINTS // length
        points = buckets * length
        first = cupy.arange(0, points + 1, length, dtype=numpy.uint32)
        covering = (cupy.arange(0, points, 32) // length).astype(numpy.uint32)
        facts = cupy.asarray([buckets, length], dtype=numpy.uint32)
        rows = values[:points].reshape(buckets, length)
        ordered = numpy.sort(rows, axis=1)
        distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
        expected = numpy.stack([numpy.median(rows, axis=1), distinct.astype(float)])
        grid = -(-points // (256 * 4))
        works, columns, right = [], [], True
        for kernel in kernels:
            out = cupy.full((2, buckets), -1.0)
            arguments = (
                on_device, first, covering, facts, wanted, out, u(points), u(buckets), u(2), u(2), u(buckets),
            )
            works.append(lambda kernel=kernel, arguments=arguments: kernel((grid,), (128,), arguments))
            works[-1]()
            columns.append(out.get())
            right &= numpy.allclose(columns[-1], expected, rtol=1e-15, atol=0)
            right &= columns[-1].tobytes() == columns[0].tobytes()
        taken = numpy.array([[together([work]) for work in works] for _ in range(3)])
        row = "  ".join(
            f"{pathlib.Path(file).name} {' '.join(f'{t:7.1f}' for t in taken[:, k])}"
            for k, file in enumerate(options.files)
        )
        print(f"buckets of {length:3}: {row}  {'same values' if right else 'WRONG'}", flush=True)


if __name__ == "__main__":
    main()
