"""Writes emd-calibrated.h5: a datacube of 2 x 3 frames with the calibration that py4DSTEM keeps as metadata, by the package emdfile.

    pip install emdfile numpy
    python3 write_emd.py

The axes count pixels; the calibration at the root has a step of the scan of 31.25 Å, detector pixels of 0.02 1/Å and electrons of 300 kV.
"""

import emdfile
import numpy

a, b, row, column = numpy.mgrid[:2, :3, :6, :4]
counts = (1 + 100 * a + 30 * b + 5 * row + column).astype("u2")
calibration = emdfile.Metadata(name="calibration")
for key, value in {
    "R_pixel_size": 31.25,
    "R_pixel_units": "A",
    "Q_pixel_size": 0.02,
    "Q_pixel_units": "A^-1",
    "QR_rotation": -2.0943951023931953,
    "QR_rotation_degrees": -120.0,
    "QR_flip": True,
    "accelerating_voltage": 300e3,
    "probe_semiangle": None,
}.items():
    calibration[key] = value
root = emdfile.Root(name="datacube_root")
root.metadata = calibration
axes = [[0, 1]] * 4
root.tree(emdfile.Array(data=counts, name="datacube", dims=axes, dim_names=["Rx", "Ry", "Qx", "Qy"], dim_units=["pixels"] * 4))
emdfile.save("emd-calibrated.h5", root, mode="o")
