"""Times the kernel of the one-pass methods alone, from PTX files, and compares its results with NumPy's.

    python tiles.py [--methods 254,4,0] [FILE.ptx ...]

Needs a GPU, NumPy and CuPy. Without files it uses the committed PTX. 7 340 032 points 5 s apart in buckets of 35 s.
Prints microseconds per launch, from 20 launches captured in a graph: `repeated`, back to back; `flushed`, each after a
pass that reads 256 MB (`flush`), so that no results of the previous launch are left in the cache. `--methods` are sums
of count 1, sum 2, mean 4, min 8, max 16, first 32, last 64, std 128. A file whose shared memory differs from that of
`kernels-gpu/src/series/tile_block.rs` needs `--shared`. The second table of time series in docs/optimisation-log.md
was measured with this script.
"""
import argparse
import pathlib

import cupy
import numpy

POINTS, STEP = 7_340_032, 35_000_000_000
NAMES = ["count", "sum", "mean", "min", "max", "first", "last", "std"]


def definition(times, values):
    """Returns first points and indices of the buckets, and the column of every method."""
    index = times // numpy.uint64(STEP)
    first = numpy.flatnonzero(numpy.concatenate([[True], index[1:] != index[:-1]]))
    end = numpy.append(first[1:], POINTS)
    n = end - first

    def in_order(x):
        total = numpy.zeros(len(first))
        for k in range(n.max()):
            there = k < n
            total[there] += x[(first + k)[there]]
        return total

    total = in_order(values)
    mean = total / n
    squares = in_order((values - numpy.repeat(mean, n)) ** 2)
    columns = [
        n.astype(float),
        total,
        mean,
        numpy.minimum.reduceat(values, first),
        numpy.maximum.reduceat(values, first),
        values[first],
        values[end - 1],
        numpy.sqrt(squares / (n - 1.0)),
    ]
    return first, index[first], columns


def together(works):
    """Median time of the launches in microseconds, captured 20 times in a graph."""
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for work in works:
            work()
        stream.synchronize()
        stream.begin_capture()
        for _ in range(20):
            for work in works:
                work()
        graph = stream.end_capture()
        taken = []
        for _ in range(9):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            graph.launch(stream)
            end.record()
            end.synchronize()
            taken.append(1e3 * cupy.cuda.get_elapsed_time(begin, end) / 20)
    return numpy.median(taken)


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="times the tile kernel of PTX files")
    parser.add_argument("--methods", default="254,4,0")
    parser.add_argument("--blocks", type=int, default=3, help="blocks per multiprocessor")
    parser.add_argument("--shared", type=int, default=55440, help="bytes of shared memory per block")
    parser.add_argument("files", nargs="*", default=[root / "kernels-gpu/ptx/series.ptx"])
    options = parser.parse_args()

    times = numpy.arange(POINTS, dtype=numpy.uint64) * 5_000_000_000 + numpy.uint64(1_600_000_000_000_000_000)
    values = numpy.random.default_rng(1).normal(20, 5, POINTS)
    first, numbers, expected = definition(times, values)
    buckets = len(first)
    shift = (STEP - 1).bit_length()
    magic = -(-(1 << (63 + shift)) // STEP)
    tiles = -(-POINTS // 1760)
    on_device = cupy.asarray(times), cupy.asarray(values)
    flush = cupy.zeros(64 << 20, dtype=cupy.float32)

    def zeros(count, kind=numpy.uint32):
        return cupy.zeros(count, dtype=kind)

    for file in options.files:
        module = cupy.RawModule(path=str(file))
        reduce = module.get_function("series_reduce_fixed")
        reduce.max_dynamic_shared_size_bytes = options.shared
        for methods in map(int, options.methods.split(",")):
            selected = [k for k in range(8) if methods >> k & 1]
            begins = zeros(-(-POINTS // 32))
            begins[0] = 1
            of_tile = cupy.ones(tiles + 1, dtype=numpy.uint32)
            of_tile[0], of_tile[-1] = 0, 2
            offsets = cupy.asarray([0, POINTS], dtype=numpy.uint32)
            stride = (buckets + 31) // 32 * 32
            found, starts, facts = zeros(stride + 1), zeros(stride, numpy.int64), zeros(2)
            columns = cupy.full(max(1, len(selected)) * stride, -1.0)
            capacity = 1 + 2 * (-(-tiles // 64) + tiles)
            progress = zeros(capacity)
            u = numpy.uint32
            rule = numpy.uint64(STEP), numpy.uint64(magic), u(shift)
            reduces = (
                *on_device, begins, of_tile, offsets, found, starts, zeros(2), zeros(-(-POINTS // 32)), facts,
                columns, progress, u(capacity), u(POINTS), u(1), u(stride), u(0), u(stride), u(methods), *rule,
            )
            grid = min(tiles, options.blocks * cupy.cuda.Device().attributes["MultiProcessorCount"])

            def flushing():
                cupy.sum(flush, out=flushed)

            flushed = cupy.zeros((), dtype=numpy.float32)

            def reducing():
                reduce((grid,), (256,), reduces, shared_mem=options.shared)

            reducing()
            right = numpy.array_equal(found.get()[:buckets], first)
            right &= numpy.array_equal(starts.get()[:buckets], (numbers * numpy.uint64(STEP)).astype(numpy.int64))
            got = columns.get().reshape(-1, stride)[:, :buckets]
            for position, k in enumerate(selected):
                right &= numpy.array_equal(got[position], expected[k], equal_nan=True)
            verdict = "same bits" if right else "WRONG"
            row = f"{pathlib.Path(file).name:24} methods {methods:3} "
            for name, works in {
                "repeated": [reducing],
                "flush": [flushing],
                "flushed": [flushing, reducing],
            }.items():
                row += f" {name} {together(works):6.1f}"
            print(row, verdict)


if __name__ == "__main__":
    main()
