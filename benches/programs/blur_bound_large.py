"""The bound of blur_bound.py for scans whose matrices would be too large: an estimate by conjugate gradients.

    python3 blur_bound_large.py SCAN.cxi [blur, pixels, 0.7] [share of the object's pixels, 0.3]

The sum of the variances is the trace of the inverse of the information matrix over the pixels of the region. It is estimated by
z^T F^-1 z with random signs z (M. F. Hutchinson, Communications in Statistics 18, 1059 (1989)), where F^-1 z is found by conjugate
gradients and F is applied with Fourier transforms; a scan with thousands of pixels needs a single z. Unknowns, priors and what is
held fixed are those of blur_bound.py; the scan of its documentation (60 frames of 32 x 32) shows how far the two agree.

Needs numpy, scipy and h5py; minutes for 150 frames of 64 x 64.
"""

import sys

import blur_bound
import numpy as np
import scipy.fft

MOST_STEPS = 4000
# Steps between looks at what changes, and the change at which the estimate stands.
BETWEEN, STANDS = 100, 2e-4


class Information:
    """The Fisher information as an operator on changes (object, probe), with its priors and what is held fixed."""

    def __init__(self, scan, sigma, region):
        self.thing, self.probe, corners, fractions, scale = scan
        size = len(self.probe)
        self.root = np.sqrt(scale)
        frequency = np.fft.fftfreq(size)
        ramps = [np.exp(-2j * np.pi * (frequency[:, None] * row + frequency[None, :] * column)) for row, column in fractions]
        self.ramps = np.array(ramps)
        self.rows = (corners[:, 0, None] + np.arange(size))[:, :, None]
        self.columns = (corners[:, 1, None] + np.arange(size))[:, None, :]
        self.places = (self.rows * self.thing.shape[1] + self.columns).ravel()
        self.factors = np.ones((size, size))
        if sigma:
            line = np.fft.fft(blur_bound.blur_matrix(sigma, size)[0]).real
            self.factors = line[:, None] * line[None, :]
        self.under = self.thing[self.rows, self.columns]
        self.moved = self.shifted(self.probe)
        self.waves = self.to_detector(self.under * self.moved)
        self.weight = 1 / np.maximum(self.blurred(abs(self.waves) ** 2), 1e-9)
        fluence = self.summed(abs(self.moved) ** 2).real
        self.prior = 1 / (abs(self.probe) ** 2).mean()
        self.diagonal = 2 * scale * fluence + 1, 2 * scale * (abs(self.under) ** 2).sum(0) + self.prior
        y, x = (v - len(v) / 2 for v in np.mgrid[: self.thing.shape[0], : self.thing.shape[1]])
        seen, dark = self.thing * region, 0 * self.probe
        fixed = [(0 * self.thing, 1j * self.probe)]
        for change in (seen, 1j * seen, 1j * y * seen, 1j * x * seen,
                       blur_bound.derivative(self.thing, 0) * region, blur_bound.derivative(self.thing, 1) * region):
            fixed.append((change, dark))
        self.fixed = [tuple(part / np.sqrt(product(change, change)) for part in change) for change in fixed]
        unknowns = 2 * (self.thing.size + self.probe.size)
        self.firm = blur_bound.FIRM * 2 * sum(part.sum() for part in self.diagonal) / unknowns

    def shifted(self, probe):
        return scipy.fft.ifft2(scipy.fft.fft2(probe) * self.ramps)

    def to_detector(self, waves):
        return scipy.fft.fft2(waves, norm="ortho") * self.root

    def blurred(self, frames):
        return scipy.fft.ifft2(scipy.fft.fft2(frames) * self.factors).real

    def summed(self, windows):
        windows = windows.ravel()
        parts = [np.bincount(self.places, part, self.thing.size) for part in (windows.real, windows.imag)]
        return (parts[0] + 1j * parts[1]).reshape(self.thing.shape)

    def __call__(self, change):
        thing, probe = change
        wave = self.to_detector(self.moved * thing[self.rows, self.columns] + self.shifted(probe) * self.under)
        slope = self.weight * self.blurred(2 * (self.waves.conj() * wave).real)
        back = scipy.fft.ifft2(2 * self.waves * self.blurred(slope), norm="ortho") * self.root
        of_thing = self.summed(self.moved.conj() * back) + thing
        of_probe = scipy.fft.fft2(self.under.conj() * back) * self.ramps.conj()
        of_probe = scipy.fft.ifft2(of_probe.sum(0)) + self.prior * probe
        for fixed in self.fixed:
            share = self.firm * product(fixed, change)
            of_thing, of_probe = of_thing + share * fixed[0], of_probe + share * fixed[1]
        return of_thing, of_probe


def product(one, other):
    return sum((a.conj() * b).real.sum() for a, b in zip(one, other))


def bound(scan, sigma, region):
    information = Information(scan, sigma, region)
    thing, probe = scan[0], scan[1]
    random = np.random.default_rng(0)
    signs = random.choice([-1.0, 1.0], thing.shape) + 1j * random.choice([-1.0, 1.0], thing.shape)
    given = signs * region, np.zeros(probe.shape, complex)
    found = tuple(np.zeros_like(part, complex) for part in given)
    left = given
    better = tuple(part / by for part, by in zip(left, information.diagonal))
    direction, size, last = better, product(left, better), 0
    for step in range(MOST_STEPS):
        applied = information(direction)
        length = size / product(direction, applied)
        found = tuple(a + length * b for a, b in zip(found, direction))
        left = tuple(a - length * b for a, b in zip(left, applied))
        if step % BETWEEN == BETWEEN - 1:
            trace = product(given, found)
            if abs(trace - last) < STANDS * trace:
                return np.sqrt(trace / (abs(thing[region]) ** 2).sum())
            last = trace
        better = tuple(part / by for part, by in zip(left, information.diagonal))
        size, before = product(left, better), size
        direction = tuple(a + size / before * b for a, b in zip(better, direction))
    sys.exit(f"expected an estimate that stands within {MOST_STEPS} steps, found one that still changes")


if __name__ == "__main__":
    blur_bound.main(sys.argv[1:], bound, [1024, 1024])
