"""What results are as text."""

import numpy as np

import warpstride as ws


def test_arrays_are_shown_by_type_and_shape():
    scan = ws.mri.simulate(matrix=32, coils=2, spokes=16)
    assert repr(scan).startswith("warpstride.mri.Simulation(samples=complex64 (2, 16, ")
    result = ws.mri.reconstruct(scan.samples, scan.k, 32, iterations=12, backend="cpu")
    text = repr(result)
    assert text.startswith("warpstride.mri.Result(image=complex64 (32, 32), maps=complex64 (2, 32, 32), residuals=float64 (")
    assert "backend='cpu'" in text and len(text) < 1000
    solution = ws.jacobi.solve(np.ones((9, 7), np.float32), iterations=5, backend="cpu")
    assert repr(solution).startswith("warpstride.jacobi.Solution(field=float32 (9, 7), ")
    assert len(repr(ws.ptycho.simulate(frame=32, positions=16))) < 500
    assert repr(ws.selftest("jacobi", backend="emulator")).endswith(")") and len(repr(ws.selftest("jacobi", backend="emulator"))) < 200


def test_a_fit_is_a_table_of_its_parameters():
    model, q = ws.sas.Model("core_shell_sphere", backend="cpu"), np.linspace(0.01, 0.3, 50)
    intensity = model(q, radius=35, thickness=7, background=0.01)
    data = (q, intensity, 0.01 * intensity)
    found = ws.sas.fit(model, data, {"radius": (30, 40), "scale": (0, 2)}, ties={"thickness": "radius/5"}, background=0.01)
    lines = repr(found).splitlines()
    assert lines[0].startswith("warpstride.sas.FitResult: χ² ") and lines[0].endswith(", converged")
    assert lines[1].split()[:3] == ["radius", "35", "±"] and lines[1].endswith("Ang  (30 to 40)")
    assert lines[2].startswith("  scale ") and lines[3].split() == ["thickness", "7", "(tied)"]
    assert str(found.sets[0]) == (
        "warpstride.sas.FittedData(intensity=float64 (50,), sigma=float64 (50,), model=float64 (50,), residuals=float64 (50,))"
    )
    bounded = ws.sas.fit(model, data, {"radius": (36, 40)}, background=0.01)
    assert "(36 to 40, at its least value)" in repr(bounded)
