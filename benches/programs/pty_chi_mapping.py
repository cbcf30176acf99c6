"""Where pty-chi's windows are on its object: the loss of the true object and probe, which are not updated, for several origins.

    python3 benches/programs/pty_chi_mapping.py        (needs ptychi and NumPy)

Frames are simulated with exact positions: |FFT(P shifted by the fraction · O in the window)|², unitary, exp(−2πi…). The true object is
put into pty-chi's array, shifted by `shift` pixels, and the origin of positions is `origin` + (n − 1)/2 for windows of n pixels. A loss of
about 10⁻¹¹ says that a window begins at position + origin − shift exactly.
"""

import warnings

import numpy as np
import ptychi
import ptychi.api as api
from ptychi.api.task import PtychographyTask

MARGIN = 10


def shifted(image, by):
    """An image moved by rows and columns, periodically."""
    k, l = (np.fft.fftfreq(n) for n in image.shape)
    return np.fft.ifft2(np.fft.fft2(image) * np.exp(-2j * np.pi * (k[:, None] * by[0] + l * by[1])))


def scan(n):
    """Object, probe, positions (frame, 2) in pixels, and frames."""
    rng = np.random.default_rng(1)
    noise = np.fft.fft2(rng.normal(size=(128, 128)) + 1j * rng.normal(size=(128, 128)))
    k = np.fft.fftfreq(128)
    smooth = np.fft.ifft2(noise * np.exp(-((k[:, None] ** 2 + k**2) / 0.01)))
    obj = np.exp(0.3j * smooth.real / smooth.real.std() - 0.1 * abs(smooth.imag / smooth.imag.std()))
    y, x = np.mgrid[:n, :n] - n // 2
    probe = np.exp(-(x**2 + y**2) / 128 + 0.006j * (x**2 + 1.3 * y**2)) * (1 + 0.3 * np.tanh(x / 5))
    probe *= 1000 / np.linalg.norm(probe)
    grid = np.stack(np.meshgrid(np.linspace(2, 58, 9), np.linspace(3, 55, 9), indexing="ij"), -1).reshape(-1, 2)
    positions = grid + rng.uniform(-2, 2, grid.shape)
    frames = []
    for position in positions:
        row, column = np.floor(position + 0.5).astype(int)
        window = obj[row : row + n, column : column + n]
        wave = np.fft.fft2(shifted(probe, position - (row, column)) * window, norm="ortho")
        frames.append(np.fft.fftshift(abs(wave) ** 2))
    return obj, probe, positions, np.array(frames, np.float32)


def loss(obj, probe, positions, frames, origin, shift, factor):
    """The loss of pty-chi for the true object, moved by `shift`, and the true probe over `factor`."""
    n = len(probe)
    padded = shifted(np.pad(obj, MARGIN, mode="edge"), (shift, shift))
    options = api.LSQMLOptions()
    # Frames of odd sizes are given with the zero frequency first, so that nothing depends on how they would be shifted.
    options.data_options.data = np.ascontiguousarray(np.fft.ifftshift(frames, axes=(1, 2)))
    options.data_options.fft_shift = False
    options.object_options.initial_guess = padded[None].astype(np.complex64)
    options.object_options.determine_position_origin_coords_by = api.ObjectPosOriginCoordsMethods.SPECIFIED
    options.object_options.position_origin_coords = np.full(2, MARGIN + origin + (n - 1) / 2)
    options.object_options.remove_object_probe_ambiguity.enabled = False
    options.object_options.optimizable = options.probe_options.optimizable = False
    options.probe_options.initial_guess = (probe / factor)[None, None].astype(np.complex64)
    options.probe_position_options.position_y_px, options.probe_position_options.position_x_px = positions.T
    options.reconstructor_options.num_epochs = 1
    options.reconstructor_options.batch_size = 40
    options.reconstructor_options.default_device = api.Devices.CPU
    task = PtychographyTask(options)
    task.run()
    return float(task.reconstructor.loss_tracker.table["loss"].iloc[-1])


def main():
    warnings.simplefilter("ignore")
    print(f"pty-chi {ptychi.__version__}")
    for n in (64, 63):
        truth = scan(n)
        for factor in (n, 1):
            print(f"windows of {n}, probe / {factor}: {loss(*truth, 0, 0, factor):.3g}")
        for origin in (-0.2, 0.3, 0.5):
            losses = [f"{shift}: {loss(*truth, origin, shift, n):.3g}" for shift in (0, origin, 0.5, 1)]
            print(f"windows of {n}, origin {origin}, shift", ", ".join(losses))


if __name__ == "__main__":
    main()
