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
    DatasetFileError,
    DatasetNotFoundError,
    InvalidColoringError,
    InvalidGraphError,
    InvalidParameterError,
    ModelFileError,
    TooManyColoringsError,
)
from clipgnn.graphs import (
    PackedGraphs,
    bipartiteness,
    circular_skip_links,
    connectivity,
    hold_out,
    load_dataset,
    load_tu,
    stratified_folds,
    triangle_freeness,
)
from clipgnn.nn import CLIP, load, save

__version__ = "0.1.0"

__all__ = [
    "CLIP",
    "ClipGNNError",
    "DatasetFileError",
    "DatasetNotFoundError",
    "InvalidColoringError",
    "InvalidGraphError",
    "InvalidParameterError",
    "ModelFileError",
    "PackedGraphs",
    "TooManyColoringsError",
    "__version__",
    "all_colorings",
    "bipartiteness",
    "circular_skip_links",
    "color_groups",
    "connectivity",
    "hold_out",
    "load",
    "load_dataset",
    "load_tu",
    "log_num_colorings",
    "num_colorings",
    "sample_colorings",
    "save",
    "stratified_folds",
    "triangle_freeness",
]
