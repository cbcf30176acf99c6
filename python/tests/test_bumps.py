"""The models for bumps, against sasmodels' own, with the real packages."""

import numpy as np
import pytest

import warpstride as ws

pytest.importorskip("sasmodels")

from sasmodels import bumps_model  # noqa: E402
from sasmodels.core import load_model  # noqa: E402
from sasmodels.data import Data1D, empty_data1D, empty_data2D  # noqa: E402
from sasmodels.direct_model import DirectModel  # noqa: E402

import warpstride.bumps  # noqa: E402

Q = np.logspace(-2.5, -0.3, 40)
STRUCTURE_FACTORS = {"hardsphere", "hayter_msa", "squarewell", "stickyhardsphere"}


@pytest.fixture(scope="module")
def tinycc(tmp_path_factory):
    """sasmodels' own kernels, compiled here without a GPU."""
    return {"dtype": "double!", "platform": "dll"}


def curves(name, own, data, **parameters):
    found = DirectModel(data, ws.bumps.load_model(name, backend="cpu"), cutoff=1e-5)(**parameters)
    expected = DirectModel(data, load_model(name, **own), cutoff=1e-5)(**parameters)
    return found, expected


def distribution(name):
    """Values of a width for the first parameter that can have one."""
    sizes = [p for p in ws.sas.Model(name).parameters.values() if p.polydisperse and p.units == "Ang"]
    return {f"{sizes[0].name}_pd": 0.1, f"{sizes[0].name}_pd_n": 9} if sizes else {}


@pytest.mark.parametrize("name", ws.sas.models())
def test_curves_are_those_of_sasmodels(name, tinycc):
    data = empty_data1D(Q)
    found, expected = curves(name, tinycc, data)
    assert np.allclose(found, expected, rtol=2e-5, atol=1e-12)
    wide = distribution(name)
    if wide:
        found, expected = curves(name, tinycc, data, **wide)
        assert np.allclose(found, expected, rtol=2e-5, atol=1e-12)


def test_there_are_46_models():
    assert len(ws.sas.models()) == 46


@pytest.mark.parametrize("structure", sorted(STRUCTURE_FACTORS & set(ws.sas.models())))
def test_products_are_those_of_sasmodels(structure, tinycc):
    found, expected = curves(f"cylinder@{structure}", tinycc, empty_data1D(Q), volfraction=0.15, radius_pd=0.1, radius_pd_n=11)
    assert np.allclose(found, expected, rtol=1e-4)


def test_resolution_and_pixels_are_those_of_sasmodels(tinycc):
    found, expected = curves("cylinder", tinycc, empty_data1D(Q, resolution=0.05), radius_pd=0.2)
    assert np.allclose(found, expected, rtol=1e-5)
    image = empty_data2D(np.linspace(-0.2, 0.2, 12), resolution=0.0)
    found, expected = curves("cylinder", tinycc, image, theta=60, phi=20, theta_pd=8, theta_pd_n=9, radius_pd=0.1)
    assert np.allclose(found, expected, rtol=1e-5)


def test_a_fit_of_bumps_agrees_with_that_of_sasmodels_kernel(tinycc):
    pytest.importorskip("bumps")
    from bumps.fitters import fit
    from bumps.names import FitProblem

    truth = ws.sas.Model("sphere", backend="cpu")(Q, radius=52, radius_pd=0.12, scale=0.01, background=0.02)
    noise = 0.02 * truth
    intensity = truth + noise * np.random.default_rng(5).normal(size=Q.size)
    found = []
    for kernel in (ws.bumps.load_model("sphere", backend="cpu"), load_model("sphere", **tinycc)):
        model = bumps_model.Model(kernel, radius=45, radius_pd=0.2, scale=0.02, background=0.01)
        model.radius.range(20, 90)
        model.radius_pd.range(0.01, 0.5)
        model.scale.range(0.001, 0.1)
        model.background.range(0, 1)
        data = Data1D(x=Q, y=intensity, dy=noise)
        problem = FitProblem(bumps_model.Experiment(data, model))
        result = fit(problem, method="lm", verbose=False)
        found.append((dict(zip(problem.labels(), result.x)), problem.chisq()))
    (ours, chi2), (theirs, their_chi2) = found
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=1e-4)
    assert chi2 == pytest.approx(their_chi2, rel=1e-6)
    own = ws.sas.fit(
        ws.sas.Model("sphere", backend="cpu", cutoff=1e-5),
        (Q, intensity, noise),
        {"radius": (20, 90), "radius_pd": (0.01, 0.5), "scale": (0.001, 0.1), "background": (0, 1)},
        start={"radius": 45, "radius_pd": 0.2, "scale": 0.02, "background": 0.01},
    )
    for name, value in theirs.items():
        assert own.parameters[name].value == pytest.approx(value, rel=1e-4)


def test_magnetic_moments_and_unknown_models_are_refused():
    model = ws.bumps.load_model("sphere", backend="cpu")
    image = empty_data2D(np.linspace(-0.2, 0.2, 4), resolution=0.0)
    with pytest.raises(ws.DataError, match="magnetic"):
        DirectModel(image, model)(sld_M0=2.0)
    with pytest.raises(ws.DataError, match="spere"):
        ws.bumps.load_model("spere")
