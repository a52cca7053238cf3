"""Canonical labelings and automorphisms of the graphs of a batch, each graph computed once."""

import hashlib
import multiprocessing
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import pointers_from_index

TIME_LIMIT = 10.0
"""Seconds of CPU time for the canonical labeling of one graph."""

UNLIMITED_VERTICES = 200
"""Number of vertices up to which a thread labels graphs itself, without a time limit, because only
the main thread of a process can interrupt a labeling. The graphs of BREC, which have up to 198,
take milliseconds. Larger graphs are labeled in other processes."""

PARALLEL_FROM = 20_000
"""Number of graphs from which they are labeled in several processes, whose start takes seconds."""

CACHED_GRAPHS = 1_000_000
"""Number of graphs whose results are kept in memory."""

_GRAPHS_AT_ONCE = 50_000
"""Number of graphs of a data set that are labeled together."""

_Result = TypeVar("_Result", Integers, list[list[int]])
_Cache = OrderedDict[bytes, Integers | list[list[int]]]
_caches: dict[str, _Cache] = {}
_late: dict[tuple[str, bytes], float] = {}
"""The time limit that the computation for a graph has exceeded."""
_lock = threading.Lock()
_starting = threading.Lock()
"""Of the threads of a process, one at a time has processes of its own."""


def canonical_colors(graphs: ExactBatch) -> Int[Tensor, "nodes"]:
    """Colors of one coloring of each graph, Eq. (4), by a canonical labeling.

    The nodes with identical attributes have the colors 0, 1, ... in the order of the labeling, so
    that isomorphic graphs are identical after nodes with equal attributes and colors are matched.
    Node and edge attributes, weights and directions are respected. A graph whose labeling takes
    more than `TIME_LIMIT` has a coloring from a fixed root instead, which depends on the order of
    its nodes, with a warning. It is not labeled again in this process.

    Raises:
        MissingDependencyError: if igraph is not installed and a graph needs it.
    """
    found = canonical_labeling(graphs)
    _warn_of_late(found.late)
    return found.colors


def canonical_colors_of(graphs: PackedGraphs) -> Int[Tensor, "nodes"]:
    """`canonical_colors` of a data set, in parts of bounded size.

    Raises:
        MissingDependencyError: if igraph is not installed and a graph needs it.
    """
    colors, late = [], []
    for start in range(0, len(graphs), _GRAPHS_AT_ONCE):
        found = canonical_labeling(graphs[start : start + _GRAPHS_AT_ONCE].to_batch())
        colors.append(found.colors)
        late += [start + number for number in found.late]
    _warn_of_late(late)
    return torch.cat(colors)


def _warn_of_late(late: Sequence[int]) -> None:
    if not late:
        return
    names = listed([str(own) for own in late[:5]])
    more = "" if len(late) <= 5 else f" and {counted(len(late) - 5, 'other')}"
    warnings.warn(
        f"The canonical labeling of {counted(len(late), 'graph')} (number {names}{more}) took more "
        f"than {TIME_LIMIT:g} s. Their colorings depend on the order of their nodes. Use "
        'coloring="individualized" or "refined" for such graphs.',
        stacklevel=3,
    )


@dataclass(frozen=True)
class CanonicalLabeling:
    """Colors of `canonical_colors`, and the graphs whose labeling took too long.

    Attributes:
        colors: color of each node.
        late: numbers of the graphs without a canonical labeling.
    """

    colors: Int[Tensor, "nodes"]
    late: list[int]


def canonical_labeling(graphs: ExactBatch) -> CanonicalLabeling:
    """Compute `canonical_colors` without a warning.

    Raises:
        MissingDependencyError: if igraph is not installed and a graph needs it.
    """
    stable = stable_colors(graphs)
    ranks = stable.clone()
    partition = Partition.of(stable, graphs.graph_of_node, graphs.num_graphs)
    ambiguous = torch.zeros(graphs.num_graphs, dtype=torch.bool, device=stable.device)
    ambiguous[partition.graph_of_group[partition.sizes > 1]] = True
    late: list[int] = []
    if bool(ambiguous.any()):
        chosen = graphs.subset(ambiguous)
        nodes = ambiguous[graphs.graph_of_node]
        orders = _computed(canonical_order, chosen, stable[nodes])
        ranks[nodes] = _ranks_of_orders(chosen, orders)
        numbers = ambiguous.nonzero().flatten().tolist()
        late = [own for own, order in zip(numbers, orders, strict=True) if order is None]
    return CanonicalLabeling(ranks_in_attribute_groups(graphs, ranks), late)


def automorphism_generators(graphs: ExactBatch) -> list[list[list[int]] | None]:
    """Generators of the automorphism group of each graph, as permutations of its nodes.

    None for a graph whose computation takes more than `TIME_LIMIT`.

    Raises:
        MissingDependencyError: if igraph is not installed.
    """
    return _computed(automorphisms, graphs, stable_colors(graphs))


def _ranks_of_orders(graphs: ExactBatch, orders: Sequence[Integers | None]) -> Tensor:
    """Position of each node in the order of its graph; without one, colors from its first node."""
    counts = graphs.nodes.counts.tolist()
    known = [
        np.arange(count) if order is None else order
        for order, count in zip(orders, counts, strict=True)
    ]
    first = pointers_from_index(graphs.graph_of_node, graphs.num_graphs)
    order = torch.from_numpy(np.concatenate(known)).to(graphs.x.device)
    position = torch.arange(order.numel(), device=order.device)
    ranks = torch.empty_like(position)
    ranks[order + first[graphs.graph_of_node]] = position - first[graphs.graph_of_node]
    missing = torch.tensor([own is None for own in orders], device=order.device)
    if bool(missing.any()):
        ranks[missing[graphs.graph_of_node]] = first_node_ranks(graphs.subset(missing))
    return ranks


def _computed(
    compute: Callable[[Structure, float], _Result | None], graphs: ExactBatch, stable: Tensor
) -> list[_Result | None]:
    """Apply a function to each graph, or look up its result; None if it takes too long."""
    described = list(structures(graphs, stable))
    keys = [_key(own) for own in described]
    name = compute.__name__
    with _lock:
        cache = _caches.setdefault(name, OrderedDict())
        known: dict[bytes, _Result | None] = {key: cache[key] for key in keys if key in cache}  # type: ignore[misc]
        for key in keys:
            if _late.get((name, key), 0.0) >= TIME_LIMIT:
                known.setdefault(key, None)
    missing = {key: own for key, own in zip(keys, described, strict=True) if key not in known}
    found = dict(zip(missing, _apply(compute, list(missing.values())), strict=True))
    with _lock:
        cache.update((key, own) for key, own in found.items() if own is not None)
        _late.update(((name, key), TIME_LIMIT) for key, own in found.items() if own is None)
        while len(cache) > CACHED_GRAPHS:
            cache.popitem(last=False)
    return [found[key] if key in found else known[key] for key in keys]


def _apply(
    compute: Callable[[Structure, float], _Result | None], given: list[Structure]
) -> list[_Result | None]:
    """Apply a function to each graph, in other processes if they are many or need a time limit."""
    if multiprocessing.current_process().daemon:  # cannot have processes of its own
        elsewhere: set[int] = set()
    elif len(given) >= PARALLEL_FROM:
        elsewhere = set(range(len(given)))
    elif limits_time():
        elsewhere = set()
    else:
        sizes = [own.colors.size for own in given]
        elsewhere = {place for place, size in enumerate(sizes) if size > UNLIMITED_VERTICES}
    found = iter(_in_processes(compute, [given[place] for place in sorted(elsewhere)]))
    return [
        next(found) if place in elsewhere else compute(own, TIME_LIMIT)
        for place, own in enumerate(given)
    ]


def _in_processes(
    compute: Callable[[Structure, float], _Result | None], given: list[Structure]
) -> list[_Result | None]:
    if not given:
        return []
    # Unlike those of the standard library, these processes do not import the user's main module.
    from joblib.externals.loky import ProcessPoolExecutor
    from joblib.externals.loky.backend import get_context

    processes = min(16, os.cpu_count() or 1, len(given))
    with _starting, ProcessPoolExecutor(processes, context=get_context("loky")) as pool:
        limits = [TIME_LIMIT] * len(given)
        chunk = max(1, min(1000, len(given) // (4 * processes)))
        results: list[_Result | None] = list(pool.map(compute, given, limits, chunksize=chunk))
    return results


def _key(structure: Structure) -> bytes:
    """Hash of a structure."""
    parts = (
        np.array([structure.num_nodes, structure.colors.size]),
        structure.colors,
        structure.edges,
    )
    content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
    return hashlib.blake2b(content, digest_size=16).digest()
