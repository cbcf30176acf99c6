"""Runs `warpstride series resample` under compute-sanitizer, and compares the bytes of its back ends.

    python sanitize.py WARPSTRIDE [--sanitizer COMPUTE_SANITIZER] [--seconds 300] [--keep FOLDER]

Needs a GPU and Python. Points of 13 series in no order with repeated timestamps, all aggregates: granularities with short
buckets, with long ones, and of the calendar. First the outputs of `--backend cpu` and `--backend cuda` must be the same
bytes; then memcheck, racecheck, initcheck and synccheck look at fewer points, all runs at once, since each spends its time on the
host with the loading of the kernels. `--keep` gets what the tool says of each.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile

BYTES = ["35s,1h,1d", "W,M", "1s,8s"]
LOOKED_AT = ["35s,1h", "W"]
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]


def write(path, points, seed):
    """So many points of each series."""
    random.seed(seed)
    rows = []
    for series in range(13):
        time = 1_400_000_000
        for _ in range(points):
            time += random.choice([0, 1, 3, 5, 5, 5, 9, 400])
            rows.append(f"s{series},{time + random.randint(0, 9)},{random.gauss(0, 5):.6g}\n")
    random.shuffle(rows)
    path.write_text("series,timestamp,value\n" + "".join(rows))


def main():
    parser = argparse.ArgumentParser(description="compute-sanitizer over the kernels of time series")
    parser.add_argument("warpstride")
    parser.add_argument("--sanitizer", default="/usr/local/cuda/bin/compute-sanitizer")
    parser.add_argument("--seconds", type=int, default=300, help="for each run")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    program = str(pathlib.Path(options.warpstride).resolve())
    failed = False
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        write(place / "many.csv", 30_000, 1)
        write(place / "few.csv", 2_300, 3)

        def resample(source, out, granularities, backend):
            command = [program, "series", "resample", place / source, "-o", place / out, "--granularity", granularities]
            return [*command, "--aggregate", "all", "--backend", backend, "--quiet"]

        for granularities in BYTES:
            for backend in ["cpu", "cuda"]:
                subprocess.run(resample("many.csv", f"{backend}.csv", granularities, backend), check=True, timeout=options.seconds)
            cpu, cuda = [(place / f"{backend}.csv").read_bytes() for backend in ["cpu", "cuda"]]
            failed |= cpu != cuda
            print(f"{granularities}: {'the same bytes' if cpu == cuda else 'OTHER BYTES'}, {cpu.count(10)} lines", flush=True)

        runs = []
        for tool in TOOLS:
            for number, granularities in enumerate(LOOKED_AT):
                command = resample("few.csv", f"{tool}{number}.csv", granularities, "cuda")
                log = open(place / f"{tool}{number}.txt", "w+")
                command = [options.sanitizer, "--tool", tool, "--error-exitcode", "9", *command]
                runs.append((tool, granularities, log, subprocess.Popen(command, stdout=log, stderr=log)))
        for tool, granularities, log, run in runs:
            try:
                status = run.wait(options.seconds)
            except subprocess.TimeoutExpired:
                run.kill()
                status = f"none after {options.seconds} s"
            log.seek(0)
            text = log.read()
            summary = [line for line in text.splitlines() if "SUMMARY" in line]
            failed |= status != 0
            print(f"{tool} {granularities}: status {status}, {summary[-1] if summary else 'no summary'}", flush=True)
            if options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{tool}-{granularities}.txt").write_text(text)
    sys.exit(failed)


if __name__ == "__main__":
    main()
