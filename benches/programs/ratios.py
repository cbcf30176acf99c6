#!/usr/bin/env python3
"""Compares the printed times of two builds of the programs of `benches/`.

    python3 ratios.py FILE ... [--above 1.02]

FILE holds what the programs printed, each output after a line `== BUILD PROGRAM`, where BUILD is `old` or `new`; every
program was run one or more times by each build. The first decimal number of a line is its time. Of repeated runs the
least time counts. Prints, for each program: the number of times, the least, median and largest of new / old; the same of
the last run of `old` by its first, which shows how much times scatter; and the lines above the limit.
"""

import argparse
import collections
import pathlib
import re
import statistics

TIME = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
# Lines that state the rate of a copy, not a time.
RATES = re.compile(r"[TG]B/s")


def times(lines):
    """Number of the line -> time. Both builds print the same lines, some in other words."""
    found = {}
    for number, line in enumerate(lines):
        time = TIME.search(line)
        if time and not RATES.search(line):
            found[number] = float(time[0])
    return found


def ratios(old, new):
    return sorted((new[key] / old[key], key) for key in new if old.get(key))


def spread(found):
    values = [ratio for ratio, _ in found]
    return f"{values[0]:.3f} {statistics.median(values):.3f} {values[-1]:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--above", type=float, default=1.02)
    options = parser.parse_args()
    runs = collections.defaultdict(list)
    for file in options.files:
        section = None
        for line in file.read_text().splitlines():
            if heading := re.fullmatch(r"== (old|new) (.*)", line):
                section = runs[heading[2], heading[1]]
                section.append([])
            elif section is not None:
                section[-1].append(line)
    for program in dict.fromkeys(program for program, _ in runs):
        old, new = ([times(lines) for lines in runs[program, build]] for build in ("old", "new"))
        least = [{key: min(run[key] for run in each if key in run) for key in each[0]} for each in (old, new)]
        found = ratios(*least)
        print(f"{program}: {len(old)} and {len(new)} runs, {len(found)} times; new / old {spread(found)}; "
              f"last / first run of old {spread(ratios(old[0], old[-1]))}")
        for ratio, number in found:
            if ratio > options.above:
                line = TIME.split(runs[program, "new"][0][number], maxsplit=1)[0].strip()
                print(f"  {ratio:.3f}  {least[0][number]} -> {least[1][number]}  {line}")


if __name__ == "__main__":
    main()
