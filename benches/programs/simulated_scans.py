"""Scans that another simulator than warpstride's makes, and the score of a result on them.

    python3 simulated_scans.py make KIND SCAN.cxi [name=value ...]
    python3 simulated_scans.py score RESULT.h5 SCAN.cxi

KIND: clean, step and fly (a raster, with 3 pixels of motion along columns during each exposure), shift (the beam moves by up to
5 % of its width), blur (0.7 pixels), background (2 photons), slices (two, 20 um apart; with electrons=1 300 kV and 30 nm).
name=value: size (64), frames (196), photons (1e6), seed (1), random (1: independent from frame to frame, 0: smooth).

The score is the relative L2 of the object over its middle, after removing a translation, a factor and a phase ramp, and the
frequency, as a share of Nyquist's, to which the Fourier ring correlation with the truth exceeds the half-bit threshold.
Needs numpy and h5py.
"""

import sys

import h5py
import numpy as np

PLANCK_LIGHT = 6.62607015e-34 * 299792458.0
BORDER = 40


def transform(wave, forward=True):
    function = np.fft.fft2 if forward else np.fft.ifft2
    return np.fft.fftshift(function(np.fft.ifftshift(wave), norm="ortho"))


def specimen(seed, size):
    """Discs, rectangles and bars of different thickness, smoothed to the pixel."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size]
    thickness = np.zeros((size, size))
    for _ in range(160):
        cy, cx = random.uniform(0, size, 2)
        radius, kind = random.uniform(3, 18), random.integers(3)
        if kind == 0:
            inside = (y - cy) ** 2 + (x - cx) ** 2 < radius**2
        elif kind == 1:
            inside = (abs(y - cy) < radius) & (abs(x - cx) < radius * random.uniform(0.2, 1))
        else:
            turn = random.uniform(0, np.pi)
            along = (y - cy) * np.sin(turn) + (x - cx) * np.cos(turn)
            across = (y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)
            inside = (abs(across) < 1.5) & (abs(along) < 3 * radius)
        thickness = np.maximum(thickness, inside * random.uniform(0.2, 1))
    return np.exp((1j - 0.3) * blurred(thickness, 0.6))


def blurred(image, sigma):
    rows, columns = (np.fft.fftfreq(n) for n in image.shape)
    gauss = np.exp(-2 * (np.pi * sigma) ** 2 * (rows[:, None] ** 2 + columns**2))
    return np.fft.ifft2(np.fft.fft2(image) * gauss).real


def beam(size):
    """A soft aperture of 0.3 of the detector, defocused."""
    frequency = (np.arange(size) - size // 2) / size
    radius = np.hypot(*np.meshgrid(frequency, frequency, indexing="ij"))
    aperture = 1 / (1 + np.exp((radius - 0.15) * size / 2))
    probe = transform(aperture * np.exp(2.5j * np.pi * (radius / 0.15) ** 2), forward=False)
    return probe / np.linalg.norm(probe)


def moved(image, rows, columns):
    ramps = (np.exp(-2j * np.pi * np.fft.fftfreq(n) * by) for n, by in zip(image.shape, (rows, columns)))
    ramp = next(ramps)[:, None] * next(ramps)
    return np.fft.ifft2(np.fft.fft2(image) * ramp)


def propagated(wave, distance, wavelength, pixel):
    frequency = np.fft.fftfreq(len(wave), pixel) * wavelength
    axial = np.sqrt(1 - frequency[:, None] ** 2 - frequency**2) - 1
    return np.fft.ifft2(np.fft.fft2(wave) * np.exp(2j * np.pi * distance / wavelength * axial))


def width(probe):
    """Full width at half maximum of a Gaussian with the beam's standard deviation, pixels."""
    profile = (abs(probe) ** 2).sum(0)
    x = np.arange(len(profile)) - len(profile) // 2
    mean, square = ((profile * x**k).sum() / profile.sum() for k in (1, 2))
    return 2.355 * np.sqrt(square - mean**2)


def make(kind, path, size=64, frames=196, photons=1e6, seed=1, random=0, electrons=0):
    size, seed = int(size), int(seed)
    generator = np.random.default_rng(seed)
    thick = kind == "slices"
    wavelength, pitch, distance = 1.4e-10, 75e-6, 0.35 * size / 64 if thick else 2.0
    gap = 20e-6
    if electrons:
        wavelength, distance, gap = 1.97e-12, 0.35 * size / 64 * 1.4e-10 / 1.97e-12 * 1.5e-3, 30e-9
    pixel = wavelength * distance / (size * pitch)
    side = int(frames**0.5)
    steps = (np.arange(side) - (side - 1) / 2) * size / 10
    y, x = (v.ravel() for v in np.meshgrid(steps, steps, indexing="ij"))
    spread = (0.3 if kind in ("step", "fly") else 1.0) * size / 40
    y, x = y + generator.uniform(-spread, spread, y.size), x + generator.uniform(-spread, spread, y.size)
    probe = beam(size)
    extent = int(2 * max(abs(y).max(), abs(x).max()) + size + 12)
    objects = [specimen(seed, extent), specimen(seed + 100, extent)]
    count = y.size
    if random:
        drift = generator.uniform(-1, 1, (2, count))
    else:
        knots = generator.uniform(-1, 1, (2, 9))
        drift = np.array([np.interp(np.arange(count), np.linspace(0, count, 9), k) for k in knots])
    drift *= 0.05 * width(probe)
    patterns = []
    for frame, (row, column) in enumerate(zip(y, x)):
        corner = [int(np.floor(v + 0.5)) for v in (row, column)]
        shift = np.array([row - corner[0], column - corner[1]])
        top, left = (c + extent // 2 - size // 2 for c in corner)
        first, second = (o[top : top + size, left : left + size] for o in objects)
        points = [np.zeros(2)]
        if kind == "fly":
            points = [np.array([0, 3 * s / 13]) for s in range(-6, 7)]
        if kind == "shift":
            points = [drift[:, frame]]
        pattern = 0
        for by in points:
            wave = moved(probe, *(shift + by)) * first
            if thick:
                wave = propagated(wave, gap, wavelength, pixel) * second
            pattern = pattern + abs(transform(wave)) ** 2 / len(points)
        patterns.append(blurred(pattern, 0.7).clip(0) if kind == "blur" else pattern)
    patterns = np.array(patterns)
    patterns *= photons / patterns.sum((1, 2)).max()
    counts = generator.poisson(patterns + (2 if kind == "background" else 0)).astype(np.uint32)
    with h5py.File(path, "w") as file:
        detector = file.create_group("entry_1/instrument_1/detector_1")
        detector["distance"], detector["x_pixel_size"], detector["y_pixel_size"] = distance, pitch, pitch
        detector["data"] = counts
        file["entry_1/data_1/data"] = h5py.SoftLink("/entry_1/instrument_1/detector_1/data")
        file["entry_1/instrument_1/source_1/energy"] = PLANCK_LIGHT / wavelength
        file["entry_1/instrument_1/source_1/wavelength"] = wavelength
        translation = np.stack([x * pixel, y * pixel, 0 * x], axis=1)
        file["entry_1/sample_1/geometry_1/translation"] = translation
        file["truth/objects"] = np.array(objects[: 2 if thick else 1])


def fitted(found, truth):
    """`found` with the factor and the phase ramp that bring it nearest to `truth`."""
    product = found * truth.conj()
    rows, columns = found.shape
    spectrum = abs(np.fft.fft2(product, s=(4 * rows, 4 * columns)))
    peak = np.unravel_index(spectrum.argmax(), spectrum.shape)
    frequency = [(p / (4 * n) + 0.5) % 1 - 0.5 for p, n in zip(peak, found.shape)]
    y, x = np.mgrid[:rows, :columns]
    best, frequency = descend(
        lambda f: -abs((product * np.exp(-2j * np.pi * (f[0] * y + f[1] * x))).sum()),
        frequency, 1 / (8 * rows), 1e-7)
    turned = found * np.exp(-2j * np.pi * (frequency[0] * y + frequency[1] * x))
    return turned * np.vdot(turned, truth) / np.vdot(turned, turned)


def descend(loss, place, step, least):
    """The least loss near `place` on a grid that becomes finer; and its place."""
    best = loss(place)
    while step > least:
        near = [[place[0] + a * step, place[1] + b * step] for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        losses = [loss(p) for p in near]
        if min(losses) < best:
            best, place = min(losses), near[int(np.argmin(losses))]
        else:
            step /= 2
    return best, place


def score(found, truth):
    half = (min(found.shape + truth.shape) - 2 * BORDER) // 2
    ty, tx = (n // 2 for n in truth.shape)
    middle = truth[ty - half : ty + half, tx - half : tx + half]

    def at(place):
        whole = [int(np.floor(v + 0.5)) for v in place]
        shifted = moved(found, whole[0] - place[0], whole[1] - place[1])
        y, x = (n // 2 + w for n, w in zip(found.shape, whole))
        return fitted(shifted[y - half : y + half, x - half : x + half], middle)

    def loss(place):
        return np.linalg.norm(at(place) - middle) / np.linalg.norm(middle)

    start = min(((a, b) for a in range(-3, 4) for b in range(-3, 4)), key=loss)
    relative, place = descend(loss, list(start), 0.25, 0.01)
    window = np.hanning(2 * half)
    one, other = (np.fft.fft2((v - v.mean()) * window[:, None] * window) for v in (at(place), middle))
    frequency = np.fft.fftfreq(2 * half) * 2 * half
    ring = np.rint(np.hypot(frequency[:, None], frequency)).astype(int).ravel()
    total = lambda values: np.bincount(ring, values.ravel())[:half]
    pixels = total(np.ones_like(one, dtype=float))
    correlation = total((one * other.conj()).real) / np.sqrt(total(abs(one) ** 2) * total(abs(other) ** 2))
    half_bit = (0.2071 + 1.9102 / np.sqrt(pixels)) / (1.2071 + 0.9102 / np.sqrt(pixels))
    below = np.flatnonzero(correlation[2:] < half_bit[2:]) + 2
    return relative, (below[0] / half if below.size else 1.0)


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "make":
        make(arguments[1], arguments[2], **{k: float(v) for k, v in (a.split("=") for a in arguments[3:])})
    elif len(arguments) == 3 and arguments[0] == "score":
        with h5py.File(arguments[2]) as scan, h5py.File(arguments[1]) as result:
            image, truth = result["entry_1/image_1"], scan["truth/objects"][...]
            found = image["slices"][...] if len(truth) > 1 else image["data"][...][None]
            for n, (one, other) in enumerate(zip(found, truth)):
                relative, resolution = score(one, other)
                print(f"object {n + 1}: relative L2 {relative:.4f}, half-bit to {resolution:.2f} of Nyquist")
            if "slice_distances" in image:
                print("distances", image["slice_distances"][...], "m")
            background = "entry_1/instrument_1/detector_1/background"
            if background in result:
                print(f"background {result[background][...].mean():.3f} photons in the mean")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
