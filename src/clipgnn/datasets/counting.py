"""Regression of numbers of subgraphs on random graphs."""

import numpy as np
import torch
from numpy.typing import NDArray

from clipgnn.datasets.substructures import SUBSTRUCTURES, count_substructures
from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import check_seed


def substructure_counts(
    seed: int = 0,
    *,
    substructure: str | None = None,
    num_graphs: int = 5000,
    num_nodes: int = 10,
    probability: float = 0.3,
) -> PackedGraphs:
    """Generate the counting task: random graphs, and how often they contain small graphs.

    The defaults are the sizes of the Erdős–Rényi graphs of Chen et al. (2020), "Can graph neural
    networks count substructures?". Graphs have no attributes: every node has the label 0.

    Args:
        seed: seed of the random graphs, which do not depend on the substructure.
        substructure: one of `clipgnn.datasets.substructures.SUBSTRUCTURES`, as the only target; by
            default all of them, in this order.
        num_graphs: number of graphs.
        num_nodes: number of nodes of each graph.
        probability: probability of each edge.

    Returns:
        The graphs. The targets are counts divided by their standard deviation over the graphs of
        seed 0, so that the mean absolute error of a prediction is in standard deviations and all
        seeds have the same scale: `[graphs]`, or `[graphs, substructures]`.

    Raises:
        InvalidParameterError: if the substructure is unknown, a size or the probability is out of
            range, or all graphs of seed 0 have the same count, which has no standard deviation.
    """
    chosen = _chosen(substructure)
    _check(num_graphs, num_nodes, probability)
    adjacency = _random_graphs(check_seed(seed), num_graphs, num_nodes, probability)
    counts = count_substructures(adjacency)
    scale = counts
    if seed != 0:
        scale = count_substructures(_random_graphs(0, num_graphs, num_nodes, probability))
    targets = np.stack(
        [counts[name] / _deviation(name, scale[name]) for name in chosen], axis=1
    ).astype(np.float32)
    graph, source, target = torch.from_numpy(adjacency).nonzero(as_tuple=True)
    return PackedGraphs(
        name="substructure-counts" if substructure is None else f"count-{substructure}",
        x=torch.zeros(num_graphs * num_nodes, dtype=torch.int64),
        in_channels=1,
        edge_index=torch.stack([source, target]),
        node_pointers=num_nodes * torch.arange(num_graphs + 1),
        edge_pointers=torch.searchsorted(graph, torch.arange(num_graphs + 1)),
        y=torch.from_numpy(targets if substructure is None else targets[:, 0]),
    )


def _chosen(substructure: str | None) -> tuple[str, ...]:
    if substructure is None:
        return tuple(SUBSTRUCTURES)
    if not isinstance(substructure, str) or substructure not in SUBSTRUCTURES:
        close = suggestion(substructure, SUBSTRUCTURES) if isinstance(substructure, str) else ""
        raise InvalidParameterError(
            f"substructure must be one of {', '.join(SUBSTRUCTURES)}, or None. "
            f"Got {shown(substructure)}.{close}"
        )
    return (substructure,)


def _check(num_graphs: int, num_nodes: int, probability: float) -> None:
    for name, size in (("num_graphs", num_graphs), ("num_nodes", num_nodes)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InvalidParameterError(
                f"{name} must be an integer of at least 1. Got {shown(size)}."
            )
    number = isinstance(probability, int | float) and not isinstance(probability, bool)
    if not number or not 0 <= probability <= 1:
        raise InvalidParameterError(
            f"probability must be a number from 0 to 1. Got {shown(probability)}."
        )


def _random_graphs(
    seed: int, num_graphs: int, num_nodes: int, probability: float
) -> NDArray[np.bool_]:
    """Adjacency matrices of Erdős–Rényi graphs, `[graphs, nodes, nodes]`."""
    random = np.random.default_rng([seed, *b"substructure-counts"])
    above = np.triu(random.random((num_graphs, num_nodes, num_nodes)) < probability, 1)
    adjacency: NDArray[np.bool_] = above | above.transpose(0, 2, 1)
    return adjacency


def _deviation(name: str, counts: NDArray[np.int64]) -> float:
    deviation = float(counts.std())
    if deviation == 0:
        raise InvalidParameterError(
            f"The graphs must have different numbers of {name}. Got {int(counts[0])} for each of "
            f"{len(counts)} graphs. Use more graphs, more nodes or another probability."
        )
    return deviation
