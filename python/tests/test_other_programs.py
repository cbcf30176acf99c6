"""Results of PtyPy, Ptychodus and pty-chi: files of their layouts, and the real packages where they are installed."""

import json
import pickle
import subprocess
import sys
from types import SimpleNamespace

import h5py
import numpy as np
import pytest

import warpstride as ws

SCAN = ws.ptycho.simulate(frame=32, positions=14)
ENERGY_EV = 1.239841984e-6 / SCAN.wavelength


def reconstruct(**options):
    return ws.ptycho.reconstruct(**{**SCAN.arguments, "engines": [ws.ptycho.DM(30)], "backend": "cpu", **options})


OURS = reconstruct()
"""A result that is written in the layouts of other programs."""


def misfit(result, scan=SCAN):
    """R of all frames, with the probe shifted by each window's fraction."""
    rows, columns = result.probe.shape[1:]
    begins = (result.positions - origin(result)) / np.array(result.pixel_size)
    frequencies = np.meshgrid(np.fft.fftfreq(rows), np.fft.fftfreq(columns), indexing="ij")
    numerator = 0.0
    for frame, corner, begin in zip(scan.frames, result.corners, begins):
        window = result.object[corner[0] : corner[0] + rows, corner[1] : corner[1] + columns]
        phase = sum(k * by for k, by in zip(frequencies, begin - corner))
        probe = np.fft.ifft2(np.fft.fft2(result.probe) * np.exp(-2j * np.pi * phase))
        waves = np.fft.fftshift(np.fft.fft2(probe * window, norm="ortho"), axes=(1, 2))
        numerator += ((np.sqrt((abs(waves) ** 2).sum(0)) - np.sqrt(frame.astype(float))) ** 2).sum()
    return numerator / scan.frames.sum()


def origin(result):
    """Position of a window at object pixel (0, 0), from positions and corners: fractions are below half a pixel."""
    pixel = np.array(result.pixel_size)
    apart = result.positions / pixel - result.corners
    return pixel * (apart.min(0) + apart.max(0)) / 2


def put_product(path, probe_factor):
    """`OURS` as a product of Ptychodus, whose object has its place by its centre."""
    pixel = np.array(OURS.pixel_size)
    middle = (np.array(OURS.object.shape) - OURS.probe.shape[1:]) / 2
    centre = (OURS.positions - pixel * OURS.corners).mean(0) + pixel * middle
    positions = pixel * (OURS.corners - middle) + centre
    with h5py.File(path, "w") as file:
        file["object"] = OURS.object[None]
        file["object"].attrs.update(
            pixel_height_m=pixel[0], pixel_width_m=pixel[1], center_y_m=centre[0], center_x_m=centre[1]
        )
        file["probe"] = OURS.probe[None] * probe_factor
        file["probe"].attrs.update(pixel_height_m=pixel[0], pixel_width_m=pixel[1])
        file["probe_position_y_m"], file["probe_position_x_m"] = positions.T
        file["probe_position_indexes"] = np.arange(len(positions))
        file["object_layer_spacing_m"] = np.zeros(0)
        file.attrs.update(
            name="a", comments="", detector_object_distance_m=SCAN.distance, photon_energy_eV=ENERGY_EV,
            probe_photon_count=(abs(OURS.probe) ** 2).sum(), exposure_time_s=1.0, far_field=True,
        )  # fmt: skip
    return positions


def put_ptyr(path):
    """`OURS` as PtyPy's classes have it: position 0 is at the storage's centre, and windows at whole pixels about theirs."""
    pixel = np.array(OURS.pixel_size)
    half = np.array(OURS.probe.shape[1:]) // 2
    centre = np.array([40.2, 37.7])
    with h5py.File(path, "w") as file:
        content = file.create_group("content")
        content["obj/SMFG00/data"] = OURS.object[None]
        content["obj/SMFG00/_psize"] = pixel
        content["obj/SMFG00/_center"] = centre
        content["obj/SMFG00/_energy"] = ENERGY_EV / 1e3
        content["probe/SMFG00/data"] = OURS.probe
        content["positions/SMFG00"] = pixel * (OURS.corners + half - centre)
        content["pars/scans/MF/data/distance"] = SCAN.distance


@pytest.mark.parametrize("layout", ["product", "product of pty-chi", "ptyr"])
def test_files_of_other_programs_explain_the_frames(tmp_path, layout):
    path = tmp_path / ("r.ptyr" if layout == "ptyr" else "product.h5")
    if layout == "ptyr":
        put_ptyr(path)
    else:
        put_product(path, 1 / 32 if layout == "product of pty-chi" else 1)
    found = ws.ptycho.read(path)
    assert np.array_equal(found.object, OURS.object)
    assert np.allclose(abs(found.probe), abs(OURS.probe), rtol=1e-5)
    assert np.array_equal(found.corners, OURS.corners)
    assert np.allclose(found.pixel_size, OURS.pixel_size)
    expected = OURS.metrics["r_factor"][-1]
    assert misfit(found) == pytest.approx(expected, rel=1e-3)
    found.save(tmp_path / "again.h5")
    for again in (ws.ptycho.read(tmp_path / "again.h5"), pickle.loads(pickle.dumps(found))):
        assert np.array_equal(again.object, found.object) and np.array_equal(again.corners, found.corners)


def test_a_product_is_a_start_and_is_compared_by_the_command(tmp_path):
    positions = put_product(tmp_path / "product.h5", 1 / 32)
    found = ws.ptycho.read(tmp_path / "product.h5")
    scan = {"positions": positions, "engines": [ws.ptycho.RAAR(2)]}
    plain, further = reconstruct(**scan), reconstruct(start=found, **scan)
    assert further.metrics["r_factor"][0] < 0.5 * plain.metrics["r_factor"][0]
    OURS.save(tmp_path / "ours.h5")
    assert compared(tmp_path / "product.h5", tmp_path / "ours.h5") < 1e-4


def compared(a, b):
    """Relative L2 of the command."""
    command = [sys.executable, "-m", "warpstride", "ptycho", "compare", str(a), str(b), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["relative_l2"]


def test_wrong_files_are_refused_with_a_sentence(tmp_path):
    path = tmp_path / "product.h5"
    put_product(path, 1)
    with h5py.File(path, "a") as file:
        file["probe_position_x_m"][3] = 1.0
    with pytest.raises(ws.DataError, match="product.h5: .*for frame 3"):
        ws.ptycho.read(path)
    put_ptyr(tmp_path / "r.ptyr")
    with h5py.File(tmp_path / "r.ptyr", "a") as file:
        file.copy("content/obj/SMFG00", "content/obj/SMFG01")
    with pytest.raises(ws.DataError, match="r.ptyr: /content/obj: expected one object, found SMFG00, SMFG01"):
        ws.ptycho.read(tmp_path / "r.ptyr")


def a_task(**changed):
    """What is taken of a task of pty-chi."""
    probe = OURS.probe[None] / np.sqrt(OURS.probe[0].size)
    arrays = {"object": OURS.object[None], "probe": probe, "probe_positions": OURS.corners - 3.0, **changed}
    centre = np.array([3 + 31 / 2] * 2)
    return SimpleNamespace(
        get_data_to_cpu=lambda name, as_numpy: arrays[name], object=SimpleNamespace(pos_origin_coords=centre)
    )


GEOMETRY = {"wavelength": SCAN.wavelength, "distance": SCAN.distance, "pixel_size": SCAN.pixel_size}


def test_arrays_of_a_task_explain_the_frames():
    found = ws.ptycho.from_pty_chi(a_task(), **GEOMETRY)
    assert np.array_equal(found.corners, OURS.corners)
    assert np.allclose(found.pixel_size, OURS.pixel_size)
    assert misfit(found) == pytest.approx(OURS.metrics["r_factor"][-1], rel=1e-3)
    assert found.backend == "pty-chi"


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"object": np.ones((2, 64, 64))}, "object: expected an array \\(1, row, column\\): one slice"),
        ({"probe": np.ones((1, 32, 32))}, "probe: expected an array"),
        ({"probe_positions": np.ones((3, 3))}, "probe_positions: expected an array \\(frame, 2\\)"),
        ({"probe_positions": np.full((3, 2), np.nan)}, "probe_positions: expected finite numbers"),
        ({"probe_positions": np.full((3, 2), 1e9)}, "inside the object"),
    ],
)
def test_wrong_tasks_are_refused_with_a_sentence(changed, words):
    with pytest.raises(ws.DataError, match=words):
        ws.ptycho.from_pty_chi(a_task(**changed), **GEOMETRY)
    with pytest.raises(ws.DataError, match="expected finite lengths above 0"):
        ws.ptycho.from_pty_chi(a_task(), **{**GEOMETRY, "distance": -1})


def test_a_task_of_the_real_pty_chi(tmp_path):
    ptychi = pytest.importorskip("ptychi.api", reason="NOT TESTED: pty-chi (ptychi) is not installed")
    from ptychi.api.task import PtychographyTask

    scan = ws.ptycho.simulate(frame=64, positions=60, photons=1e6, seed=3)
    pixel = scan.wavelength * scan.distance / (64 * np.array(scan.pixel_size))
    positions = scan.positions / pixel
    options = ptychi.LSQMLOptions()
    options.data_options.data = scan.frames
    size = np.ceil(np.ptp(positions, axis=0)).astype(int) + 64 + 20
    options.object_options.initial_guess = np.ones((1, *size), np.complex64)
    options.object_options.determine_position_origin_coords_by = ptychi.ObjectPosOriginCoordsMethods.POSITIONS
    options.probe_options.initial_guess = scan.probe[None].astype(np.complex64)
    options.probe_position_options.position_y_px, options.probe_position_options.position_x_px = positions.T
    options.reconstructor_options.batch_size = 30
    options.reconstructor_options.num_epochs = 40
    options.reconstructor_options.default_device = ptychi.Devices.CPU
    task = PtychographyTask(options)
    task.run()
    found = ws.ptycho.from_pty_chi(
        task, wavelength=scan.wavelength, distance=scan.distance, pixel_size=scan.pixel_size
    )
    # The frames have 10⁶ photons each in 4096 pixels, so that noise alone gives about 4096/4/10⁶.
    assert misfit(found, scan) < 0.01
    own = ws.ptycho.reconstruct(**scan.arguments, engines=[ws.ptycho.LSQML(40)], backend="cpu")
    found.save(tmp_path / "a.h5")
    own.save(tmp_path / "b.h5")
    assert compared(tmp_path / "a.h5", tmp_path / "b.h5") < 0.1
    few = {"engines": [ws.ptycho.LSQML(1)], "backend": "cpu"}
    plain = ws.ptycho.reconstruct(**scan.arguments, **few)
    further = ws.ptycho.reconstruct(**scan.arguments, start=found, **few)
    assert further.metrics["r_factor"][0] < 0.5 * plain.metrics["r_factor"][0]


def test_a_product_of_the_real_ptychodus(tmp_path):
    io = pytest.importorskip("ptychodus.api.io", reason="NOT TESTED: Ptychodus is not installed")
    from ptychodus.api.geometry import PixelGeometry
    from ptychodus.api.object import Object, ObjectCenter
    from ptychodus.api.probe import ProbeSequence
    from ptychodus.api.probe_positions import ProbePosition, ProbePositionSequence
    from ptychodus.api.product import Product, ProductMetadata

    rows, columns = OURS.pixel_size
    geometry = PixelGeometry(width_m=columns, height_m=rows)
    image = Object(OURS.object[None], geometry, ObjectCenter(x_m=1.3e-6, y_m=-2.7e-6), [])
    # Positions whose windows begin at these corners, by Ptychodus' own relation.
    begin = OURS.corners + (32 - 1) / 2 - (np.array(OURS.object.shape) - 1) / 2
    places = begin * [rows, columns] + [-2.7e-6, 1.3e-6]
    positions = ProbePositionSequence([ProbePosition(n, x_m=x, y_m=y) for n, (y, x) in enumerate(places)])
    on_object = image.get_geometry().map_probe_positions_to_object_y_px(positions)
    assert np.allclose(on_object - 31 / 2, OURS.corners[:, 0])
    metadata = ProductMetadata(
        name="a", comments="", detector_distance_m=SCAN.distance, photon_energy_eV=ENERGY_EV,
        probe_photon_count=float((abs(OURS.probe) ** 2).sum()), exposure_time_s=1.0, mass_attenuation_m2_per_kg=0.0,
        tomography_angle_deg=0.0,
    )  # fmt: skip
    product = Product(metadata, positions, ProbeSequence(OURS.probe[None], None, geometry), image, [])
    io.save_product(tmp_path / "product.h5", product)
    found = ws.ptycho.read(tmp_path / "product.h5")
    assert np.array_equal(found.object, OURS.object) and np.array_equal(found.corners, OURS.corners)
    assert np.allclose(found.positions, places, atol=1e-15)
    assert misfit(found) == pytest.approx(OURS.metrics["r_factor"][-1], rel=1e-3)


@pytest.mark.parametrize("task", [3, None, "task", object()])
def test_what_is_no_task_of_pty_chi_is_a_type_error(task):
    with pytest.raises(TypeError, match="task: expected a task of pty-chi"):
        ws.ptycho.from_pty_chi(task, wavelength=1e-10, distance=1.0, pixel_size=1e-5)
