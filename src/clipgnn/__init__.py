"""CLIP: graph neural networks that tell graphs apart by coloring their nodes."""

from clipgnn.coloring import (
    all_colorings,
    color_groups,
    log_num_colorings,
    num_colorings,
    sample_colorings,
)
from clipgnn.errors import (
    ClipGNNError,
    InvalidColoringError,
    InvalidGraphError,
    InvalidParameterError,
    ModelFileError,
    TooManyColoringsError,
)
from clipgnn.nn import CLIP, load, save

__version__ = "0.1.0"

__all__ = [
    "CLIP",
    "ClipGNNError",
    "InvalidColoringError",
    "InvalidGraphError",
    "InvalidParameterError",
    "ModelFileError",
    "TooManyColoringsError",
    "__version__",
    "all_colorings",
    "color_groups",
    "load",
    "log_num_colorings",
    "num_colorings",
    "sample_colorings",
    "save",
]
