"""Rule, default and documentation of every parameter, written down once and without torch.

Constructors, experiment files, the command line and estimators read these classes.
"""

from clipgnn.parameters.import_paths import is_import_path
from clipgnn.parameters.kernels import (
    AWLParameters,
    SVMParameters,
    WalksParameters,
    WLParameters,
)
from clipgnn.parameters.model import Model
from clipgnn.parameters.models import MODELS, model_named
from clipgnn.parameters.networks import (
    COLORINGS,
    MAX_COLORINGS,
    CLIPParameters,
    DCNNParameters,
    DGCNNParameters,
    GINParameters,
    NetworkParameters,
    PatchySANParameters,
    RingGNNParameters,
    RPGINParameters,
)
from clipgnn.parameters.recipe import LOSSES, METRICS, Recipe
from clipgnn.parameters.rules import LARGEST_INTEGER, NONE, PythonValues, Rule, Value
from clipgnn.parameters.schema import REQUIRED, Parameters, documented, parameter

__all__ = [
    "COLORINGS",
    "LARGEST_INTEGER",
    "LOSSES",
    "MAX_COLORINGS",
    "METRICS",
    "MODELS",
    "NONE",
    "REQUIRED",
    "AWLParameters",
    "CLIPParameters",
    "DCNNParameters",
    "DGCNNParameters",
    "GINParameters",
    "Model",
    "NetworkParameters",
    "Parameters",
    "PatchySANParameters",
    "PythonValues",
    "RPGINParameters",
    "Recipe",
    "RingGNNParameters",
    "Rule",
    "SVMParameters",
    "Value",
    "WLParameters",
    "WalksParameters",
    "documented",
    "is_import_path",
    "model_named",
    "parameter",
]
