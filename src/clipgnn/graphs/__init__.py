"""Graph sets and batches: storage, checks and conversion."""

from clipgnn.graphs.packed import PackedGraphs

__all__ = ["PackedGraphs"]
