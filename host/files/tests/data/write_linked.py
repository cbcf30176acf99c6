"""Writes linked/: files that link to each other, virtual datasets, and a scan as DECTRIS detectors write it.

    pip install h5py hdf5plugin numpy
    python3 write_linked.py

The numbers that h5py reads through each link and virtual dataset /NAME of virtual.h5 are in /plain/NAME.
"""

import os

import h5py
import hdf5plugin
import numpy

# The newest that the HDF5 library of the tests reads.
NEW = ("v110", "v114")
LZ4 = dict(hdf5plugin.Bitshuffle(cname="lz4"))
counts = numpy.fromfunction(lambda n, r, c: (n * 7919 + r * 131 + c * 17) % 1009 // 40, (8, 6, 8), dtype=int)

os.makedirs("linked/below", exist_ok=True)
os.chdir("linked")


def frames(name, numbers, kind="u2", path="/entry/data/data", **options):
    with h5py.File(name, "w", **options) as file:
        chunk = (1, *numbers.shape[1:])
        file.create_dataset(path, data=numbers.astype(kind), chunks=chunk, maxshape=(None, *numbers.shape[1:]), **LZ4)


# A DECTRIS detector of 16 bits: a gap, a bad pixel of one frame, and a count above the cutoff.
detector = counts.copy()
detector[:, :, 3] = 65535
detector[1, 2, 5] = 65534
detector[6, 4, 1] = 5000
frames("data_000001.h5", detector[:3])
frames("data_000002.h5", detector[3:6], libver=NEW)
frames("data_000003.h5", detector[6:])
with h5py.File("master.h5", "w") as file:
    data = file.create_group("entry/data")
    for number in (1, 2, 3):
        data[f"data_{number:06d}"] = h5py.ExternalLink(f"data_{number:06d}.h5", "/entry/data/data")
    for path, value, units in [
        ("beam/incident_wavelength", 1.2398419843320025, "angstrom"),
        ("detector/detector_distance", 2.5, "m"),
        ("detector/x_pixel_size", 75e-6, "m"),
        ("detector/y_pixel_size", 75e-6, "m"),
        ("detector/beam_center_x", 4.25, "pixel"),
        ("detector/beam_center_y", 2.75, "pixel"),
        ("detector/bit_depth_readout", 16, None),
        ("detector/flatfield_correction_applied", 1, None),
        ("detector/detectorSpecific/photon_energy", 10000.0, "eV"),
        ("detector/detectorSpecific/countrate_correction_count_cutoff", 4000, None),
    ]:
        file[f"entry/instrument/{path}"] = value
        if units:
            file[f"entry/instrument/{path}"].attrs["units"] = units
    mask = numpy.zeros((6, 8), "u4")
    mask[:, 3] = 1
    mask[0, 0] = 8
    mask[5, 7] = 2
    file["entry/instrument/detector/detectorSpecific/pixel_mask"] = mask
    flat = numpy.ones((6, 8), "f4")
    flat[1, 1] = 1.25
    file["entry/instrument/detector/detectorSpecific/flatfield"] = flat

# Links of every kind, in groups of every kind.
with h5py.File("below/inner.h5", "w") as file:
    file["numbers"] = counts[:2]
    file["label"] = "inner"
    file["numbers"].attrs["units"] = "mm"
    file["back"] = h5py.ExternalLink("../links.h5", "/numbers")
    file["loop"] = h5py.ExternalLink("../links.h5", "/loop")
with h5py.File("links.h5", "w", userblock_size=512) as file:
    file["numbers"] = counts[2:4]
    old = file.create_group("old")
    old["hard"] = file["numbers"]
    old["soft"] = h5py.SoftLink("/numbers")
    old["relative"] = h5py.SoftLink("hard")
    old["to_other"] = h5py.SoftLink("/compact/inner/numbers")
    old["circle"] = h5py.SoftLink("/old/circle")
    compact = file.create_group("compact")
    compact["inner"] = h5py.ExternalLink("below/inner.h5", "/")
    compact["far_soft"] = h5py.SoftLink("inner/numbers")
    many = file.create_group("many", track_order=True)
    for number in range(120):
        many[f"link_{number:03d}_of_a_group_that_has_many"] = h5py.ExternalLink("below/inner.h5", "/numbers")
    file["back"] = h5py.ExternalLink("below/inner.h5", "/back")
    file["loop"] = h5py.ExternalLink("below/inner.h5", "/loop")
with h5py.File("latest.h5", "w", libver=NEW) as file:
    file["group/numbers"] = h5py.ExternalLink("below/inner.h5", "/numbers")
    file["soft"] = h5py.SoftLink("/group/numbers")

# Virtual datasets.
frames("part_0.h5", counts[:4], "u4", "/data")
frames("part_1.h5", counts[4:], "u4", "/data")
with h5py.File("virtual.h5", "w", libver=NEW) as file:
    parts = [h5py.VirtualSource(f"part_{n}.h5", "/data", (4, 6, 8), "u4", maxshape=(None, 6, 8)) for n in (0, 1)]

    def virtual(name, shape, fill, *mappings, kind="u4", maxshape=None):
        layout = h5py.VirtualLayout(shape, kind, maxshape)
        for target, source in mappings:
            layout[target] = source
        file.create_virtual_dataset(name, layout, fillvalue=fill)

    stacked = [(slice(0, 4), parts[0]), (slice(4, 8), parts[1])]
    virtual("stack", (8, 6, 8), 0, *stacked)
    alternating = [(slice(n, 8, 2), parts[n]) for n in (0, 1)]
    virtual("alternating", (8, 6, 8), 0, *alternating)
    # Two modules with a gap, the second from the last frames backwards in the file.
    modules = [
        ((slice(0, 2), slice(0, 2), slice(1, 5)), parts[0][1:3, 3:5, 2:6]),
        ((slice(0, 2), slice(4, 6), slice(1, 5)), parts[1][0:4:3, 0:2, 0:8:2]),
    ]
    virtual("modules", (3, 6, 6), 9, *modules)
    raster = [((n, slice(None)), parts[n]) for n in (0, 1)]
    virtual("raster", (2, 4, 6, 8), 0, *raster)
    flat = [(slice(None), parts[1][2])]
    virtual("plane", (6, 8), 0, *flat)
    own = [(slice(0, 2), h5py.VirtualSource(".", "/stack", (8, 6, 8), "u4")[3:5])]
    virtual("nested", (2, 6, 8), 0, *own)
    # As long as its files: parts of a detector that goes on writing, numbered and not.
    unlimited = h5py.h5s.UNLIMITED
    space = h5py.h5s.create_simple((4, 6, 8), (unlimited, 6, 8))
    space.select_hyperslab((0, 0, 0), (unlimited, 1, 1), (1, 1, 1), (1, 6, 8))
    for name, file_name, source in [
        ("unlimited", b"part_1.h5", space),
        ("numbered", b"part_%b.h5", h5py.h5s.create_simple((4, 6, 8))),
    ]:
        target = h5py.h5s.create_simple((0, 6, 8), (unlimited, 6, 8))
        if name == "unlimited":
            target.select_hyperslab((0, 0, 0), (unlimited, 1, 1), (1, 1, 1), (1, 6, 8))
        else:
            target.select_hyperslab((0, 0, 0), (unlimited, 1, 1), (4, 1, 1), (4, 6, 8))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_virtual(target, file_name, b"/data", source)
        h5py.h5d.create(file.id, name.encode(), h5py.h5t.STD_U32LE, target, properties)
with h5py.File("virtual.h5", "a", libver=NEW) as file:
    for name in [name for name in file if name != "plain"]:
        file[f"plain/{name}"] = file[name][()]
        print(name, file[name].shape)
    assert file["numbered"].shape == (8, 6, 8) and (file["numbered"][()] == counts).all()
    assert file["unlimited"].shape == (4, 6, 8)

# Attributes with strings of variable length, in headers and, of objects with many, in a heap of their own.
for version in ["earliest", "latest"]:
    with h5py.File(f"attributes-{version}.h5", "w", libver=version) as file:
        file.attrs["text"] = "eleven char"
        file.attrs.create("several", ["a", "fifth", "ab"], dtype=h5py.string_dtype())
        many = file.create_group("many")
        for i in range(40):
            many.attrs[f"attribute_{i:02}"] = "x" * (i + 1)
