"""Data from files, magnetic models, several devices and q = 0, compared with the command."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import warpstride as ws


def evaluated(*arguments):
    command = [sys.executable, "-m", "warpstride", "sas", "evaluate", *map(str, arguments), "--backend", "cpu", "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    intensity = [np.inf if value is None else value for value in found["intensity"]]
    return {**found, "intensity": np.array(intensity)}


MAGNETIC = {"sld_M0": 3, "sld_mtheta": 40, "sld_mphi": 20, "sld_solvent_M0": 0.5, "up_frac_i": 0.3, "up_theta": 60}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("sphere", {"radius": 30, **MAGNETIC}),
        ("cylinder@hardsphere", {"theta": 40, "phi": 20, "volfraction": 0.1, **MAGNETIC}),
        ("sphere+cylinder", {"A_sld_M0": 2, "up_frac_f": 0.7, "B_sld_M0": 1}),
    ],
)
def test_magnetic_models_have_the_bits_of_the_command(name, parameters):
    setting = [f"--set={key}={value}" for key, value in parameters.items()]
    expected = evaluated(name, "--q2d", "0.1:6", *setting)
    model = ws.sas.Model(name, backend="cpu", magnetic=True)
    q = (np.array(expected["qx"]), np.array(expected["qy"]))
    found = model(q, **parameters)
    assert np.array_equal(found, expected["intensity"])
    nuclear = ws.sas.Model(name, backend="cpu")
    plain = {key: value for key, value in parameters.items() if key in nuclear.parameters}
    assert not np.allclose(found, nuclear(q, **plain))
    # A batch and a pickled model have the same parameters.
    magnetic = next(key for key in parameters if key.endswith("M0"))
    sets = model.batch(q, {magnetic: [0.0, parameters[magnetic]]}, **{k: v for k, v in parameters.items() if k != magnetic})
    assert np.array_equal(sets[1], found) and not np.array_equal(sets[0], found)
    assert np.array_equal(pickle.loads(pickle.dumps(model))(q, **parameters), found)


def test_only_the_part_of_a_moment_across_q_scatters():
    # The moment lies along x for mtheta = mphi = 0, so along qx there is the nuclear intensity alone.
    model = ws.sas.Model("sphere", backend="cpu", magnetic=True)
    nuclear = ws.sas.Model("sphere", backend="cpu")
    along, across = (np.array([0.05]), np.array([0.0])), (np.array([0.0]), np.array([0.05]))
    assert model(along, sld_M0=5) == pytest.approx(nuclear(along), rel=1e-12)
    # Across it, unpolarised neutrons see nuclear and magnetic length densities, whose intensities add.
    absolute = {"sld_solvent": 0, "background": 0}
    found = model(across, sld=1, sld_M0=2, up_frac_i=0.5, up_frac_f=0.5, **absolute)
    assert found == pytest.approx(nuclear(across, sld=1, **absolute) + nuclear(across, sld=2, **absolute), rel=1e-9)


def test_magnetism_is_refused_where_it_is_not():
    with pytest.raises(ws.DataError, match="expected a model with magnetic=True"):
        ws.sas.Model("sphere")((np.ones(2), np.ones(2)), sld_M0=3)
    with pytest.raises(ws.DataError, match="expected an image .qx, qy., found a curve"):
        ws.sas.Model("sphere", magnetic=True, backend="cpu")([0.1])
    with pytest.raises(ws.DataError, match="scattering length densities, found guinier"):
        ws.sas.Model("guinier", magnetic=True)
    plain, magnetic = ws.sas.Model("sphere"), ws.sas.Model("sphere", magnetic=True)
    added = magnetic.parameters.keys() - plain.parameters.keys()
    assert {"sld_M0", "sld_solvent_mphi", "up_frac_i", "up_phi"} < added


def test_a_moment_is_fitted():
    side = np.linspace(-0.1, 0.1, 12)
    qx, qy = (axis.ravel() for axis in np.meshgrid(side, side))
    model = ws.sas.Model("sphere", backend="cpu", magnetic=True)
    known = {"radius": 40, "up_frac_i": 0.5, "up_frac_f": 0.5}
    intensity = model((qx, qy), sld_M0=2.5, **known)
    data = ((qx, qy), intensity, 0.01 * intensity)
    found = ws.sas.fit(model, data, {"sld_M0": (0, 5)}, start={"sld_M0": 1.0}, **known)
    assert found.parameters["sld_M0"].value == pytest.approx(2.5, rel=1e-6)


@pytest.mark.parametrize("name", ["sphere", "porod", "power_law", "cylinder"])
def test_intensities_at_zero_are_those_of_the_command(name):
    expected = evaluated(name, "--points", "0,0.01,0.1")["intensity"]
    model = ws.sas.Model(name, backend="cpu")
    assert np.array_equal(model([0, 0.01, 0.1]), expected)
    assert np.isinf(expected[0]) == (name in ("porod", "power_law"))
    assert np.array_equal(model([0.0]), expected[:1])
    pixels = evaluated(name, "--points", "0:0,0.01:0")["intensity"]
    assert np.array_equal(model((np.array([0, 0.01]), np.zeros(2))), pixels)
    with pytest.raises(ws.DataError, match=r"q of point 1 \(from 0\): expected a positive number"):
        model([0.0, -0.1])


def test_several_devices_agree_with_one():
    q = np.geomspace(1e-3, 0.5, 40)
    options = {"radius": 30, "radius_pd": 0.1}
    one = ws.sas.Model("sphere", backend="emulator")(q, **options)
    model = ws.sas.Model("sphere", backend="emulator", devices=3)
    assert np.array_equal(model(q, **options), one)
    several = model.batch(q, {"radius": [20, 30, 40, 50]}, radius_pd=0.1)
    assert np.array_equal(several[1], one)
    assert np.allclose(one, ws.sas.Model("sphere", backend="cpu")(q, **options), rtol=1e-9)
    summed = ws.sas.Model("sphere+cylinder", backend="emulator", devices=2)(q[:4])
    assert np.allclose(summed, ws.sas.Model("sphere+cylinder", backend="cpu")(q[:4]), rtol=1e-9)
    for bad, words in [
        ({"backend": "cpu", "devices": 2}, "expected backend cuda or emulator"),
        ({"backend": "emulator", "devices": "all"}, "number of emulated devices"),
        ({"backend": "emulator", "devices": 2, "device": 0}, "expected none beside devices"),
        ({"backend": "emulator", "device": 0}, "device"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            ws.sas.Model("sphere", **bad)(q)


Q = np.linspace(0.01, 0.3, 25)


@pytest.fixture
def curve(tmp_path):
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35, scale=0.02, background=0.01)
    path = tmp_path / "curve.txt"
    np.savetxt(path, np.column_stack((Q, intensity, 0.01 * intensity, 0.02 * Q)), header="q I dI dq", comments="", fmt="%.17g")
    return path


def test_columns_are_read_and_fitted(curve):
    data = ws.sas.read(curve)
    assert np.array_equal(data.q, Q) and np.array_equal(data.dq, 0.02 * Q) and data.slit is None and data.pixel_dq is None
    model, free = ws.sas.Model("sphere", backend="cpu"), {"radius": (30, 40), "scale": (0, 1)}
    found = ws.sas.fit(model, data, free, background=0.01)
    # The resolution of the file is in the data, as it is in the file.
    named = ws.sas.fit(model, curve, free, background=0.01)
    columns = ws.sas.fit(model, (data.q, data.intensity, data.sigma, data.dq), free, background=0.01)
    for other in (named, columns):
        assert other.parameters["radius"].value == found.parameters["radius"].value
    unsmeared = ws.sas.fit(model, data, free, background=0.01, resolution=False)
    assert unsmeared.parameters["radius"].value == pytest.approx(35, rel=1e-6)
    assert abs(found.parameters["radius"].value - 35) > 1e-4
    both = ws.sas.fit(model, [data, curve], free, shared=["radius", "scale"], background=0.01)
    assert both.parameters["radius"].value == pytest.approx(found.parameters["radius"].value, rel=1e-6)


CANSAS = """<?xml version="1.0"?>
<SASroot version="1.1" xmlns="urn:cansas1d:1.1"><SASentry><Title>{title}</Title><Run>1</Run><SASdata>{rows}</SASdata>
<SASsample><ID>s</ID></SASsample><SASinstrument><name>i</name><SASsource><radiation>neutron</radiation></SASsource>
<SAScollimation/><SASdetector><name>d</name></SASdetector></SASinstrument><SASnote/></SASentry></SASroot>
"""


def test_cansas_is_read_with_its_units(tmp_path):
    row = '<Idata><Q unit="1/nm">{q}</Q><I unit="1/m">{i}</I><Idev unit="1/m">{s}</Idev><dQl unit="1/nm">0.3</dQl><dQw unit="1/nm">0.1</dQw></Idata>'
    rows = "".join(row.format(q=10 * q, i=100 * (1 + q), s=2) for q in Q)
    (tmp_path / "c.xml").write_text(CANSAS.format(title="spheres", rows=rows))
    data = ws.sas.read(tmp_path / "c.xml")
    assert data.title == "spheres"
    assert np.allclose(data.q, Q) and np.allclose(data.intensity, 1 + Q) and np.allclose(data.sigma, 0.02)
    assert data.dq is None and np.allclose(data.slit[0], 0.03) and np.allclose(data.slit[1], 0.01)
    # A slit reaches the fit.
    model = ws.sas.Model("sphere", backend="cpu")
    found = ws.sas.fit(model, data, ["scale"], background=1.0)
    assert not np.allclose(found.model, ws.sas.fit(model, data, ["scale"], background=1.0, resolution=False).model, rtol=1e-5)


@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_files_of_the_command_are_read(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    expected = evaluated("sphere", "--q", "0.01:0.2:20", "-o", path)
    data = ws.sas.read(path)
    assert np.allclose(data.q, expected["q"], rtol=1e-15) and np.allclose(data.intensity, expected["intensity"], rtol=1e-15)
    image = tmp_path / f"image.{ending}"
    expected = evaluated("sphere", "--q2d", "0.1:5", "-o", image)
    data = ws.sas.read(image)
    assert np.allclose(data.q[0], expected["qx"]) and np.allclose(data.q[1], expected["qy"])
    assert np.allclose(data.intensity, expected["intensity"]) and data.sigma is None


def test_bad_files_and_options_are_data_errors(curve, tmp_path):
    (tmp_path / "no.txt").write_text("nothing here\n")
    for name in ("no.txt", "absent.txt"):
        with pytest.raises(ws.DataError, match=name):
            ws.sas.read(tmp_path / name)
    for options, words in [
        ({"kind": "cube"}, "expected curve or image"),
        ({"q_unit": "1/m"}, "expected 1/A or 1/nm"),
        ({"select": "9"}, "curve.txt"),
    ]:
        with pytest.raises(ws.DataError, match=words):
            ws.sas.read(curve, **options)
    nm = ws.sas.read(curve, q_unit="1/nm")
    assert np.allclose(nm.q, Q / 10)


def test_what_a_file_holds_is_said_as_the_command_says_it(tmp_path):
    q = np.linspace(0.005, 0.2, 40)
    intensity = 100 * np.exp(-((30 * q) ** 2) / 3)
    rows = [f"{10 * a} {b} {0.03 * b}" for a, b in zip(q, intensity)]
    rows[6] = f"{10 * q[6]} nan 1"
    path = tmp_path / "a.dat"
    path.write_text("# q_nm^-1 I(q) Sig(q)\n" + "\n".join(rows) + "\n")
    found = ws.sas.read(path)
    assert np.allclose(found.q, np.delete(q, 6)) and np.allclose(found.sigma, 0.03 * found.intensity)
    command = [sys.executable, "-m", "warpstride", "sas", "info", str(path), "--json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["notes"]
    assert found.notes == said and "line 8 is nan" in " ".join(said).lower()
    path.write_text("# 2th_deg I(q) Sig(q)\n" + "\n".join(rows) + "\n")
    with pytest.raises(ws.DataError, match="needs the wavelength"):
        ws.sas.read(path)


def test_a_mesh_that_misses_a_distribution_is_warned_of():
    model = ws.sas.Model("sphere", backend="cpu")
    with pytest.warns(UserWarning, match="the mesh does not resolve the distribution of radius"):
        model([0.01], radius_pd=1.0, radius_pd_type="schulz", radius_pd_n=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model([0.01], radius_pd=1.0, radius_pd_type="schulz")
