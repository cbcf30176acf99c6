"""Small-angle scattering: intensities of models, and fits of models to data.

`docs/sas.md` and `docs/sas-fits.md` of the project have the models and the mathematics. Names of models and parameters
are those of sasmodels.
"""

from ._data import Data, read
from ._fit import FitResult, Fitted, FittedData, Round, fit
from ._model import Model, Parameter, models

__all__ = ["Data", "FitResult", "Fitted", "FittedData", "Model", "Parameter", "Round", "fit", "models", "read"]
