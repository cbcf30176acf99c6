"""The models for bumps, against sasmodels' own, with the real packages."""

import numpy as np
import pytest

import warpstride as ws

pytest.importorskip("sasmodels")

from sasmodels import bumps_model  # noqa: E402
from sasmodels.core import build_model, load_model_info  # noqa: E402
from sasmodels.data import Data1D, empty_data1D, empty_data2D  # noqa: E402
from sasmodels.direct_model import DirectModel  # noqa: E402
from sasmodels.generate import set_integration_size  # noqa: E402

import warpstride.bumps  # noqa: E402

Q = np.logspace(-2.5, -0.3, 40)
# Errors of sasmodels' rule at the largest q, its sine integral, and where its search for a root ends.
DIFFERENCES = {"ellipsoid": 2e-5, "pearl_necklace": 5e-5, "hayter_msa": 5e-6}
STRUCTURE_FACTORS = {"hardsphere", "hayter_msa", "squarewell", "stickyhardsphere"}


def reference(name):
    """sasmodels' own model in double precision, with more points of its Gauss rules, which are too few for large q."""
    info = load_model_info(name)
    if info.composition is None:
        set_integration_size(info, 150)
    return build_model(info, dtype="double!", platform="dll")


def curves(name, data, **parameters):
    found = DirectModel(data, ws.bumps.load_model(name, backend="cpu"), cutoff=1e-5)(**parameters)
    expected = DirectModel(data, reference(name), cutoff=1e-5)(**parameters)
    return found, expected


def distribution(name):
    """Values of a width for the first size that can have one."""
    sizes = [p for p in ws.sas.Model(name).parameters.values() if p.polydisperse and p.units == "Ang"]
    names = [p.name for p in sizes if p.name != "radius_effective"]
    return {f"{names[0]}_pd": 0.1, f"{names[0]}_pd_n": 9} if names else {}


@pytest.mark.parametrize("name", ws.sas.models())
def test_curves_are_those_of_sasmodels(name):
    data = empty_data1D(Q)
    relative = DIFFERENCES.get(name, 1e-7)
    for parameters in ({}, distribution(name)):
        found, expected = curves(name, data, **parameters)
        assert np.allclose(found, expected, rtol=relative, atol=1e-12), abs(found / expected - 1).max()


def test_there_are_46_models():
    assert len(ws.sas.models()) == 46


@pytest.mark.parametrize("structure", sorted(STRUCTURE_FACTORS & set(ws.sas.models())))
def test_products_are_those_of_sasmodels(structure):
    wide = {"volfraction": 0.06, "radius_pd": 0.1, "radius_pd_n": 11}
    found, expected = curves(f"cylinder@{structure}", empty_data1D(Q), **wide)
    assert np.allclose(found, expected, rtol=1e-5), abs(found / expected - 1).max()


def test_resolution_and_pixels_are_those_of_sasmodels():
    found, expected = curves("cylinder", empty_data1D(Q, resolution=0.05), radius_pd=0.2)
    assert np.allclose(found, expected, rtol=1e-5)
    image = empty_data2D(np.linspace(-0.2, 0.2, 12), resolution=0.0)
    found, expected = curves("cylinder", image, theta=60, phi=20, theta_pd=8, theta_pd_n=9, radius_pd=0.1)
    assert np.allclose(found, expected, rtol=1e-5)


def test_a_fit_of_bumps_agrees_with_that_of_sasmodels_kernel():
    pytest.importorskip("bumps")
    from bumps.fitters import fit
    from bumps.names import FitProblem

    truth = ws.sas.Model("sphere", backend="cpu")(Q, radius=52, radius_pd=0.12, scale=0.01, background=0.02)
    noise = 0.02 * truth
    intensity = truth + noise * np.random.default_rng(5).normal(size=Q.size)
    found = []
    for kernel in (ws.bumps.load_model("sphere", backend="cpu"), reference("sphere")):
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
