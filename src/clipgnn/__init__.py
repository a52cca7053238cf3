"""CLIP: graph neural networks that tell graphs apart by coloring their nodes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from clipgnn.errors import (
    ClipGNNError,
    DatasetFileError,
    DatasetNotFoundError,
    InvalidColoringError,
    InvalidGraphError,
    InvalidParameterError,
    InvalidSpecError,
    MissingDependencyError,
    ModelFileError,
    ModelNotFoundError,
    OutputError,
    StoreError,
    StoreLockedError,
    TooManyColoringsError,
    UnsupportedTransformError,
)

if TYPE_CHECKING:
    from clipgnn.coloring import (
        all_colorings,
        color_groups,
        log_num_colorings,
        num_colorings,
        sample_colorings,
    )
    from clipgnn.datasets import (
        bipartiteness,
        circular_skip_links,
        connectivity,
        hold_out,
        load_dataset,
        load_tu,
        stratified_folds,
        triangle_freeness,
    )
    from clipgnn.graphs import PackedGraphs
    from clipgnn.nn import CLIP, load, save
    from clipgnn.training import History, ModelSpec, Recipe, Split, fit, train

__version__ = "0.1.0"

__all__ = [
    "CLIP",
    "ClipGNNError",
    "DatasetFileError",
    "DatasetNotFoundError",
    "History",
    "InvalidColoringError",
    "InvalidGraphError",
    "InvalidParameterError",
    "InvalidSpecError",
    "MissingDependencyError",
    "ModelFileError",
    "ModelNotFoundError",
    "ModelSpec",
    "OutputError",
    "PackedGraphs",
    "Recipe",
    "Split",
    "StoreError",
    "StoreLockedError",
    "TooManyColoringsError",
    "UnsupportedTransformError",
    "__version__",
    "all_colorings",
    "bipartiteness",
    "circular_skip_links",
    "color_groups",
    "connectivity",
    "fit",
    "hold_out",
    "load",
    "load_dataset",
    "load_tu",
    "log_num_colorings",
    "num_colorings",
    "sample_colorings",
    "save",
    "stratified_folds",
    "train",
    "triangle_freeness",
]

# What needs torch is imported when it is first asked for, so that a table can be drawn from a
# store on a machine without torch, and the command line answers at once.
_HOMES = {
    "clipgnn.coloring": (
        "all_colorings",
        "color_groups",
        "log_num_colorings",
        "num_colorings",
        "sample_colorings",
    ),
    "clipgnn.datasets": (
        "bipartiteness",
        "circular_skip_links",
        "connectivity",
        "hold_out",
        "load_dataset",
        "load_tu",
        "stratified_folds",
        "triangle_freeness",
    ),
    "clipgnn.graphs": ("PackedGraphs",),
    "clipgnn.nn": ("CLIP", "load", "save"),
    "clipgnn.training": ("History", "ModelSpec", "Recipe", "Split", "fit", "train"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module 'clipgnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
