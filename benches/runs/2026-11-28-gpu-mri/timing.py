"""Times of reconstructions and transforms of arrays on a GPU, and of NumPy arrays: the least of seven."""

import time

import numpy as np
import torch

import warpstride as ws

scan = ws.mri.simulate(matrix=256, coils=12, trajectory="golden", spokes=200)
maps = scan.maps.astype(np.complex64)
samples_on_gpu, maps_on_gpu = (torch.as_tensor(array, device="cuda") for array in (scan.samples, maps))


def least(work):
    found = []
    for _ in range(7):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - begun)
    return f"{1e3 * min(found):.1f} ms"


for method in ("cg", "adjoint", "tv"):
    options = {"method": method, "progress": False}
    on_gpu = least(lambda: ws.mri.reconstruct(samples_on_gpu, scan.k, 256, maps=maps_on_gpu, **options))
    on_host = least(lambda: ws.mri.reconstruct(scan.samples, scan.k, 256, maps=maps, backend="cuda", **options))
    print(f"{method}: torch on the GPU {on_gpu}, NumPy with backend cuda {on_host}")

k, y = scan.k.reshape(-1, 2), scan.samples.reshape(12, -1)
for name, operator, values in [
    ("torch on the GPU", ws.mri.NUFFT(k, (256, 256)), torch.as_tensor(y, device="cuda")),
    ("NumPy with backend cuda", ws.mri.NUFFT(k, (256, 256), backend="cuda"), y),
    ("NumPy on the CPU", ws.mri.NUFFT(k, (256, 256)), y),
]:
    operator.H(values)
    print(f"adjoint of 12 x {len(k)} samples: {name} {least(lambda: operator.H(values))}")
