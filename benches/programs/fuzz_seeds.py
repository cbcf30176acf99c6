#!/usr/bin/env python3
"""Writes small files of every layout of scans as seeds for the fuzz target `scan_layouts` of host/fuzz.

    python3 fuzz_seeds.py FOLDER

Needs numpy and h5py; with hdf5plugin the filters that it has are used too. Each file is below 64 KiB, which is the longest input.
"""

import pathlib
import sys

import h5py
import numpy

try:
    import hdf5plugin
except ImportError:
    hdf5plugin = None

FRAMES, ROWS, COLUMNS = 12, 6, 5
RNG = numpy.random.default_rng(7)
COUNTS = RNG.poisson(20, (FRAMES, ROWS, COLUMNS)).astype("u2")
POSITIONS = numpy.stack([numpy.arange(FRAMES) // 4, numpy.arange(FRAMES) % 4], axis=1) * 1e-6


def cxi(file, **how):
    detector = file.create_group("entry_1/instrument_1/detector_1")
    file["cxi_version"] = 160
    detector.create_dataset("data", data=COUNTS, chunks=(2, ROWS, COLUMNS), **how)
    detector["distance"] = 1.0
    detector["x_pixel_size"] = detector["y_pixel_size"] = 75e-6
    detector["mask"] = numpy.zeros((ROWS, COLUMNS), "u4")
    file["entry_1/instrument_1/source_1/energy"] = 1.6e-15
    file["entry_1/sample_1/geometry_1/translation"] = numpy.column_stack([POSITIONS[:, ::-1], numpy.zeros(FRAMES)])
    file["entry_1/data_1/translation"] = h5py.SoftLink("/entry_1/sample_1/geometry_1/translation")


def ptyd(file):
    chunk = file.create_group("chunks/0")
    chunk["data"] = COUNTS
    chunk["positions"] = POSITIONS
    chunk["weights"] = numpy.ones((ROWS, COLUMNS))
    chunk["indices"] = numpy.arange(FRAMES)
    for name, value in {"energy": 10.0, "distance": 1.0, "psize": 75e-6}.items():
        file[f"meta/{name}"] = value
    file["meta/shape"] = [ROWS, COLUMNS]


def plain(file):
    file["data"] = COUNTS
    file["y"] = POSITIONS[:, 0] * 1e6
    file["x"] = POSITIONS[:, 1] * 1e6
    file["x"].attrs["units"] = "um"


def rank4(file):
    file["data"] = COUNTS.reshape(3, 4, ROWS, COLUMNS)


def nexus(file):
    entry = file.create_group("entry")
    entry.attrs["NX_class"] = "NXentry"
    entry["definition"] = "NXcxi_ptycho"
    for name, kind in [("instrument", "NXinstrument"), ("sample", "NXsample"), ("instrument/detector", "NXdetector"), ("instrument/beam", "NXbeam"),
                       ("sample/transformations", "NXtransformations"), ("instrument/detector/transformations", "NXtransformations")]:
        entry.create_group(name).attrs["NX_class"] = kind
    detector = entry["instrument/detector"]
    detector["data"] = COUNTS
    for name in ["x_pixel_size", "y_pixel_size"]:
        detector[name] = 0.075
        detector[name].attrs["units"] = "mm"
    detector["distance"] = 1000.0
    detector["distance"].attrs["units"] = "mm"
    entry["instrument/beam/energy"] = 8.0
    entry["instrument/beam/energy"].attrs["units"] = "keV"
    moves = entry["sample/transformations"]
    for i, (name, vector) in enumerate([("x", [1.0, 0, 0]), ("y", [0, 1.0, 0])]):
        moves[name] = POSITIONS[:, 1 - i] * 1e6
        moves[name].attrs["units"] = "um"
        moves[name].attrs["vector"] = vector
        moves[name].attrs["transformation_type"] = "translation"
        moves[name].attrs["depends_on"] = "." if i else "y"
    entry["sample/depends_on"] = "transformations/x"
    angle = detector["transformations"]
    angle["z"] = 1.0
    angle["z"].attrs.update({"units": "m", "vector": [0, 0, 1.0], "transformation_type": "translation", "depends_on": "."})
    detector["depends_on"] = "transformations/z"


def emd(file):
    root = file.create_group("datacube_root/datacube")
    root.attrs["emd_group_type"] = 1
    root["data"] = COUNTS.reshape(3, 4, ROWS, COLUMNS)
    for i, (name, unit, step) in enumerate([("Rx", "A", 31.25), ("Ry", "A", 31.25), ("Qx", "A^-1", 0.01), ("Qy", "A^-1", 0.01)]):
        axis = root.create_dataset(f"dim{i}", data=numpy.array([0.0, step]))
        axis.attrs["name"] = name
        axis.attrs["units"] = unit
    calibration = file.create_group("datacube_root/metadatabundle/calibration")
    calibration["Q_pixel_size"] = 0.01
    calibration["Q_pixel_units"] = "A^-1"
    calibration["R_pixel_size"] = 31.25
    calibration["R_pixel_units"] = "A"


def matlab(file):
    for name, value in {"dp": COUNTS, "lambda": numpy.array([[1e-10]]), "det_distance": numpy.array([[1.0]]), "det_pixel": numpy.array([[75e-6]]),
                        "positions": POSITIONS}.items():
        file[name] = value.T if value.ndim == 3 else value
        file[name].attrs["MATLAB_class"] = numpy.bytes_("double")


def dectris(file):
    data = file.create_group("entry/data")
    file["entry"].attrs["NX_class"] = "NXentry"
    data["data_000001"] = COUNTS
    detector = file.create_group("entry/instrument/detector")
    special = detector.create_group("detectorSpecific")
    special["pixel_mask"] = numpy.zeros((ROWS, COLUMNS), "u4")
    special["countrate_correction_count_cutoff"] = 60000
    special["photon_energy"] = 8000.0
    detector["detector_distance"] = 1.0
    detector["x_pixel_size"] = detector["y_pixel_size"] = 75e-6
    detector["beam_center_x"] = 2.0
    detector["beam_center_y"] = 3.0
    file["entry/instrument/beam/incident_wavelength"] = 1.5


def virtual(file):
    file["parts/a"] = COUNTS[:6]
    file["parts/b"] = COUNTS[6:]
    layout = h5py.VirtualLayout(COUNTS.shape, "u2")
    for i, name in enumerate("ab"):
        layout[6 * i : 6 * i + 6] = h5py.VirtualSource(".", f"parts/{name}", (6, ROWS, COLUMNS))
    file.create_virtual_dataset("data", layout, fillvalue=0)
    file["y"] = POSITIONS[:, 0] * 1e6
    file["x"] = POSITIONS[:, 1] * 1e6


def linked(file):
    cxi(file)
    file["moved"] = file["entry_1/instrument_1/detector_1/data"]
    del file["entry_1/instrument_1/detector_1/data"]
    file["entry_1/instrument_1/detector_1/data"] = h5py.ExternalLink("scan.h5", "/moved")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in [cxi, ptyd, plain, rank4, nexus, emd, dectris, virtual, linked]:
        for version in ["earliest", "latest"]:
            with h5py.File(folder / f"{make.__name__}-{version}.h5", "w", libver=version) as file:
                make(file)
    with h5py.File(folder / "matlab.h5", "w", userblock_size=512) as file:
        matlab(file)
    with open(folder / "matlab.h5", "r+b") as file:
        text = b"MATLAB 7.3 MAT-file, Platform: GLNXA64"
        file.write(text.ljust(116, b" ") + b"\0" * 8 + b"\x00\x02IM")
    filters = {"gzip": {"compression": "gzip", "shuffle": True, "fletcher32": True}, "lzf": {"compression": "lzf"}}
    if hdf5plugin:
        filters |= {
            "bitshuffle": dict(hdf5plugin.Bitshuffle()),
            "blosc": dict(hdf5plugin.Blosc()),
            "blosc2": dict(hdf5plugin.Blosc2()),
            "lz4": dict(hdf5plugin.LZ4()),
            "zstd": dict(hdf5plugin.Zstd()),
        }
    for name, how in filters.items():
        with h5py.File(folder / f"cxi-{name}.h5", "w") as file:
            cxi(file, **how)


if __name__ == "__main__":
    main()
