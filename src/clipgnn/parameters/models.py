"""All models by name."""

from collections.abc import Mapping

from clipgnn.parameters.kernels import GRAPH_KERNELS
from clipgnn.parameters.model import Model
from clipgnn.parameters.networks import NETWORKS

MODELS: Mapping[str, Model] = {**NETWORKS, **GRAPH_KERNELS}
"""Models by name."""
