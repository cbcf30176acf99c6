"""Aggregate a noisy series over buckets of time, and draw mean and percentiles.

    python time_series.py -o time_series.png
"""

import argparse

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot

import warpstride as ws


def main(arguments=None):
    """Write the picture; return the number of hours."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", default="time_series.png")
    parser.add_argument("--small", action="store_true", help="few points, for tests")
    options = parser.parse_args(arguments)
    days, each = (2, 20) if options.small else (7, 600)

    random = np.random.default_rng(1)
    count = days * 24 * each
    seconds = np.sort(random.uniform(0, days * 86400, count))
    times = np.datetime64("2026-03-01", "ns") + (1e9 * seconds).astype("timedelta64[ns]")
    load = 2 + np.sin(2 * np.pi * seconds / 86400) + random.gamma(1.0, 0.5, count)
    # A table of polars, pandas, pyarrow or duckdb does as well.
    points = ws.series.table(times, load)
    tables = ws.series.resample(points, ["1h", "1d"], ["mean", "5pct", "95pct"])

    figure, axis = pyplot.subplots(figsize=(8, 3), layout="constrained")
    hours, day = tables["1h"], tables["1d"]
    axis.fill_between(hours["time"], hours["5pct"], hours["95pct"], alpha=0.3, label="5 % to 95 % of an hour")
    axis.plot(hours["time"], hours["mean"], label="mean of an hour")
    axis.step(day["time"], day["mean"], where="post", label="mean of a day")
    axis.legend(loc="upper right", ncols=3)
    figure.savefig(options.output, dpi=80)
    return len(hours)


if __name__ == "__main__":
    print(f"{main()} hours")
