"""Training of networks, many members at the same time, and fitting of kernels."""

from clipgnn.parameters import Recipe
from clipgnn.training.history import History
from clipgnn.training.kernels import fit_kernel
from clipgnn.training.loop import train
from clipgnn.training.members import Epoch
from clipgnn.training.models import ModelSpec
from clipgnn.training.splits import Split
from clipgnn.training.trained import Summary, TrainedModel, TrainedModels

__all__ = [
    "Epoch",
    "History",
    "ModelSpec",
    "Recipe",
    "Split",
    "Summary",
    "TrainedModel",
    "TrainedModels",
    "fit_kernel",
    "train",
]
