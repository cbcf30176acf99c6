"""The resolution of an instrument, compared with the command and with an integral."""

import json
import subprocess
import sys

import numpy as np
import pytest

import warpstride as ws

Q = np.linspace(0.004, 0.06, 30)


def command(*arguments):
    named = [sys.executable, "-m", "warpstride", "sas", *map(str, arguments), "--backend", "cpu", "--json"]
    return json.loads(subprocess.run(named, check=True, capture_output=True).stdout)


@pytest.mark.parametrize(("name", "radius"), [("sphere", 30), ("sphere", 4000), ("cylinder@hardsphere", 20), ("sphere+cylinder", None)])
@pytest.mark.parametrize(
    ("option", "given"),
    [("pinhole:0.05", {"resolution": 0.05}), ("slit:0.02", {"slit": (0.02, 0)}), ("slit:0.02,0.001", {"slit": (0.02, 0.001)})],
)
def test_curves_have_the_bits_of_the_command(name, radius, option, given):
    parameters = {} if radius is None else {"radius": radius}
    setting = [f"--set={key}={value}" for key, value in parameters.items()]
    expected = command("evaluate", name, "--q", "0.004:0.06:30", "--resolution", option, *setting)
    model = ws.sas.Model(name, backend="cpu")
    found = model(np.array(expected["q"]), **given, **parameters)
    assert found.tolist() == expected["intensity"]
    assert not np.allclose(found, model(np.array(expected["q"]), **parameters), rtol=1e-4)


def test_images_have_the_bits_of_the_command():
    expected = command("evaluate", "cylinder", "--q2d", "0.1:6", "--resolution", "pinhole:0.05", "--set=theta=40")
    q = (np.array(expected["qx"]), np.array(expected["qy"]))
    model = ws.sas.Model("cylinder", backend="cpu")
    found = model(q, resolution=0.05, theta=40)
    assert found.tolist() == expected["intensity"]
    width = 0.05 * np.hypot(*q)
    assert np.allclose(model(q, resolution=(width, width), theta=40), found, rtol=1e-12)
    assert not np.allclose(model(q, resolution=(width, 3 * width), theta=40), found, rtol=1e-4)


def test_a_pinhole_is_an_average_over_a_gaussian():
    model, radius, sigma = ws.sas.Model("sphere", backend="cpu"), 400.0, 0.0015
    # From 2.5 standard deviations below to 3 above.
    nodes, weights = np.polynomial.legendre.leggauss(400)
    at = 0.02 + sigma * (2.75 * nodes + 0.25)
    weights = weights * np.exp(-0.5 * ((at - 0.02) / sigma) ** 2)
    expected = np.sum(weights * model(at, radius=radius, background=0.0)) / np.sum(weights)
    found = model([0.02], radius=radius, background=0.0, resolution=[sigma])
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_batch_has_the_resolution_of_its_largest_particles():
    model = ws.sas.Model("sphere", backend="cpu")
    found = model.batch(Q, {"radius": [500, 4000]}, resolution=0.05, background=0)
    assert found[1].tolist() == model(Q, radius=4000, resolution=0.05, background=0).tolist()
    assert np.allclose(found[0], model(Q, radius=500, resolution=0.05, background=0), rtol=1e-3)
    emulated = ws.sas.Model("sphere", backend="emulator")(Q[:3], radius=50, resolution=0.05)
    assert np.allclose(emulated, model(Q[:3], radius=50, resolution=0.05), rtol=1e-9)


def test_engines_are_kept_for_equal_resolutions_only():
    model = ws.sas.Model("sphere", backend="cpu")
    dq = 0.05 * Q
    first = model(Q, radius=50, resolution=dq)
    plain = model(Q, radius=50)
    dq *= 2
    second = model(Q, radius=50, resolution=dq)
    assert not np.allclose(first, second, rtol=1e-6) and not np.allclose(first, plain, rtol=1e-6)
    assert np.array_equal(model(Q, radius=50, resolution=0.05), first)
    assert np.array_equal(model(Q, radius=50), plain)


def test_fits_of_large_particles_have_the_bits_of_the_command(tmp_path):
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=2000, scale=0.02, background=0.01, resolution=0.05)
    path = tmp_path / "large.txt"
    columns = np.column_stack((Q, intensity, 0.01 * intensity, 0.05 * Q))
    np.savetxt(path, columns, header="q I dI dq", comments="", fmt="%.17g")
    found = ws.sas.fit(model, path, {"radius": (1900, 2100), "scale": (0, 1)}, background=0.01)
    fitting = ["--fit=radius=1900:2100", "--fit=scale=0:1", "--set=background=0.01"]
    expected = command("fit", "sphere", path, *fitting)
    values = {one["name"]: one["value"] for one in expected["parameters"]}
    assert {name: one.value for name, one in found.parameters.items()} == values
    assert found.parameters["radius"].value == pytest.approx(2000, rel=1e-6)


@pytest.mark.parametrize(
    ("q", "options", "words"),
    [
        (Q, {"resolution": 0.0}, "above 0 and below 1, found 0"),
        (Q, {"resolution": np.nan}, "above 0 and below 1"),
        (Q, {"resolution": 1}, "above 0 and below 1"),
        (Q, {"resolution": "wide"}, "resolution"),
        (Q, {"resolution": Q[:3]}, "expected the shape of q"),
        (Q, {"resolution": -Q}, "a number from 0 to"),
        (Q, {"resolution": (Q, Q)}, "a tuple of two for an image"),
        (Q, {"resolution": 0.1, "slit": (0.1, 0)}, "expected none beside resolution"),
        (Q, {"slit": (0.0, 0.0)}, "one above 0"),
        (Q, {"slit": 0.1}, "half length, half width"),
        (Q, {"slit": (-0.1, 0)}, "the slit's length"),
        (Q, {"slit": (0.1, np.inf)}, "the slit's width"),
        ([0.0, 0.1], {"resolution": 0.1}, "q of point 1"),
        ((Q, Q), {"resolution": Q}, "of pixels, as q is an image"),
        ((Q, Q), {"resolution": (Q, Q, Q)}, "a tuple of two for an image"),
        ((Q, Q), {"slit": (0.1, 0)}, "expected none for an image"),
    ],
)
def test_bad_resolutions_are_data_errors(q, options, words):
    with pytest.raises(ws.DataError, match=words):
        ws.sas.Model("sphere", backend="cpu")(q, **options)
