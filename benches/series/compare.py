"""Runs polars and pandas (pip install polars pandas numpy) and this project's aggregation on the same points,
alternately.

    python compare.py PATH/TO/series_cpu [--rounds N] [--repeats N] [--threads N ...] [CASE ...]

Ten aggregates of one series of 7 340 032 points: count, sum, mean, min, max, first, last, std, median, 95pct. Every
round starts each program anew for each number of threads. A time is the minimum over all repeats of all rounds; the
number in brackets is the minimum processor time, which is more reliable when the computer is shared. polars
computes the ten in one query, once with group_by_dynamic and once with group_by of the truncated times; pandas, which
is single-threaded, in one resample. Finally the sums of the columns are compared with ours.
"""

import argparse
import json
import os
import subprocess
import sys
import time

POINTS = 7 * 2**20
BEGIN = 1_428_102_660 * 10**9
# (noise, uneven, bucket length in seconds), like CASES in series_cpu.rs.
CASES = {
    "index": (False, False, 35),
    "noise": (True, False, 35),
    "uneven": (True, True, 35),
    "days": (True, False, 86_400),
}
NAMES = "count sum mean min max first last std median 95pct".split()


def points(case):
    """Times (ns) and values, like `batch` in series_cpu.rs."""
    import numpy as np

    noise, uneven, _ = CASES[case]
    i = np.arange(POINTS, dtype=np.float64)
    values = 100.0 * np.modf((i + 1) * 0.6180339887498949)[0] if noise else i
    gaps = np.full(POINTS, 5 * 10**9)
    if uneven:
        gaps = 1 + (1e10 * np.modf((i + 1) * 0.7548776662466928)[0]).astype(np.int64)
    times = BEGIN + np.concatenate([[0], np.cumsum(gaps)[:-1]])
    return times, values


def polars_query(case, dynamic):
    import polars as pl

    times, values = points(case)
    frame = pl.DataFrame({"t": times, "v": values}).with_columns(pl.col("t").cast(pl.Datetime("ns")))
    frame = frame.with_columns(pl.col("t").set_sorted())
    v = pl.col("v")
    ten = [
        v.count().alias("count"),
        v.sum().alias("sum"),
        v.mean().alias("mean"),
        v.min().alias("min"),
        v.max().alias("max"),
        v.first().alias("first"),
        v.last().alias("last"),
        v.std().alias("std"),
        v.median().alias("median"),
        v.quantile(0.95, "linear").alias("95pct"),
    ]
    every = f"{CASES[case][2]}s"
    if dynamic:
        query = frame.lazy().group_by_dynamic("t", every=every).agg(ten)
    else:
        query = frame.lazy().group_by(pl.col("t").dt.truncate(every)).agg(ten)
    return query.collect, lambda result: ([result[name].sum() for name in NAMES], result.height)


def pandas_query(case):
    import pandas as pd

    times, values = points(case)
    series = pd.Series(values, index=pd.DatetimeIndex(times.view("M8[ns]")))
    every = f"{CASES[case][2]}s"

    def run():
        groups = series.resample(every, origin="epoch")
        result = groups.agg(NAMES[:-1])
        result["95pct"] = groups.quantile(0.95)
        return result

    def sums(result):
        # pandas also returns buckets without points.
        result = result[result["count"] > 0]
        return [float(result[name].sum()) for name in NAMES], len(result)

    return run, sums


def work(who, case, repeats):
    """Runs in its own process: prints least time and processor time in ms, number of buckets, sums of columns."""
    run, sums = pandas_query(case) if who == "pandas" else polars_query(case, who == "polars dynamic")
    best = busy = float("inf")
    for _ in range(repeats):
        start, before = time.perf_counter(), time.process_time()
        result = run()
        best = min(best, 1e3 * (time.perf_counter() - start))
        busy = min(busy, 1e3 * (time.process_time() - before))
    sums, buckets = sums(result)
    print(json.dumps([best, busy, buckets, sums]))


def ours(program, case, threads, repeats):
    command = [program, "--plain", "--threads", str(threads), "--repeats", str(repeats), case]
    numbers = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return [float(numbers[0]), float(numbers[1]), int(numbers[2]), [float(number) for number in numbers[3:]]]


def theirs(who, case, threads, repeats):
    command = [sys.executable, __file__, "--worker", who, "--repeats", str(repeats), "-", case]
    environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*", default=[])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--worker")
    options = parser.parse_intermixed_args()
    if options.worker:
        return work(options.worker, options.cases[0], options.repeats)

    import pandas
    import polars

    print(f"{POINTS} points, ten methods; polars {polars.__version__}, pandas {pandas.__version__}")
    print(f"minima of {options.rounds} rounds of {options.repeats}, ms (processor time)")
    print("case    threads  buckets |         warpstride     polars dynamic    polars group_by             pandas | sums differ by")
    who = ["warpstride", "polars dynamic", "polars group_by", "pandas"]
    for case in options.cases or CASES:
        for threads in options.threads:
            results = {}
            for _ in range(options.rounds):
                for name in who:
                    if name == "warpstride":
                        result = ours(options.program, case, threads, options.repeats)
                    else:
                        result = theirs(name, case, threads, options.repeats)
                    if name in results:
                        result[:2] = map(min, result[:2], results[name][:2])
                    results[name] = result
            _, _, buckets, sums = results["warpstride"]
            worst, where = max(
                (abs(a - b) / abs(a), f"{column} of {name}")
                for name in who[1:]
                for column, a, b in zip(NAMES, sums, results[name][3])
            )
            assert all(results[name][2] == buckets for name in who), results
            times = "".join(f"{results[name][0]:9.1f} ({results[name][1]:7.1f})" for name in who)
            print(f"{case:7} {threads:7} {buckets:8} |{times} | {worst:.1e} ({where})", flush=True)


main()
