"""Reads a timeline of `warpstride ptycho reconstruct --profile T.json` and prints how long the streams were busy, and how much of the kernels' time
had copies beside it.

Usage: copies_under_kernels.py T.json
"""

import json
import sys


def union(spans):
    joined = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return joined


def length(spans):
    return sum(end - start for start, end in spans)


def common(a, b):
    total = i = j = 0
    while i < len(a) and j < len(b):
        total += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


events = json.load(open(sys.argv[1]))["traceEvents"]
names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
rows = {}
for event in events:
    if event["ph"] == "X":
        row = rows.setdefault(names[event["pid"], event["tid"]], [])
        row.append((event["ts"], event["ts"] + event["dur"]))
rows = {name: union(row) for name, row in rows.items()}
everything = union([span for row in rows.values() for span in row])
print(f"{(everything[-1][1] - everything[0][0]) / 1e3:.2f} ms from the first operation to the last")
for name, row in rows.items():
    print(f"{name}: busy {length(row) / 1e3:.2f} ms")
copies = union([span for name, row in rows.items() if name != "work" for span in row])
print(f"copies in any stream: {length(copies) / 1e3:.2f} ms")
print(f"of the work, beside copies: {common(rows['work'], copies) / length(rows['work']):.2f}")
