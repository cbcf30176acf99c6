"""Times the launches that leave at once where no bucket is long, of the committed PTX, by their number of blocks.

    python leaving.py [FILE.ptx]

Needs a GPU, NumPy and CuPy. Microseconds of one of 20 launches recorded in a graph: of `series_reduce_long`, and of that
and `series_deviations`. Figures of docs/optimisation-log.md are of this.
"""
import pathlib
import sys

import cupy
import numpy

from tiles import POINTS, together

BUCKETS = 1_048_608


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    file = sys.argv[1] if len(sys.argv) > 1 else root / "kernels-gpu/ptx/warpstride_sm90.ptx"
    module = cupy.RawModule(path=str(file))
    long, deviations = (module.get_function(name) for name in ["series_reduce_long", "series_deviations"])
    u = numpy.uint32

    def zeros(count, kind=u):
        return cupy.zeros(count, dtype=kind)

    # No bucket has more than eight points: nothing but `facts` and `progress` is touched.
    points = zeros(1), zeros(BUCKETS + 1), zeros(POINTS // 32), cupy.asarray([BUCKETS, 8], dtype=u), zeros(8)
    progress = zeros(4300)
    partial = zeros(1, float), zeros(2, numpy.uint64), zeros(1)
    sizes = u(POINTS), u(BUCKETS), u(0), u(BUCKETS), u(254)
    for blocks in [66, 132, 264, 528, 896]:

        def one():
            long((blocks,), (256,), (*points, progress, *partial, *sizes))

        def other():
            deviations((blocks,), (256,), (*points, *partial, *sizes))

        print(f"{blocks:4} blocks: {together([one]):5.2f} us, both {together([one, other]):5.2f} us")


if __name__ == "__main__":
    main()
