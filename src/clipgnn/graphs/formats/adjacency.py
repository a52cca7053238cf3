"""Adjacency matrices of SciPy."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.columns import WEIGHT, GraphColumns
from clipgnn.graphs.formats.listing import listed
from clipgnn.graphs.formats.records import GraphRecord

KINDS = (sparse.spmatrix, sparse.sparray)


def read(graphs: Iterable[Any]) -> GraphColumns:
    """Read an edge from i to j for each entry (i, j) that is not 0.

    Values of the entries are weights of the edges, unless all are 1. Nodes have no attributes.

    Raises:
        InvalidGraphError: if they are not sparse matrices, or not square.
    """
    matrices = []
    for number, graph in enumerate(listed(graphs, KINDS, "sparse matrices of SciPy")):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
            raise InvalidGraphError(
                f"Graph {number}: an adjacency matrix must be square. Got the shape "
                f"{list(graph.shape)}."
            )
        matrix = graph.tocsr().copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        matrices.append(matrix.tocoo())
    weights = np.concatenate([own.data for own in matrices])
    plain = bool((weights == 1).all())
    return GraphColumns(
        num_nodes=np.array([own.shape[0] for own in matrices], dtype=np.int64),
        num_edges=np.array([own.nnz for own in matrices], dtype=np.int64),
        edge_index=np.concatenate(
            [np.stack(own.coords).astype(np.int64) for own in matrices], axis=1
        ),
        nodes={},
        edges={} if plain else {WEIGHT: weights},
        graphs={},
        constants={WEIGHT: 1.0} if plain else {},
    )


def write(graphs: Iterable[GraphRecord]) -> Iterator[sparse.csr_array]:
    """Write adjacency matrices with the weights of edges; parallel edges are added."""
    for graph in graphs:
        edges = [edge[:3] for edge in graph.edges]
        if not graph.directed:
            edges += [(target, source, w) for source, target, w in edges if source != target]
        size = len(graph.nodes)
        sources, targets, weights = zip(*edges, strict=True) if edges else ((), (), ())
        values = np.array([1.0 if weight is None else weight for weight in weights])
        yield sparse.coo_array((values, (sources, targets)), shape=(size, size)).tocsr()
