"""The least error of an object that unbiased estimators of a simulated scan can have, with and without blur of the detector.

    python3 blur_bound.py SCAN.cxi [blur, pixels, 0.7] [share of the object's pixels, 0.3]

SCAN is made by `warpstride ptycho simulate`, which stores the truth: one probe mode, no blur, frames of at most 32 x 32 pixels and
objects of at most 80 x 80, as matrices of all unknowns are inverted (2 (object + probe) pixels; 2 GB and minutes for the largest; blur_bound_large.py
estimates the bound of larger scans).

The counts of pixel k are Poisson, with the mean I_k = sum over l of G_kl |f_l|^2. The unknowns are the real and imaginary parts of
object and probe, and the Fisher information is the sum of dI_k dI_k^T / I_k (Cramer-Rao: S. M. Kay, Fundamentals of Statistical
Signal Processing: Estimation Theory, 1993, chapter 3). What comparisons remove is fixed: a factor, a phase ramp and a translation of
the object, and the phase of the probe. Object and probe values have a prior variance of 1 and of the probe's mean square,
so that pixels that no light reaches do no harm.

Prints the bound of the relative L2 over the pixels that get more than so large a share of the largest fluence.
Needs numpy, scipy and h5py.
"""

import sys

import h5py
import numpy as np
from scipy.linalg import lapack

FIRM = 1e3


def blur_matrix(sigma, n):
    """Circular, normalised, exp(-k^2 / 2 sigma^2) to 4 sigma, along one axis."""
    reach = int(np.ceil(4 * sigma))
    matrix = np.zeros((n, n))
    for k in range(-reach, reach + 1):
        matrix += np.exp(-(k**2) / (2 * sigma**2)) * np.roll(np.eye(n), k, axis=1)
    return matrix / matrix[0].sum()


def derivative(image, axis):
    step = [1, 1]
    step[axis] = -1
    wave = 2j * np.pi * np.fft.fftfreq(image.shape[axis]).reshape(step)
    return np.fft.ifft(np.fft.fft(image, axis=axis) * wave, axis=axis)


def unknowns(thing, probe):
    return np.concatenate([thing.real.ravel(), thing.imag.ravel(), probe.real.ravel(), probe.imag.ravel()])


def information(scan, sigma):
    """The Fisher information of all unknowns."""
    thing, probe, corners, fractions, scale = scan
    size, pixels, points = len(probe), thing.size, probe.size
    offset = np.arange(size) - size // 2
    line = np.exp(-2j * np.pi * np.outer(offset, offset) / size) / np.sqrt(size)
    transform = np.kron(line, line)
    blur = None
    if sigma:
        axis = blur_matrix(sigma, size)
        blur = np.kron(axis, axis)
    index = np.arange(pixels).reshape(thing.shape)
    total = np.zeros((2 * (pixels + points),) * 2)
    frequency = np.fft.fftfreq(size)
    # Shifts are circular; as matrices, for the derivative by the probe.
    inverse = np.fft.ifft(np.eye(size), axis=0)
    forward = np.fft.fft(np.eye(size), axis=0)
    for (row, column), fraction in zip(corners, fractions):
        moves = [inverse @ (np.exp(-2j * np.pi * frequency * by)[:, None] * forward) for by in fraction]
        window = index[row : row + size, column : column + size].ravel()
        under = thing.ravel()[window]
        moved = (moves[0] @ probe @ moves[1].T).ravel()
        wave = np.sqrt(scale) * (transform @ (under * moved))
        weight = 2 * np.sqrt(scale) * wave.conj()[:, None]
        of_thing = weight * transform * moved
        of_moved = (weight * transform * under).reshape(-1, size, size)
        of_probe = np.einsum("kab,ai,bj->kij", of_moved, moves[0], moves[1], optimize=True).reshape(-1, points)
        slopes = np.concatenate([of_thing.real, -of_thing.imag, of_probe.real, -of_probe.imag], axis=1)
        mean = abs(wave) ** 2
        if blur is not None:
            slopes, mean = blur @ slopes, blur @ mean
        slopes /= np.sqrt(np.maximum(mean, 1e-9))[:, None]
        places = np.concatenate([window, pixels + window, 2 * pixels + np.arange(2 * points)])
        total[np.ix_(places, places)] += slopes.T @ slopes
    return total


def bound(scan, sigma, region):
    thing, probe = scan[0], scan[1]
    total = information(scan, sigma)
    pixels = thing.size
    prior = np.ones(len(total))
    prior[2 * pixels :] = 1 / (abs(probe) ** 2).mean()
    total[np.diag_indices_from(total)] += prior
    y, x = (v - len(v) / 2 for v in np.mgrid[: thing.shape[0], : thing.shape[1]])
    seen, dark = thing * region, 0 * probe
    free = [unknowns(0 * thing, 1j * probe)]
    for change in (seen, 1j * seen, 1j * y * seen, 1j * x * seen, derivative(thing, 0) * region, derivative(thing, 1) * region):
        free.append(unknowns(change, dark))
    firm = FIRM * np.trace(total) / len(total)
    for change in free:
        change = change / np.linalg.norm(change)
        total += firm * np.outer(change, change)
    factor, failed = lapack.dpotrf(total, lower=1, overwrite_a=1)
    if failed:
        sys.exit("the information matrix is not positive definite")
    covariance, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    variance = np.diag(covariance)[: 2 * pixels].reshape(2, *thing.shape).sum(0)
    return np.sqrt(variance[region].sum() / (abs(thing[region]) ** 2).sum())


def opened(path, most):
    with h5py.File(path) as file:
        truth = file["simulation"]
        thing, probe, positions = truth["object"][...], truth["probe"][...], truth["positions"][...] - truth["origin"][...]
        detector = file["entry_1/instrument_1/detector_1"]
        counts = detector["data"][...].astype(float)
        extent = detector["x_pixel_size"][()] * probe.shape[-1]
        positions /= file["entry_1/instrument_1/source_1/wavelength"][()] * detector["distance"][()] / extent
    if len(probe) != 1 or probe.shape[1] > most[0] or max(thing.shape) > most[1]:
        sys.exit(f"{path}: expected one probe mode of at most {most[0]} x {most[0]} pixels and an object of at most {most[1]} x {most[1]}, "
                 f"found {probe.shape} and {thing.shape}")
    corners = np.floor(positions + 0.5).astype(int)
    scan = [thing, probe[0], corners, positions - corners, 1.0]
    size = len(probe[0])
    light = sum((abs(thing[r : r + size, c : c + size] * probe[0]) ** 2).sum() for r, c in corners)
    scan[4] = counts.sum() / light
    return scan


def main(arguments, bound=bound, most=(32, 80)):
    """Prints the bound of a scan whose frames and object have at most so many rows and columns."""
    if not 1 <= len(arguments) <= 3:
        sys.exit(__doc__)
    scan = opened(arguments[0], most)
    sigma, share = (float(v) for v in (arguments[1:] + ["0.7", "0.3"][len(arguments) - 1 :]))
    thing, probe, corners = scan[:3]
    fluence = np.zeros(thing.shape)
    for row, column in corners:
        fluence[row : row + len(probe), column : column + len(probe)] += abs(probe) ** 2
    region = fluence > share * fluence.max()
    without, with_blur = (bound(scan, s, region) for s in (0.0, sigma))
    print(f"relative L2 over {region.sum()} pixels of {thing.size}: {without:.5f} without blur, "
          f"{with_blur:.5f} with {sigma} pixels, ratio {with_blur / without:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
