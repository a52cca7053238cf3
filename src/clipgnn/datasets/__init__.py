"""Data sets: the TU collection, property and counting tasks, folds and characteristics."""

from clipgnn.datasets.counting import substructure_counts
from clipgnn.datasets.folds import hold_out, stratified_folds
from clipgnn.datasets.properties import (
    bipartiteness,
    circular_skip_links,
    connectivity,
    matched_triangle_freeness,
    triangle_freeness,
)
from clipgnn.datasets.registry import load_dataset
from clipgnn.datasets.tu import load_tu

__all__ = [
    "bipartiteness",
    "circular_skip_links",
    "connectivity",
    "hold_out",
    "load_dataset",
    "load_tu",
    "matched_triangle_freeness",
    "stratified_folds",
    "substructure_counts",
    "triangle_freeness",
]
