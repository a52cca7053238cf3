"""Graph sets and batches: representation, checks and conversion."""

from clipgnn.graphs.packed import PackedGraphs

__all__ = ["PackedGraphs"]
