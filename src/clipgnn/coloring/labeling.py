"""Canonical labelings and automorphisms of the graphs of a batch, each graph computed once."""

import hashlib
import os
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from clipgnn.coloring.bliss import automorphisms, canonical_order, limits_time
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.individualized import first_node_ranks
from clipgnn.coloring.refined import ranks_in_attribute_groups, stable_colors
from clipgnn.coloring.structures import Integers, Structure, structures
from clipgnn.errors import counted, listed
from clipgnn.graphs.exact import ExactBatch
from clipgnn.ops.pointers import pointers_from_index

TIME_LIMIT = 10.0
"""Seconds for the canonical labeling of one graph."""

UNLIMITED_VERTICES = 1000
"""Number of vertices up to which graphs are labeled without a time limit in threads other than the
main thread, which cannot interrupt a labeling. They take less than a second in practice."""

PARALLEL_FROM = 20_000
"""Number of graphs from which they are labeled in several processes, whose start takes seconds."""

CACHED_GRAPHS = 1_000_000
"""Number of graphs whose results are kept in memory."""

_Result = TypeVar("_Result", Integers, list[list[int]])
_Cache = OrderedDict[bytes, Integers | list[list[int]] | None]
_caches: dict[str, _Cache] = {}


def canonical_colors(graphs: ExactBatch) -> Int[Tensor, "nodes"]:
    """Colors of one coloring of each graph, Eq. (4), by a canonical labeling.

    The nodes with identical attributes have the colors 0, 1, ... in the order of the labeling, so
    that isomorphic graphs are identical after nodes with equal attributes and colors are matched.
    Node and edge attributes, weights and directions are respected. A graph whose labeling takes
    more than `TIME_LIMIT` has a coloring from a fixed root instead, which depends on the order of
    its nodes; a warning names it.

    Raises:
        MissingDependencyError: if igraph is not installed and a graph needs it.
    """
    stable = stable_colors(graphs)
    ranks = stable.clone()
    partition = Partition.of(stable, graphs.graph_of_node, graphs.num_graphs)
    ambiguous = torch.zeros(graphs.num_graphs, dtype=torch.bool, device=stable.device)
    ambiguous[partition.graph_of_group[partition.sizes > 1]] = True
    if bool(ambiguous.any()):
        chosen = graphs.subset(ambiguous)
        nodes = ambiguous[graphs.graph_of_node]
        ranks[nodes] = _canonical_ranks(chosen, stable[nodes], ambiguous.nonzero().flatten())
    return ranks_in_attribute_groups(graphs, ranks)


def automorphism_generators(graphs: ExactBatch) -> list[list[list[int]] | None]:
    """Generators of the automorphism group of each graph, as permutations of its nodes.

    None for a graph whose computation takes more than `TIME_LIMIT`.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    return _computed(automorphisms, graphs, stable_colors(graphs))


def _canonical_ranks(graphs: ExactBatch, stable: Tensor, numbers: Tensor) -> Tensor:
    """Position of each node in a canonical labeling of its graph."""
    orders = _computed(canonical_order, graphs, stable)
    late = [number for number, order in enumerate(orders) if order is None]
    counts = graphs.nodes.counts.tolist()
    known = [
        np.arange(count) if order is None else order
        for order, count in zip(orders, counts, strict=True)
    ]
    first = pointers_from_index(graphs.graph_of_node, graphs.num_graphs)
    order = torch.from_numpy(np.concatenate(known)).to(stable.device)
    ranks = torch.empty_like(stable)
    position = torch.arange(stable.numel(), device=stable.device)
    ranks[order + first[graphs.graph_of_node]] = position - first[graphs.graph_of_node]
    if late:
        names = listed([str(own) for own in numbers[late[:5]].tolist()])
        more = "" if len(late) <= 5 else f" and {counted(len(late) - 5, 'other')}"
        warnings.warn(
            f"The canonical labeling of {counted(len(late), 'graph')} (number {names}{more}) took "
            f"more than {TIME_LIMIT:g} s. Their colorings depend on the order of their nodes. Use "
            'coloring="individualized" or "refined" for such graphs.',
            stacklevel=2,
        )
        missing = torch.zeros(graphs.num_graphs, dtype=torch.bool, device=stable.device)
        missing[late] = True
        nodes = missing[graphs.graph_of_node]
        ranks[nodes] = first_node_ranks(graphs.subset(missing))
    return ranks


def _computed(
    compute: Callable[[Structure, float], _Result | None], graphs: ExactBatch, stable: Tensor
) -> list[_Result | None]:
    """Apply a function to each graph, or look up its result."""
    cache = _caches.setdefault(compute.__name__, OrderedDict())
    described = list(structures(graphs, stable))
    keys = [_key(own) for own in described]
    missing = {key: own for key, own in zip(keys, described, strict=True) if key not in cache}
    found = dict(zip(missing, _apply(compute, list(missing.values())), strict=True))
    results = [found[key] if key in found else cache[key] for key in keys]
    cache.update(found)
    while len(cache) > CACHED_GRAPHS:
        cache.popitem(last=False)
    return results  # type: ignore[return-value]


def _apply(
    compute: Callable[[Structure, float], _Result | None], given: list[Structure]
) -> list[_Result | None]:
    largest = max((own.colors.size for own in given), default=0)
    if len(given) < PARALLEL_FROM and (limits_time() or largest <= UNLIMITED_VERTICES):
        return [compute(own, TIME_LIMIT) for own in given]
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    # At least two processes: in this process a time limit needs its main thread.
    processes = max(2, min(16, os.cpu_count() or 2))
    run = Parallel(n_jobs=processes, backend="loky", max_nbytes=None)
    results: list[_Result | None] = run(delayed(compute)(own, TIME_LIMIT) for own in given)
    get_reusable_executor().shutdown()
    return results


def _key(structure: Structure) -> bytes:
    """Hash of a structure, in which only the order of colors has a meaning."""
    colors = np.unique(structure.colors, return_inverse=True)[1]
    parts = (np.int64(structure.num_nodes), colors, structure.edges)
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return hashlib.blake2b(content, digest_size=16).digest()
