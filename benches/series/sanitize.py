"""Runs `warpstride series resample` under compute-sanitizer, and compares the output bytes of its back ends.

    python sanitize.py WARPSTRIDE [--sanitizer COMPUTE_SANITIZER] [--seconds 300] [--inputs 0] [--selftest] [--keep FOLDER]

Needs a GPU. The input is unordered points of 13 series with repeated timestamps, for all aggregates; granularities
with short buckets, with long ones, and calendar granularities. First the outputs of `--backend cpu` and `--backend
cuda` must be the same bytes, and likewise for `--inputs` random combinations of points, sizes and options. Then
memcheck, racecheck, initcheck and synccheck run on fewer points, and with `--selftest` on `warpstride selftest` too.
All runs are started at once, because each spends its time on the host, loading kernels. `--keep` names a folder for
the output of the tools.
"""
import argparse
import pathlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

BYTES = ["35s,1h,1d", "W,M", "1s,8s"]
CHECKED = ["35s,1h", "W"]
SIZES = [1, 2, 31, 32, 33, 255, 1000, 1760, 1761, 4095, 4096, 4097, 20_011, 131_072, 200_003]
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]


def write(path, points, seed):
    """Writes points of 13 series in random order."""
    random.seed(seed)
    rows = []
    for series in range(13):
        time = 1_400_000_000
        for _ in range(points):
            time += random.choice([0, 1, 3, 5, 5, 5, 9, 400])
            rows.append(f"s{series},{time + random.randint(0, 9)},{random.gauss(0, 5):.6g}\n")
    random.shuffle(rows)
    path.write_text("series,timestamp,value\n" + "".join(rows))


def write_any(path, source):
    """Writes random points. Returns options for resampling them."""
    points, series = source.choice(SIZES), source.choice([1, 2, 3, 40, 1000])
    steps = source.choice([[1], [0, 1], [1, 7, 3600], [0, 86_400, 1]])
    at = [source.randrange(2_000_000_000) for _ in range(series)]
    rows = []
    for _ in range(points):
        one = source.randrange(series)
        at[one] += source.choice(steps)
        value = "nan" if source.random() < 0.01 else f"{source.gauss(0, 5):.6g}"
        rows.append(f"s{one},{at[one]},{value}\n")
    if source.random() < 0.7:
        source.shuffle(rows)
    path.write_text("series,timestamp,value\n" + "".join(rows))
    granularities = source.sample(["1s", "7s", "35s", "1m", "1h", "1d", "W", "M", "Q", "Y"], source.randint(1, 4))
    return [",".join(granularities), "--nan", source.choice(["keep", "skip"])]


def main():
    parser = argparse.ArgumentParser(description="runs the time-series kernels under compute-sanitizer")
    parser.add_argument("warpstride")
    parser.add_argument("--sanitizer", default="/usr/local/cuda/bin/compute-sanitizer")
    parser.add_argument("--seconds", type=int, default=300, help="time limit for each comparison, and for all runs of the tools")
    parser.add_argument("--inputs", type=int, default=0)
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    program = str(pathlib.Path(options.warpstride).resolve())
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder / "many.csv", 30_000, 1)
        write(folder / "few.csv", 2_300, 3)

        def resample(source, out, granularities, backend, *more):
            command = [program, "series", "resample", folder / source, "-o", folder / out, "--granularity", granularities]
            return [*command, "--aggregate", "all", "--backend", backend, "--quiet", *more]

        def compare(source, granularities, *more):
            """Returns whether both back ends write the same bytes, and the number of lines."""
            for backend in ["cpu", "cuda"]:
                command = resample(source, f"{backend}.csv", granularities, backend, *more)
                subprocess.run(command, check=True, timeout=options.seconds)
            cpu, cuda = [(folder / f"{backend}.csv").read_bytes() for backend in ["cpu", "cuda"]]
            return cpu == cuda, cpu.count(10)

        for granularities in BYTES:
            same, lines = compare("many.csv", granularities)
            failed |= not same
            print(f"{granularities}: {'the same bytes' if same else 'DIFFERENT BYTES'}, {lines} lines", flush=True)
        source, alike = random.Random(5), 0
        for number in range(options.inputs):
            how = write_any(folder / "any.csv", source)
            same, _ = compare("any.csv", *how)
            alike += same
            if not same:
                failed = True
                print(f"input {number}: DIFFERENT BYTES with {how}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"input-{number}.csv").write_bytes((folder / "any.csv").read_bytes())
        if options.inputs > 0:
            print(f"{options.inputs} random inputs: {alike} times the same bytes", flush=True)

        runs = []
        for tool in TOOLS:
            commands = {what: resample("few.csv", f"{tool}-{what}.csv", what, "cuda") for what in CHECKED}
            if options.selftest:
                commands["selftest"] = [program, "selftest"]
            for what, command in commands.items():
                log = open(folder / f"{tool}-{what}.txt", "w+")
                command = [options.sanitizer, "--tool", tool, "--error-exitcode", "9", *command]
                run = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
                runs.append((tool, what, log, run))
        end = time.monotonic() + options.seconds
        for tool, what, log, run in runs:
            try:
                status = run.wait(max(0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                # Including the child of the tool.
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
                status = f"none after {options.seconds} s"
            log.seek(0)
            text = log.read()
            summary = [line for line in text.splitlines() if "SUMMARY" in line]
            failed |= status != 0
            print(f"{tool} {what}: status {status}, {summary[-1] if summary else 'no summary'}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{tool}-{what}.txt").write_text(text)
    sys.exit(failed)


if __name__ == "__main__":
    main()
