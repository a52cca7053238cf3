"""Canonical labelings and automorphisms of the graphs of a batch, each graph computed once."""

import hashlib
import multiprocessing
import os
import threading
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
"""Seconds of CPU time for the canonical labeling of one graph."""

UNLIMITED_VERTICES = 200
"""Number of vertices up to which a thread labels graphs itself, without a time limit, because only
the main thread of a process can interrupt a labeling. The graphs of BREC, which have up to 198,
take milliseconds. Larger graphs are labeled in other processes."""

PARALLEL_FROM = 20_000
"""Number of graphs from which they are labeled in several processes, whose start takes seconds."""

CACHED_GRAPHS = 1_000_000
"""Number of graphs whose results are kept in memory."""

_Result = TypeVar("_Result", Integers, list[list[int]])
_Cache = OrderedDict[bytes, Integers | list[list[int]] | None]
_caches: dict[str, _Cache] = {}
_lock = threading.Lock()
_starting = threading.Lock()
"""Of the threads of a process, one at a time has processes of its own."""


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
    described = list(structures(graphs, stable))
    keys = [_key(own) for own in described]
    with _lock:
        cache = _caches.setdefault(compute.__name__, OrderedDict())
        known = {key: cache[key] for key in keys if key in cache}
    missing = {key: own for key, own in zip(keys, described, strict=True) if key not in known}
    found = dict(zip(missing, _apply(compute, list(missing.values())), strict=True))
    with _lock:
        # A graph that took too long is tried again: the machine may have been busy.
        cache.update((key, own) for key, own in found.items() if own is not None)
        while len(cache) > CACHED_GRAPHS:
            cache.popitem(last=False)
    return [found[key] if key in found else known[key] for key in keys]  # type: ignore[misc]


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
