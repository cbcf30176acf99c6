"""Compares `warpstride sas evaluate` with the check values that sasmodels publishes for its models.

    python published.py PATH/TO/warpstride PATH/TO/published-values.json [--backend cpu|cuda|emulator]

The file has a table of tests for each model: parameters, q or pixels, intensities (sasmodels 1.1.0, BSD-3-Clause). A
value agrees by sasmodels' own rule, |ours - theirs| < 1.5 * 10^(ceil(log10 |theirs|) - 5). Models that the program
does not have, and tests of amplitudes (kind Fq), which no command prints, are skipped and counted. Distributions
without a number of points are not passed on: sasmodels computes a single point for them. Every test starts the program
once; all tests together take seconds on the CPU.

Exit code 0: all values agree; 1: some do not, and each of them is printed.
"""

import argparse
import collections
import json
import math
import subprocess
import sys


def agrees(found, expected):
    """By the rule of the file. JSON has null for a value that is not finite."""
    if expected == "inf":
        return found is None
    if found is None:
        return False
    return found == expected or abs(found - expected) < 1.5 * 10 ** (math.ceil(math.log10(abs(expected))) - 5)


def options(test):
    """Options after the model's name, without the structure factor of a product."""
    values, widths, counts = {}, {}, {}
    for name, value in test["pars"].items():
        if name.endswith("_pd_n"):
            counts[name.removesuffix("_pd_n")] = int(value)
        elif name.endswith("_pd"):
            widths[name.removesuffix("_pd")] = value
        # The mode is an option of products alone.
        elif name != "@S" and not (name == "radius_effective_mode" and "@S" not in test["pars"]):
            values[name] = value
    arguments = []
    if values:
        arguments += ["--set", ",".join(f"{name}={value}" for name, value in values.items())]
    for name, width in widths.items():
        if width and counts.get(name):
            arguments += ["--pd", f"{name}={width}:gaussian:{counts[name]}"]
    if test["kind"] == "Iqxy":
        points = (f"{x}:{y}" for x, y in test["q"])
    else:
        points = map(str, test["q"])
    return [*arguments, "--points", ",".join(points)]


def run(program, arguments):
    """Returns the JSON that the program prints, or its error message."""
    done = subprocess.run([program, "sas", *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("values", help="published-values.json")
    parser.add_argument("--backend", choices=["cpu", "cuda", "emulator"], default="cpu")
    given = parser.parse_args()
    with open(given.values, encoding="utf-8") as file:
        models = json.load(file)["models"]
    listed, message = run(given.program, ["models"])
    if message is not None:
        sys.exit(message)
    known = {model["name"] for model in listed}

    count = collections.Counter()
    wrong = []
    for name, model in models.items():
        if name not in known:
            count["models skipped"] += 1
            continue
        for test in model["tests"]:
            if test["kind"] == "Fq":
                count["amplitudes skipped"] += 1
                continue
            structure = test["pars"].get("@S")
            full = f"{name}@{structure}" if structure else name
            arguments = ["evaluate", full, "--backend", given.backend, *options(test)]
            result, message = run(given.program, arguments)
            if message is not None:
                count["refused"] += 1
                wrong.append(f"{' '.join(arguments)}: {message}")
                continue
            for q, found, expected in zip(test["q"], result["intensity"], test["I"], strict=True):
                if expected is None:
                    continue
                count["compared"] += 1
                if not agrees(found, expected):
                    wrong.append(f"{full} at {q}: expected {expected}, found {found}; {test['pars']}")
    counts = ", ".join(f"{number} {what}" for what, number in count.items())
    print(f"{given.backend}: {counts}; {len(wrong)} wrong")
    for line in wrong:
        print(f"  {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
