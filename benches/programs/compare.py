#!/usr/bin/env python3
"""Runs the same commands with two builds of warpstride and compares everything that they write.

    python3 compare.py OLD NEW --data DATA --work WORK [--backend cpu|cuda|emulator] [--only WORD]

OLD and NEW are programs, built without debug assertions (with them redb lays out stores otherwise); DATA is the
folder with the test data; WORK is made anew and keeps the outputs. The commands are the lines of commands.txt. Each
program runs all of them in one folder of its own. Then every file and the standard output of every command are
compared:

* HDF5 files: each dataset and attribute bit by bit (the file itself contains times of creation). Needs h5py.
* PNG, NPY, Parquet, Arrow and all other files that are not text: byte by byte.
* Text (JSON, CSV, HTML, SVG, standard output): byte by byte; if different, then the numbers in it as they are
  printed, in their order; of JSON, those of the members that both have. Times, versions and
  the name of the device differ from run to run, so JSON members with such names, and printed times, are left out.

Prints one line for each difference and a table; exits with 1 if any number differs.
"""

import argparse
import glob
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
TEXT = {".json", ".csv", ".html", ".svg", ".txt", ".xml", ".toml", ".stdout"}
# Members of JSON that are times, versions or derived from times.
TIMES = re.compile(r"seconds|_per_second|ms_per|milliseconds|share_of_floor|efficiency|idle_gap|version|"
                   r"memory|available|created|device|time$|^ts$|^dur$")
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
# Lines of tables and reports with times or with the name of the device.
LINES = re.compile(r"\b(seconds|time|speed|device|back end|version|took|warpstride \d)\b|"
                   r"\d (?:s|ms|µs|MB/s|GB/s|GiB|MiB)\b")


def commands(only):
    """(name, arguments) of each line that is neither empty nor a comment."""
    for line in (HERE / "commands.txt").read_text().splitlines():
        line = line.strip()
        if line and not line.startswith("#") and (not only or only in line):
            yield line


def run(program, lines, folder, data, backend):
    """Runs all commands in `folder`; returns their exit codes."""
    folder.mkdir(parents=True)
    codes = []
    for number, line in enumerate(lines):
        words = shlex.split(line.replace("{data}", str(data)).replace("{backend}", backend))
        words = [found for word in words for found in (sorted(glob.glob(word)) if "*" in word else [word])]
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, check=False)
        (folder / f"{number:03}.stdout").write_bytes(done.stdout)
        (folder / f"{number:03}.stderr").write_bytes(done.stderr)
        codes.append(done.returncode)
    return codes


def members(value, path=""):
    """(path, number) of every number in JSON, in the order of the paths."""
    if isinstance(value, dict):
        for key in sorted(value):
            if not TIMES.search(key):
                yield from members(value[key], f"{path}.{key}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from members(one, f"{path}[{number}]")
    elif isinstance(value, (int, float)):
        yield path, repr(value)


def numbers(text):
    """What may not differ in a text: in HTML and SVG the curves and the pictures, in JSON the numbers of the members
    that are not times, else the numbers of the lines that do not name times, in order and as printed."""
    if text.lstrip().startswith("<"):
        return re.findall(r"(?:\bpoints|\bd)=\"([^\"]*)\"|base64,([\w+/=]*)", text)
    try:
        parsed = [json.loads(text)]
    except ValueError:
        try:
            parsed = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            kept = (line for line in text.splitlines() if not LINES.search(line))
            return NUMBER.findall("\n".join(kept))
    return dict(members(parsed))


def same_hdf5(old, new):
    """Differences of two HDF5 files: names of datasets and attributes."""
    import h5py

    differences = []

    def attributes(path, a, b):
        for name in sorted(set(a.attrs) | set(b.attrs)):
            if TIMES.search(name):
                continue
            if name not in a.attrs or name not in b.attrs:
                differences.append(f"{path}@{name} only in one")
            elif not same_value(a.attrs[name], b.attrs[name]):
                differences.append(f"{path}@{name}")

    def plain(value):
        """Bytes of an array; of an array of arrays (of variable length), those of each."""
        if isinstance(value, (str, bytes)) or not hasattr(value, "dtype"):
            return value
        if not value.dtype.hasobject:
            return (str(value.dtype), value.tobytes())
        if value.dtype.names:
            return [plain(value[name]) for name in value.dtype.names]
        return [plain(one) for one in value.ravel()] if value.ndim else plain(value.item())

    def same_value(a, b):
        a, b = plain(a), plain(b)
        if a != b and all(isinstance(value, (str, bytes)) for value in (a, b)):
            texts = [v if isinstance(v, str) else v.decode("utf-8", "replace") for v in (a, b)]
            return numbers(texts[0]) == numbers(texts[1])
        return a == b

    with h5py.File(old) as a, h5py.File(new) as b:
        paths = [[], []]
        for file, found in zip((a, b), paths):
            file.visit(found.append)
        for path in sorted(set(paths[0]) ^ set(paths[1])):
            differences.append(f"{path} only in one")
        attributes("/", a, b)
        for path in sorted(set(paths[0]) & set(paths[1])):
            attributes(path, a[path], b[path])
            if isinstance(a[path], h5py.Dataset) and not TIMES.search(path.rsplit("/", 1)[-1]):
                same = (a[path].shape, a[path].dtype) == (b[path].shape, b[path].dtype)
                if not same or not same_value(a[path][()], b[path][()]):
                    differences.append(path)
    return differences


def compare(old, new):
    """'' if two files are the same, else what differs; wording alone begins with «wording»."""
    first, second = old.read_bytes(), new.read_bytes()
    if first == second:
        return ""
    if old.suffix in {".h5", ".cxi", ".hdf5"} or first[:8] == b"\x89HDF\r\n\x1a\n":
        return ", ".join(same_hdf5(old, new))
    if old.suffix in TEXT:
        texts = [content.decode("utf-8", "replace") for content in (first, second)]
        found = [numbers(text) for text in texts]
        if all(isinstance(one, dict) for one in found):
            # Members that only one of the two has are new or have another name.
            both = sorted(set(found[0]) & set(found[1]))
            found = [[f"{path} {one[path]}" for path in both] for one in found]
        if found[0] == found[1]:
            return "wording or times"
        for a, b in zip(*found):
            if a != b:
                return f"numbers: {a} and {b}"
        return f"numbers: {len(found[0])} and {len(found[1])} of them"
    return f"bytes ({len(first)} and {len(second)} of them)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--only", default="", metavar="WORD", help="commands whose line contains WORD")
    arguments = parser.parse_args()
    lines = list(commands(arguments.only))
    shutil.rmtree(arguments.work, ignore_errors=True)
    folders, codes = [], []
    for name in ("old", "new"):
        folders.append(arguments.work.resolve() / name)
        program = str(pathlib.Path(getattr(arguments, name)).resolve())
        codes.append(run(program, lines, folders[-1], arguments.data.resolve(), arguments.backend))
    files = [{str(p.relative_to(f)) for p in f.rglob("*") if p.is_file()} for f in folders]
    table = {}
    for number, line in enumerate(lines):
        counts = table.setdefault(line.split()[0], [0, 0, 0, 0])
        counts[0] += 1
        if codes[0][number] != codes[1][number]:
            counts[3] += 1
            print(f"EXIT CODES {codes[0][number]} and {codes[1][number]}: {line}")
        elif codes[0][number] != 0:
            print(f"both exit with {codes[0][number]}: {line}")
    for name in sorted(files[0] | files[1]):
        if name.endswith(".stderr"):
            continue
        stem = name.split(".")[0]
        science = lines[int(stem)].split()[0] if name.endswith(".stdout") else name.split("-")[0].split("/")[0]
        counts = table.setdefault(science, [0, 0, 0, 0])
        counts[1] += 1
        if name not in files[0] or name not in files[1]:
            counts[3] += 1
            print(f"ONLY IN ONE: {name}")
            continue
        different = compare(folders[0] / name, folders[1] / name)
        if different == "wording or times":
            counts[2] += 1
            print(f"wording or times: {name}")
        elif different:
            counts[3] += 1
            print(f"DIFFERENT: {name}: {different}")
    print(f"\n{'':10} {'commands':>9} {'outputs':>9} {'wording or times':>18} {'different':>10}")
    for science, (ran, compared, wording, different) in sorted(table.items()):
        print(f"{science:10} {ran:9} {compared:9} {wording:18} {different:10}")
    sys.exit(any(counts[3] for counts in table.values()))


if __name__ == "__main__":
    main()
