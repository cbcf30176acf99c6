"""Hashes of divided coil maps, residuals and images of eight runs of each library, for comparison between processes."""

import hashlib
import importlib
import sys

import numpy as np

import warpstride as ws
from warpstride.mri import _on_gpu

scan = ws.mri.simulate(matrix=24, coils=4)
one = scan.maps.astype(np.complex64)
two = np.stack([one, 0.3 * one[::-1].conj()])


def to(name, array):
    library = importlib.import_module(name)
    if name == "torch":
        return library.as_tensor(array, device="cuda")
    return library.asarray(array) if name == "cupy" else library.device_put(array)


def digest(array):
    name = type(array).__module__.split(".")[0]
    host = array.cpu().numpy() if name == "torch" else array.get() if name == "cupy" else np.asarray(array)
    return hashlib.md5(np.ascontiguousarray(host).tobytes()).hexdigest()[:6]


for name in sys.argv[1:]:
    for label, of_host in (("one set", one), ("two sets", two)):
        seen = {}
        for _ in range(8):
            samples, maps = to(name, scan.samples), to(name, of_host)
            divided = _on_gpu._divided(maps.reshape((-1, 4, 24, 24)), 0.5, 0.0)
            given = ws.mri.reconstruct(samples, scan.k, 24, maps=divided, min_residual=0)
            corrected = ws.mri.reconstruct(samples, scan.k, 24, maps=maps, intensity_correction=True, min_residual=0)
            for what, array in {
                "divided maps": divided,
                "residuals with them": given.residuals,
                "image with them": given.image,
                "residuals": corrected.residuals,
                "image": corrected.image,
            }.items():
                seen.setdefault(what, set()).add(digest(array))
        print(name, label, {what: sorted(hashes) for what, hashes in seen.items()})
