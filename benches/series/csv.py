"""Times `warpstride series resample` from CSV to CSV on files of 100 MB.

    python csv.py WARPSTRIDE [--repeats 5]

Needs NumPy. `one`: one series with a point every 5 s; `many`: 100 interleaved series. Prints megabytes of input per
second of wall time for the whole run of the program, best and median of the repeats.
"""
import argparse
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy

BYTES = 100_000_000
CASES = [("mean,max", "1m"), ("count,sum,mean,min,max,first,last,std,median,95pct", "1h"), ("all", "1m")]


def write(path, series):
    """Writes rows until the file has 100 MB. Returns their number."""
    random = numpy.random.default_rng(series)
    begin, row, chunk = 1_428_102_660, 0, 100_000
    with open(path, "w") as file:
        file.write("timestamp,value\n" if series == 1 else "series,timestamp,value\n")
        while file.tell() < BYTES:
            rows = numpy.arange(row, row + chunk)
            times = (begin + 5 * (rows // series)).tolist()
            values = numpy.round(random.normal(20, 5, chunk), 4).tolist()
            if series == 1:
                file.write("".join(f"{t},{v}\n" for t, v in zip(times, values)))
            else:
                names = (rows % series).tolist()
                file.write("".join(f"host-{s:03d},{t},{v}\n" for s, t, v in zip(names, times, values)))
            row += chunk
    return row


def main():
    parser = argparse.ArgumentParser(description="CSV to CSV")
    parser.add_argument("warpstride")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    program = str(pathlib.Path(options.warpstride).resolve())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, series in [("one", 1), ("many", 100)]:
            source, out = folder / f"{name}.csv", folder / "out.csv"
            rows = write(source, series)
            megabytes = source.stat().st_size / 1e6
            for aggregates, granularity in CASES:
                command = [program, "series", "resample", source, "-o", out, "--granularity", granularity]
                command += ["--aggregate", aggregates, "--backend", "cpu", "--quiet"]
                times = []
                for _ in range(options.repeats):
                    out.unlink(missing_ok=True)
                    begun = time.perf_counter()
                    subprocess.run(command, check=True)
                    times.append(time.perf_counter() - begun)
                best, median = megabytes / min(times), megabytes / statistics.median(times)
                print(
                    f"{name:5} {rows} rows, {megabytes:.0f} MB, {granularity} {aggregates}: {best:.0f} MB/s, median {median:.0f}"
                    f" ({out.stat().st_size / 1e6:.0f} MB written)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
