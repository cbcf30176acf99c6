"""Hides a share of a scan's pixels by a mask, others in each frame, and scores a result on them (numpy, h5py).

    hidden_pixels.py hide scan.cxi hidden.cxi hidden.npy [SHARE [SEED]]
    warpstride ptycho reconstruct hidden.cxi -o result.h5
    hidden_pixels.py score result.h5 scan.cxi hidden.npy

The score is R = sum (sqrt(I_model) - sqrt(I))^2 / sum I over the hidden pixels, from object, probe modes, positions and
intensity scales in the result (docs/ptychography.md, section 1; far field).
"""

import os
import shutil
import sys

import h5py
import numpy as np


def counts(file):
    for path in ("/entry_1/data_1/data", "/entry_1/instrument_1/detector_1/data"):
        if path in file:
            return file[path]
    sys.exit(f"{file.filename}: expected counts of a CXI file, found none")


def hide(source, to, hidden, share="0.02", seed="7"):
    shutil.copyfile(source, to)
    os.chmod(to, 0o644)
    with h5py.File(to, "r+") as file:
        shape = counts(file).shape
        detector = file["/entry_1/instrument_1/detector_1"]
        mask = np.zeros(shape, np.uint32)
        if "mask" in detector:
            mask[...] = detector["mask"][...] != 0
            del detector["mask"]
        chosen = (np.random.default_rng(int(seed)).random(shape) < float(share)) & (mask == 0)
        mask[chosen] = 1
        detector.create_dataset("mask", data=mask, compression="gzip")
    np.save(hidden, chosen)
    print(f"{chosen.mean():.4f} of the pixels are hidden")


def score(result, scan, hidden):
    with h5py.File(result) as file:
        image = file["/entry_1/image_1"]
        obj = image["data"][...].astype(complex)
        probe = file["/entry_1/instrument_1/source_1/illumination"][...].astype(complex)
        corners = image["corners"][...].astype(int)
        fractions, scales = image["fractions"][...], image["frame_scales"][...]
    chosen = np.load(hidden)
    modes, rows, columns = probe.shape
    row, column = np.fft.fftfreq(rows)[:, None], np.fft.fftfreq(columns)[None, :]
    spectra = np.fft.fft2(probe)
    misfit = total = 0.0
    with h5py.File(scan) as file:
        frames = counts(file)
        for j, (r, c) in enumerate(corners):
            ramp = np.exp(-2j * np.pi * (row * fractions[j, 0] + column * fractions[j, 1]))
            waves = np.fft.ifft2(spectra * ramp) * obj[r : r + rows, c : c + columns]
            model = (np.abs(np.fft.fft2(waves, norm="ortho")) ** 2).sum(0) * scales[j]
            model = np.fft.fftshift(model)[chosen[j]]
            seen = np.maximum(frames[j][chosen[j]].astype(float), 0)
            misfit += ((np.sqrt(model) - np.sqrt(seen)) ** 2).sum()
            total += seen.sum()
    print(f"R on the hidden pixels {misfit / total:.5f}, {modes} modes")


if __name__ == "__main__":
    commands = {"hide": (hide, 3, 5), "score": (score, 3, 3)}
    name, *given = sys.argv[1:] or [""]
    if name not in commands or not commands[name][1] <= len(given) <= commands[name][2]:
        sys.exit(__doc__)
    commands[name][0](*given)
