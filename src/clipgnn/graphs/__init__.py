"""What comes in: packed graph sets, TU data, property tasks from a seed, batches and folds."""

from clipgnn.graphs.datasets import load_dataset
from clipgnn.graphs.folds import hold_out, stratified_folds
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.properties import (
    bipartiteness,
    circular_skip_links,
    connectivity,
    triangle_freeness,
)
from clipgnn.graphs.tu import load_tu

__all__ = [
    "PackedGraphs",
    "bipartiteness",
    "circular_skip_links",
    "connectivity",
    "hold_out",
    "load_dataset",
    "load_tu",
    "stratified_folds",
    "triangle_freeness",
]
