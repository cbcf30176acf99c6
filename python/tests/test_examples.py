"""The scripts of `examples`, on small sizes."""

import pathlib
import runpy

import numpy as np
import pytest

pytest.importorskip("matplotlib")

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"

RIGHT = {
    "mri": lambda error: error < 0.3,
    "ptychography": lambda r: r < 0.05,
    "relaxation": lambda deviation: deviation < 1e-7,
    "scattering": lambda radius: abs(radius - 60) < 2,
    "time_series": lambda hours: hours == 48,
}


def test_every_example_is_here():
    assert sorted(RIGHT) == sorted(path.stem for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_an_example_draws_a_right_result(name, tmp_path):
    from matplotlib import image

    script = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    result = script["main"](["--small", "-o", str(tmp_path / "picture.png")])
    assert RIGHT[name](result), result
    picture = image.imread(tmp_path / "picture.png")
    assert picture.shape[0] > 100 and len(np.unique(picture[..., 0])) > 10
