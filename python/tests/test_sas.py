"""Small-angle scattering."""

import json
import pickle

import numpy as np
import pytest

import warpstride as ws

Q = np.linspace(0.005, 0.4, 60)


def test_a_sphere_has_its_formula():
    model = ws.sas.Model("sphere", backend="cpu")
    found = model(Q, radius=40.0, sld=4.0, sld_solvent=1.0, scale=0.02, background=0.1)
    x = Q * 40.0
    form = 3 * (np.sin(x) - x * np.cos(x)) / x**3
    expected = 0.02 * 1e-4 * 9 * form**2 * 4 / 3 * np.pi * 40.0**3 + 0.1
    assert np.allclose(found, expected, rtol=1e-10)


def test_a_batch_has_the_bits_of_single_calls():
    model = ws.sas.Model("cylinder", backend="cpu")
    radius, width = [20.0, 30.0, 20.0], [0.1, 0.2, 0.0]
    found = model.batch(Q, {"radius": radius, "radius_pd": width}, length=200, radius_pd_n=11)
    for row, r, w in zip(found[:2], radius, width):
        assert row.tolist() == model(Q, length=200, radius=r, radius_pd=w, radius_pd_n=11).tolist()
    # A width of 0 in a batch is a distribution of one value.
    assert np.allclose(found[2], model(Q, length=200, radius=20.0), rtol=1e-12)


def test_pixels_keep_their_shape():
    model = ws.sas.Model("cylinder", backend="cpu")
    qx, qy = np.meshgrid(np.linspace(-0.1, 0.1, 6), np.linspace(-0.1, 0.1, 4))
    image = model((qx, qy), theta=90, phi=0, theta_pd=5, theta_pd_n=5)
    assert image.shape == (4, 6)
    assert np.allclose(image, image[::-1, ::-1])


def test_the_emulator_agrees_with_the_cpu():
    q = Q[:4]
    found = ws.sas.Model("sphere", backend="emulator")(q)
    assert np.allclose(found, ws.sas.Model("sphere", backend="cpu")(q), rtol=1e-9)


def test_models_pickle():
    model = pickle.loads(pickle.dumps(ws.sas.Model("sphere@hardsphere", backend="cpu", precision="f32")))
    assert model(Q).shape == Q.shape


def test_a_fit_finds_the_truth_with_its_width():
    model = ws.sas.Model("sphere", backend="cpu")
    truth = {"radius": 50.0, "radius_pd": 0.15, "scale": 0.01, "background": 0.02}
    intensity = model(Q, **truth)
    found = ws.sas.fit(
        model,
        (Q, intensity, 0.02 * intensity),
        {"radius": (20, 100), "radius_pd": (0.01, 0.5), "scale": None, "background": None},
        start={"radius": 45},
    )
    for name, value in truth.items():
        assert found.parameters[name].value == pytest.approx(value, rel=1e-4)
    assert found.converged and found.covariance.shape == (4, 4)
    assert np.allclose(found.model, intensity, rtol=1e-4)
    assert found.chi2 < 1e-3 and found.summary["method"] == "lm"
    assert pickle.loads(pickle.dumps(found)).chi2 == found.chi2


def test_a_fit_reads_files(tmp_path):
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=30)
    path = tmp_path / "curve.txt"
    np.savetxt(path, np.column_stack([Q, intensity, 0.01 * intensity]))
    found = ws.sas.fit(model, path, {"radius": (10, 60)}, start={"radius": 28}, q_range=(0.01, 0.3))
    assert found.parameters["radius"].value == pytest.approx(30, rel=1e-5)
    assert len(found.model) < len(Q)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.sas.Model("spere"), "did you mean|expected the name of a model"),
        (lambda: ws.sas.Model("sphere")(Q, radios=1), "radios: expected a parameter of sphere"),
        (lambda: ws.sas.Model("sphere")(Q, radius=-1), "radius: expected a number from 0"),
        (lambda: ws.sas.Model("sphere")(Q, radius="big"), "radius: expected a number, found 'big'"),
        (lambda: ws.sas.Model("sphere")(Q, radius=float("nan")), "radius"),
        (lambda: ws.sas.Model("sphere")([0.1, -0.1]), r"q of point 1 \(from 0\): expected a positive number"),
        (lambda: ws.sas.Model("sphere")([]), "expected 1 to"),
        (lambda: ws.sas.Model("sphere")((Q, Q[:-1] * np.nan)), "expected one shape"),
        (lambda: ws.sas.Model("sphere")(Q, radius_pd=-0.1), "radius_pd: expected a width"),
        (lambda: ws.sas.Model("sphere")(Q, radius_pd=0.1, radius_pd_type="flat"), "expected gaussian"),
        (lambda: ws.sas.Model("sphere")(Q, radius_pd=0.1, radius_pd_n=0), "radius_pd_n: expected a whole number from 1 to 100000"),
        (lambda: ws.sas.Model("sphere")(Q, sld_pd=0.1), "sld_pd: expected a parameter of sphere that can"),
        (lambda: ws.sas.Model("cylinder")(Q, theta_pd=5), "theta is an angle"),
        (lambda: ws.sas.Model("sphere", backend="gpu")(Q), "expected auto, cpu, cuda or emulator"),
        (lambda: ws.sas.Model("sphere", precision="f16")(Q), "expected f32 or f64"),
        (lambda: ws.sas.Model("sphere", cutoff=2)(Q), "cutoff: expected a number from 0"),
        (lambda: ws.sas.Model("sphere").batch(Q, {"radius": [1, 2], "scale": [1]}), "one length"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q[1:]), ["radius"]), r"data: intensity: expected shape \(60,\), as q has it, found \(59,\)"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q, 0 * Q), ["radius"]), "standard deviation above 0"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q), ["radios"]), "radios: expected a parameter"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q), {"radius": (60, 10)}), "radius"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), "absent.txt", ["radius"]), "absent.txt: cannot be read"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_distributions_from_arrays_are_sums():
    model = ws.sas.Model("sphere", backend="cpu")
    values, weights = np.array([30.0, 40.0, 55.0]), np.array([1.0, 2.0, 0.5])
    found = model(Q, radius_pd=(values, weights), background=0.0, sld=3, sld_solvent=1)
    volumes = values**3
    single = [model(Q, radius=radius, background=0.0, sld=3, sld_solvent=1) for radius in values]
    # I is the mean of V I/V over the number of particles.
    expected = sum(w * v * one for w, v, one in zip(weights, volumes, single)) / (weights * volumes).sum()
    assert np.allclose(found, expected, rtol=1e-10)
    again = model(Q, radius=999.0, radius_pd=(values, weights), background=0.0, sld=3, sld_solvent=1)
    assert np.array_equal(again, found)


def two_contrasts():
    model = ws.sas.Model("core_shell_sphere", backend="cpu")
    truth = {"radius": 40.0, "thickness": 15.0, "sld_core": 1.0, "sld_shell": 3.0, "scale": 0.02}
    curves = [model(Q, **truth, sld_solvent=solvent, background=0.01) for solvent in (6.0, 0.0)]
    return model, [(Q, curve, 0.01 * curve) for curve in curves]


def test_several_sets_of_data_are_fitted_together():
    model, data = two_contrasts()
    found = ws.sas.fit(
        model,
        data,
        {"radius": (20, 60), "thickness": (5, 30), "scale": (0.001, 0.1), "background": (0, 0.1)},
        shared=["radius", "thickness", "scale"],
        each=[{"sld_solvent": 6.0}, {"sld_solvent": 0.0}],
        start={"radius": 38, "thickness": 17},
        sld_core=1.0,
        sld_shell=3.0,
    )
    assert list(found.parameters) == ["radius", "thickness", "scale", "background.1", "background.2"]
    assert found.parameters["radius"].value == pytest.approx(40, rel=1e-5)
    assert found.parameters["thickness"].value == pytest.approx(15, rel=1e-4)
    assert [len(of.model) for of in found.sets] == [60, 60] and len(found.model) == 120
    assert np.allclose(found.sets[1].model, data[1][1], rtol=1e-4)
    assert np.array_equal(pickle.loads(pickle.dumps(found)).residuals, found.residuals)


def test_ties_are_kept():
    model, data = two_contrasts()
    found = ws.sas.fit(
        model,
        data[0],
        {"radius": (20, 60), "scale": (0.001, 0.1)},
        ties={"thickness": "radius*3/8"},
        start={"radius": 38},
        sld_core=1.0,
        sld_shell=3.0,
        sld_solvent=6.0,
        background=0.01,
    )
    assert found.parameters["radius"].value == pytest.approx(40, rel=1e-5)
    assert found.tied["thickness"] == pytest.approx(found.parameters["radius"].value * 3 / 8)


def test_a_callback_ends_a_fit():
    model, data = two_contrasts()
    seen = []

    def callback(of):
        seen.append(of)
        return len(seen) == 3

    options = {"sld_core": 1.0, "sld_shell": 3.0, "sld_solvent": 6.0, "start": {"radius": 55}}
    found = ws.sas.fit(model, data[0], {"radius": (20, 60), "scale": None}, callback=callback, **options)
    assert [of.round for of in seen] == [1, 2, 3] and not found.converged
    assert seen[-1].chi2_per_point == found.chi2 / 60
    with pytest.raises(ZeroDivisionError):
        ws.sas.fit(model, data[0], {"radius": (20, 60)}, callback=lambda of: 1 / 0, **options)


def test_fits_are_saved_and_given_to_xarray(tmp_path):
    model, data = two_contrasts()
    found = ws.sas.fit(model, data[:1], {"scale": None}, sld_core=1.0, sld_shell=3.0, sld_solvent=6.0, radius=40)
    found.save(tmp_path / "fit.json")
    assert json.loads((tmp_path / "fit.json").read_text())["chi2"] == found.chi2
    pytest.importorskip("xarray")
    assert found.to_xarray()["model"].shape == (60,)


def test_a_resolution_beside_the_data_is_refused():
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35.0)
    with pytest.raises(ws.DataError) as refused:
        ws.sas.fit(model, (Q, intensity, intensity), ["radius"], resolution=0.1)
    assert str(refused.value) == (
        "resolution: expected True or False, found 0.1; standard deviations of q are given with the data, as "
        "(q, intensity, sigma, dq)"
    )


def test_columns_of_data_have_the_shape_of_q():
    model = ws.sas.Model("cylinder", backend="cpu")
    qx, qy = np.meshgrid(np.linspace(-0.1, 0.1, 6), np.linspace(-0.05, 0.15, 4))
    intensity = model((qx, qy), radius=25.0, theta=80.0, phi=30.0)
    sigma = 0.01 * intensity
    free, values = {"radius": (20, 40)}, {"theta": 80.0, "phi": 30.0}
    found = ws.sas.fit(model, ((qx, qy), intensity, sigma), free, **values)
    assert found.parameters["radius"].value == pytest.approx(25.0, rel=1e-6)
    flat = ws.sas.fit(model, ((qx.ravel(), qy.ravel()), intensity.ravel(), sigma.ravel()), free, **values)
    assert flat.parameters["radius"].value == found.parameters["radius"].value
    for name, columns, shape in [
        ("intensity", ((qx, qy), intensity.T, sigma.T), (6, 4)),
        ("sigma", ((qx, qy), intensity, sigma.T), (6, 4)),
        ("intensity", ((qx, qy), intensity.ravel(), sigma.ravel()), (24,)),
        ("intensity", ((qx.ravel(), qy.ravel()), intensity, sigma), (4, 6)),
        ("dq", (qx**2 + 0.01, intensity, sigma, sigma.T), (6, 4)),
        ("sigma", (qx**2 + 0.01, intensity, 0.1), ()),
    ]:
        expected = np.shape(columns[0])[-1:] if np.ndim(columns[0][0]) == 1 and isinstance(columns[0], tuple) else (4, 6)
        with pytest.raises(ws.DataError) as refused:
            ws.sas.fit(model, columns, free)
        assert str(refused.value) == f"data: {name}: expected shape {expected}, as q has it, found {shape}"


def test_starts_belong_to_levenberg_marquardt():
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35.0)
    given = (model, (Q, intensity, 0.01 * intensity), {"radius": (10, 60)})
    for starts in (1, 4):
        with pytest.raises(ws.DataError, match=rf'^starts: expected none beside method="de", .*, found {starts}$'):
            ws.sas.fit(*given, method="de", starts=starts)
    found = ws.sas.fit(*given, method="de", generations=30)
    assert found.parameters["radius"].value == pytest.approx(35.0, rel=1e-6)
    assert ws.sas.fit(*given, start={"radius": 33}).chi2 == ws.sas.fit(*given, start={"radius": 33}, starts=1).chi2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ws.sas.Model("sphere")(Q, resolution=[[1, 2], [3]]), "resolution: expected an array"),
        (lambda: ws.sas.Model("sphere")(([[1, 2], [3]], [1, 2])), "qx: expected an array"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q), ["radius"], each=3), "each: expected a list of mappings, found 3"),
        (lambda: ws.sas.fit(ws.sas.Model("sphere"), (Q, Q), ["radius"], each=[3]), r"each: .*, found \[3\]"),
    ],
)
def test_lists_of_other_shapes_and_kinds_name_their_argument(call, words):
    with pytest.raises(ws.DataError, match=f"^{words}"):
        call()


def test_a_batch_that_does_not_fit_is_refused_before_it_is_computed():
    model, q = ws.sas.Model("sphere", backend="cpu"), np.linspace(0.01, 0.3, 100_000)
    with pytest.raises(ws.OutOfMemoryError, match="a batch of 1000000 sets at 100000 points needs .* of memory"):
        model.batch(q, {"radius": np.linspace(10, 20, 10**6)})


def test_invalid_points_of_arrays_are_left_out_with_a_note():
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35, background=0.01)
    good, free = 0.01 * intensity, {"radius": (30, 40)}

    def fit(**changes):
        columns = {"q": Q, "intensity": intensity, "sigma": good, "dq": None}
        for name, (at, value) in changes.items():
            columns[name] = columns[name].copy()
            columns[name][at] = value
        return ws.sas.fit(model, tuple(columns.values()), free, background=0.01)

    for name, value in [("q", np.nan), ("q", -0.1), ("intensity", np.nan), ("intensity", np.inf), ("sigma", 0), ("sigma", -1)]:
        found = fit(**{name: (3, value)})
        what = {"intensity": "the intensity"}.get(name, name)
        assert found.notes[0].startswith(f"1 of {len(Q)} points left out: {what} of point 3 (from 0) is "), found.notes
        assert found.summary["notes"] == found.notes and found.notes[0] in repr(found)
        assert found.parameters["radius"].value == pytest.approx(35, rel=1e-5)
        assert len(found.model) == len(Q) - 1
    assert fit().notes == []
    with pytest.raises(ws.DataError, match=r"sigma of point 0 \(from 0\): expected .*; 60 of 60 points .* give no standard dev"):
        ws.sas.fit(model, (Q, intensity, 0 * Q), free)
    unweighted = ws.sas.fit(model, (Q, intensity, 0 * Q), free, weights="unit", background=0.01)
    assert unweighted.parameters["radius"].value == pytest.approx(35, rel=1e-5)


def test_points_without_intensity_may_be_left_out():
    model = ws.sas.Model("sphere", backend="cpu")
    intensity = model(Q, radius=35, background=0.01)
    intensity[5] = -1e6
    data = (Q, intensity, 0.01 * np.abs(intensity))
    found = ws.sas.fit(model, data, {"radius": (30, 40)}, background=0.01)
    assert any("a fit with positive=True leaves them out" in one for one in found.problems)
    found = ws.sas.fit(model, data, {"radius": (30, 40)}, background=0.01, positive=True)
    assert len(found.model) == len(Q) - 1 and found.problems == []
    large = ws.sas.fit(model, (10 * Q, intensity, np.ones(len(Q))), {"radius": (30, 40)})
    assert any('divide it by 10, or use ws.sas.read(…, q_unit="1/nm")' in one for one in large.problems)
