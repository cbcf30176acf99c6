"""Runs FINUFFT (pip install finufft numpy) and this project's NUFFT on the same points, alternately.

    python compare.py PATH/TO/mri_nufft_cpu [--rounds N] [--threads N] [CASE ...]

Every round starts our program for one case and then times FINUFFT on it in this process; the table shows the minima
over all rounds. Set-up is makeplan + setpts, and Nufft::new. Types 1 and 2 are one call of execute, adjoint or
forward, with the points already set. Errors are those of type 2 at the same 24 samples, relative to direct summation.
"""

import argparse
import os
import subprocess
import time

import finufft
import numpy as np

NAMES = (
    "2d-1e-2-f32 2d-1e-4-f32 2d-1e-6-f32 2d-1e-4-f64 2d-1e-6-f64 2d-1e-9-f64 2d-1e-12-f64 "
    "3d-1e-2-f32 3d-1e-4-f32 3d-1e-6-f32 3d-1e-4-f64 3d-1e-9-f64 cardiac-1e-5-f32 cardiac-1e-5-f64"
).split()


def points(count, axes):
    """(axis, sample), cycles/pixel; the sequence of `points` in mri_nufft_cpu.rs."""
    g = 1.5
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (axes + 1.0))
    i = np.arange(1, count + 1, dtype=np.float64)
    return np.stack([np.modf(i * g ** -(axis + 1))[0] - 0.5 for axis in range(axes)])


def values(count, dtype):
    """`values` in mri_nufft_cpu.rs."""
    i = np.arange(count, dtype=np.int64)
    phase = ((i % 65537) ** 2 % 65537 * (i // 65537 + 1)).astype(np.float64)
    return np.exp(1j * phase).astype(dtype)


def error(k, image, data):
    wrong = norm = 0.0
    axes = len(k)
    for sample in range(0, k.shape[1], -(-k.shape[1] // 24)):
        exact = image.astype(np.complex128)
        for axis in range(axes):
            n = image.shape[-1]
            cycles = k[axis, sample] * (np.arange(n) - n // 2)
            exact = exact @ np.exp(-2j * np.pi * cycles)
        wrong += abs(exact - data[sample]) ** 2
        norm += abs(exact) ** 2
    return float(np.sqrt(wrong / norm))


def finufft_case(axes, modes, samples, images, tolerance, precision, threads):
    dtype, real = {"f32": (np.complex64, np.float32), "f64": (np.complex128, np.float64)}[precision]
    k = points(samples, axes)
    # The order of FINUFFT's axes is that of the image, (z, y, x).
    theirs = [np.ascontiguousarray(2 * np.pi * k[axis]).astype(real) for axis in reversed(range(axes))]
    shape = (modes,) * axes
    image = values(images * modes**axes, dtype).reshape((images,) * (images > 1) + shape)
    data = values(images * samples, dtype).reshape((images,) * (images > 1) + (samples,))
    best = [np.inf] * 3
    start = time.perf_counter()
    plans = [
        finufft.Plan(kind, shape, n_trans=images, eps=tolerance, isign=sign, dtype=dtype, nthreads=threads)
        for kind, sign in ((1, 1), (2, -1))
    ]
    plans[0].setpts(*theirs)
    best[0] = time.perf_counter() - start
    plans[1].setpts(*theirs)
    for _ in range(3):
        for which, (plan, given) in enumerate(zip(plans, (data, image))):
            start = time.perf_counter()
            out = plan.execute(given)
            best[1 + which] = min(best[1 + which], time.perf_counter() - start)
    first = image[0] if images > 1 else image
    return [1e3 * s for s in best], error(k, first, out[0] if images > 1 else out)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("cases", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    print(f"{arguments.threads} threads; FINUFFT {finufft.__version__}; minima of {arguments.rounds} rounds, ms")
    print(f"{'case':17} | {'set-up':>7} {'type 1':>7} {'type 2':>7} {'error':>8} "
          f"| {'FINUFFT':>7} {'type 1':>7} {'type 2':>7} {'error':>8} | theirs/ours: set-up, types 1, 2")
    environment = dict(os.environ, RAYON_NUM_THREADS=str(arguments.threads))
    for case in arguments.cases:
        ours, theirs = [np.inf] * 3, [np.inf] * 3
        for _ in range(arguments.rounds):
            command = [arguments.binary, "--plain", "--repeats", "1", case]
            line = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
            name, axes, modes, samples, images, tolerance, precision, *times, wrong = line.split()
            ours = [min(a, float(b)) for a, b in zip(ours, times)]
            sizes = [int(v) for v in (axes, modes, samples, images)]
            times, their_wrong = finufft_case(*sizes, float(tolerance), precision, arguments.threads)
            theirs = [min(a, b) for a, b in zip(theirs, times)]
        ratios = " ".join(f"{b / a:6.2f}" for a, b in zip(ours, theirs))
        print(f"{name:17} | {ours[0]:7.1f} {ours[1]:7.1f} {ours[2]:7.1f} {float(wrong):8.1e} "
              f"| {theirs[0]:7.1f} {theirs[1]:7.1f} {theirs[2]:7.1f} {their_wrong:8.1e} | {ratios}", flush=True)


if __name__ == "__main__":
    main()
