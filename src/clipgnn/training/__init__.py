"""One training loop for every model, and many members in it at once."""

from clipgnn.training.fit import fit
from clipgnn.training.loop import train
from clipgnn.training.models import ModelSpec
from clipgnn.training.recipe import History, Recipe
from clipgnn.training.splits import Split

__all__ = ["History", "ModelSpec", "Recipe", "Split", "fit", "train"]
