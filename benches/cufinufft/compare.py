#!/usr/bin/env python3
"""Times the cases of the bench `mri_nufft` with cuFINUFFT, on the same device.

    mri_nufft [SAMPLES]; python3 compare.py [SAMPLES]

Requires cufinufft (its wheel is built against CUDA 12 and needs libcudart.so.12 and libcufft.so.11), cupy and numpy.
Points have the same distributions as in `mri_nufft`, but not the same values. Times are those of `execute` alone with
the points already set, the median of several repetitions by events. All methods of cuFINUFFT are tried and
printed. Errors are relative to double-precision sums over a subset.
"""
import sys

try:
    import cupy as cp
    import numpy as np
    import cufinufft
except (ImportError, OSError) as error:
    print(f"cuFINUFFT is not available: {error}")
    sys.exit(0)

REPEATS, CALLS, SUBSET = 5, 10, 200


def trajectory(kind, count, axes, rng):
    """(axis, sample) in cycles/pixel."""
    if kind == "random":
        return rng.uniform(-0.5, 0.5, (axes, count))
    if kind == "clustered":
        return 0.2 + rng.uniform(-0.01, 0.01, (axes, count))
    readout = 512 if axes == 2 else 256
    spoke, sample = np.divmod(np.arange(count), readout)
    radius = sample / readout - 0.5
    if axes == 2:
        angle = spoke * np.pi * (np.sqrt(5) - 1) / 2
        return radius * np.stack([np.cos(angle), np.sin(angle)])
    # Two-dimensional golden means over the sphere.
    height = 2 * ((spoke * 0.4656) % 1) - 1
    angle = 2 * np.pi * ((spoke * 0.6823) % 1)
    ring = np.sqrt(1 - height**2)
    return radius * np.stack([ring * np.cos(angle), ring * np.sin(angle), height])


def milliseconds(work):
    start, end = cp.cuda.Event(), cp.cuda.Event()
    work()
    times = []
    for _ in range(REPEATS):
        start.record()
        for _ in range(CALLS):
            work()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, end) / CALLS)
    return sorted(times)[REPEATS // 2]


def relative(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def sums_forward(k, image, some):
    """Σ_n image_n exp(−2πi k·n) at the points `some`; k is (axis, sample), row first; on the device."""
    expected = []
    for m in some:
        value = cp.asarray(image, cp.complex128)
        for axis, size in enumerate(image.shape):
            index = cp.arange(size) - size // 2
            value = cp.tensordot(cp.exp(-2j * cp.pi * k[axis, m] * index), value, (0, 0))
        expected.append(complex(value))
    return np.array(expected)


def sums_adjoint(k, samples, shape, voxels):
    """Σ_m samples_m exp(+2πi k·n) at some voxels, on the device."""
    k, samples = cp.asarray(k), cp.asarray(samples, cp.complex128)
    expected = []
    for voxel in voxels:
        cycles = sum(k[axis] * (n - size // 2) for axis, (n, size) in enumerate(zip(voxel, shape)))
        expected.append(complex(cp.sum(samples * cp.exp(2j * cp.pi * cycles))))
    return np.array(expected)


def cases(shape, kind, count, tolerances):
    rng = np.random.default_rng(1)
    axes = len(shape)
    rows_first = trajectory(kind, count, axes, rng)[::-1]
    points = [cp.asarray((2 * np.pi * axis).astype(np.float32)) for axis in rows_first]
    samples = (rng.uniform(-1, 1, count) + 1j * rng.uniform(-1, 1, count)).astype(np.complex64)
    image = (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(np.complex64)
    some = rng.integers(0, count, SUBSET)
    voxels = [tuple(int(rng.integers(0, n)) for n in shape) for _ in range(SUBSET // 4)]
    expected = {
        1: sums_adjoint(rows_first, samples, shape, voxels),
        2: sums_forward(rows_first, image, some),
    }
    for tolerance in tolerances:
        for direction, number, given, methods in (("adjoint", 1, samples, (1, 2, 3)), ("forward", 2, image, (1, 2))):
            data = cp.asarray(given)
            for method in methods:
                out = cp.zeros(shape if number == 1 else count, cp.complex64)
                try:
                    plan = cufinufft.Plan(number, shape, eps=tolerance, dtype="complex64", gpu_method=method)
                    plan.setpts(*points)
                    ms = milliseconds(lambda: plan.execute(data, out))
                except Exception as problem:  # not every method exists for every case
                    print(f"  {axes}-D {kind:9} {tolerance:7.0e} {direction} method {method}: {problem}")
                    continue
                found = cp.asnumpy(out)
                found = np.array([found[v] for v in voxels]) if number == 1 else found[some]
                error = relative(found, expected[number])
                rate = count / ms / 1e6
                print(
                    f"  {axes}-D {kind:9} {tolerance:7.0e} {direction} method {method}: {ms:8.3f} ms "
                    f"{rate:7.2f} G points/s  error {error:.1e}",
                    flush=True,
                )
                del plan


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 21
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"cuFINUFFT {cufinufft.__version__}, {name}, {count} points")
    for shape in ((256, 256), (128, 128, 128)):
        for kind in ("random", "radial", "clustered"):
            cases(shape, kind, count, (1e-4, 1e-2, 1e-3, 1e-5, 1e-6))


main()
