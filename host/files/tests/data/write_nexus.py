"""Writes nexus-ptycho.h5 and nexus-stage.h5: scans of 12 frames as NeXus files, with the numbers that a reader must find below /oracle.

    pip install h5py numpy
    python3 write_nexus.py

nexus-ptycho.h5 follows NXcxi_ptycho: two motors in µm, the energy of the beam in keV and that of the machine in GeV.
nexus-stage.h5 has names of its own, a raster of 3 x 4 frames, a stage on a turned table with its motors in mm, nm and degrees, and a
detector whose distance is in its chain of axes only. The chains are multiplied here as 4 x 4 matrices.
"""

import h5py
import numpy


def group(parent, name, kind):
    made = parent.create_group(name)
    made.attrs["NX_class"] = kind
    return made


def put(parent, name, value, **attributes):
    made = parent.create_dataset(name, data=value)
    for key, attribute in attributes.items():
        made.attrs[key] = attribute
    return made


def matrix(kind, value, vector, offset=(0, 0, 0)):
    """The matrix of one axis, in metres and radians."""
    made = numpy.eye(4)
    x, y, z = numpy.array(vector) / (1 if kind == "translation" else numpy.linalg.norm(vector))
    if kind == "translation":
        made[:3, 3] = value * numpy.array(vector)
    else:
        cross = numpy.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        made[:3, :3] = numpy.eye(3) + numpy.sin(value) * cross + (1 - numpy.cos(value)) * cross @ cross
    made[:3, 3] += offset
    return made


frame, row, column = numpy.mgrid[:12, :16, :12]
counts = ((7 * frame + 3 * row + 5 * column) % 23 + 1).astype("u2")
mask = numpy.zeros((16, 12), "u4")
mask[3, 4] = 1
j = numpy.arange(12)
x = 1.5 * (j % 4) + 0.125 * (j // 4)
y = 1.25 * (j // 4)

with h5py.File("nexus-ptycho.h5", "w", track_order=False) as file:
    file["cxi_version"] = 160
    entry = group(file, "entry_1", "NXentry")
    entry["definition"] = "NXptycho"
    instrument = group(entry, "instrument_1", "NXinstrument")
    put(group(instrument, "source_1", "NXsource"), "energy", 3.0, units="GeV")
    put(group(instrument, "beam_1", "NXbeam"), "incident_beam_energy", 8.0, units="keV")
    detector = group(instrument, "detector_1", "NXdetector")
    put(detector, "data", counts)
    put(detector, "pixel_mask", mask)
    put(detector, "x_pixel_size", 55.0, units="um")
    put(detector, "y_pixel_size", 75.0, units="um")
    put(detector, "distance", 500.0, units="mm")
    sample = group(entry, "sample_1", "NXsample")
    stage = group(sample, "transformations", "NXtransformations")
    put(stage, "x", x, units="um", vector=[1.0, 0.0, 0.0], transformation_type="translation", depends_on="y")
    put(stage, "y", y, units="um", vector=[0.0, 1.0, 0.0], transformation_type="translation", depends_on=".")
    oracle = file.create_group("oracle")
    oracle["positions"] = numpy.stack([y * 1e-6, x * 1e-6], 1)
    oracle["geometry"] = [12.398419843320026e-10 / 8.0, 0.5, 75e-6, 55e-6]

with h5py.File("nexus-stage.h5", "w") as file:
    file.attrs["default"] = "second"
    group(file, "first", "NXentry")
    entry = group(file, "second", "NXentry")
    entry.attrs["default"] = "measurement"
    beamline = group(entry, "beamline", "NXinstrument")
    put(group(beamline, "ring", "NXsource"), "energy", 3e9, units="eV")
    put(group(beamline, "mono", "NXmonochromator"), "wavelength", 1.5, units="angstrom")
    camera = group(beamline, "camera", "NXdetector")
    put(camera, "data", counts.reshape(3, 4, 16, 12))
    put(camera, "x_pixel_size", 0.055, units="mm")
    put(camera, "y_pixel_size", 0.055, units="mm")
    put(camera, "depends_on", "arm/length")
    arm = group(camera, "arm", "NXtransformations")
    put(arm, "length", 700.0, units="mm", vector=[0, 0, 1], transformation_type="translation", depends_on="tilt",
        offset=[0.0, 0.0, 2.0], offset_units="cm")
    put(arm, "tilt", 30.0, units="deg", vector=[1.0, 0.0, 0.0], transformation_type="rotation", depends_on=".")
    sample = group(entry, "wafer", "NXsample")
    put(sample, "depends_on", "/second/wafer/stage/fine_x")
    stage = group(sample, "stage", "NXtransformations")
    fast = 1.5e3 * numpy.arange(4)
    slow = 1.25e-3 * numpy.arange(3)
    put(stage, "fine_x", fast, units="nm", vector=[1.0, 0.0, 0.0], transformation_type="translation", depends_on="coarse_y",
        offset=[1.0, 2.0, 0.0], offset_units="um")
    put(stage, "coarse_y", slow, units="mm", vector=[0.0, 1.0, 0.0], transformation_type="translation", depends_on="../table/turn")
    table = group(sample, "table", "NXtransformations")
    put(table, "turn", 0.3, units="rad", vector=[0.0, 0.0, 2.0], transformation_type="rotation", depends_on="tip")
    put(table, "tip", -5.0, units="degrees", vector=[0.0, 1.0, 0.0], transformation_type="rotation", depends_on=".")
    data = group(entry, "measurement", "NXdata")
    data.attrs["signal"] = "frames"
    data["frames"] = h5py.SoftLink("/second/beamline/camera/data")
    positions = []
    for b in range(3):
        for a in range(4):
            chain = (
                matrix("rotation", numpy.radians(-5), (0, 1, 0))
                @ matrix("rotation", 0.3, (0, 0, 2))
                @ matrix("translation", slow[b] * 1e-3, (0, 1, 0))
                @ matrix("translation", fast[a] * 1e-9, (1, 0, 0), (1e-6, 2e-6, 0))
            )
            at = chain @ [0, 0, 0, 1]
            positions.append([at[1], at[0]])
    oracle = file.create_group("oracle")
    oracle["positions"] = numpy.array(positions)
    arm_at = matrix("rotation", numpy.radians(30), (1, 0, 0)) @ matrix("translation", 0.7, (0, 0, 1), (0, 0, 0.02)) @ [0, 0, 0, 1]
    oracle["geometry"] = [1.5e-10, arm_at[2], 55e-6, 55e-6]
