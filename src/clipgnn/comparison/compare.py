"""The comparison of two graphs: color refinement, colorings and canonical colorings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clipgnn.coloring import labeling
from clipgnn.coloring.group_names import group_names
from clipgnn.coloring.groups import Partition
from clipgnn.comparison.inputs import GivenGraph, told_apart
from clipgnn.comparison.isomorphism import are_isomorphic
from clipgnn.comparison.pair import as_pair
from clipgnn.comparison.representations import (
    CHANNELS,
    LAYERS,
    Networks,
    largest_difference,
    of_colorings,
    over_all_colorings,
    random_colorings,
    without_colors,
)
from clipgnn.comparison.results import CanonicalColorings, Comparison, GraphView, Round, Step
from clipgnn.errors import MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import check_seed
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.refinement import refinement_rounds

MOST_ENUMERATED = 50_000
"""Default of the largest number of colorings of a graph that are all used, more than 8!."""

CURVE_COLORINGS = 1024
"""Number of random colorings of the curve of maxima."""


def compare(
    first: GivenGraph,
    second: GivenGraph,
    *,
    num_colorings: int = 32,
    seed: int = 0,
    node_attributes: Sequence[str] | None = None,
    most_enumerated: int = MOST_ENUMERATED,
) -> Comparison:
    """Compare two graphs.

    Args:
        first: one graph.
        second: the other one.
        num_colorings: number of random colorings to keep, fewer if the graphs have fewer.
        seed: seed of the weights of the networks and of the colorings.
        node_attributes: names of the attributes of nodes to use; all by default.
        most_enumerated: largest number of colorings of each graph for which all are used; up to
            1,024, all are used in any case.

    Raises:
        InvalidGraphError: if the graphs cannot be compared.
        InvalidParameterError: if the seed or the attributes are not valid.
    """
    seed = check_seed(seed)
    first, second = told_apart(first, second)
    pair = as_pair(first, second, node_attributes)
    given = pair.graphs
    attributes = number_rows(given.x)
    # Labels instead of numbers, which can be of any size: networks are random and not normalized.
    graphs = replace(
        given, x=attributes, in_channels=int(attributes.max()) + 1, encoding=None
    ).with_floats(torch.float64)
    own = [graphs[0], graphs[1]]
    partition = Partition.of(attributes, graphs.graph_of_node, 2)
    counts = partition.exact_counts()
    networks = Networks.random(graphs.in_channels, int(partition.sizes.max()), seed)
    model = networks.with_colors

    drawn = min(max(counts), CURVE_COLORINGS)
    most_enumerated = max(most_enumerated, CURVE_COLORINGS)
    colorings = random_colorings(partition, drawn, seed)
    of_first, of_second = colorings.split(graphs.node_pointers.diff().tolist(), 1)
    rows = of_colorings(model, own[0], of_first), of_colorings(model, own[1], of_second)
    differences = largest_difference(*rows).tolist()
    curve = largest_difference(rows[0].cummax(0).values, rows[1].cummax(0).values).tolist()
    shown = range(min(num_colorings, drawn))
    plain = without_colors(networks.without_colors, graphs)
    canonical, problem = _canonical(graphs, networks)
    complete = None
    if max(counts) <= most_enumerated:
        one, other = (over_all_colorings(model, graph) for graph in own)
        complete = float(largest_difference(one, other))
    views = _views((first, second), given, attributes, counts)
    return Comparison(
        first=views[0],
        second=views[1],
        rounds=_rounds(graphs, attributes),
        without_colors=float(largest_difference(plain[0], plain[1])),
        steps=[
            Step(
                first=of_first[place].tolist(),
                second=of_second[place].tolist(),
                difference=differences[place],
                maximum=curve[place],
            )
            for place in shown
        ],
        curve=[(place + 1, curve[place]) for place in _chosen(len(curve), len(shown))],
        complete=complete,
        canonical=canonical,
        canonical_problem=problem,
        scale=max(float(values.abs().max()) for values in (*rows, plain)),
        seed=seed,
        channels=CHANNELS,
        layers=LAYERS,
        most_enumerated=most_enumerated,
        unused=pair.unused,
        notes=pair.notes,
    )


def _views(
    given: Sequence[GivenGraph], graphs: PackedGraphs, attributes: Tensor, counts: list[int]
) -> list[GraphView]:
    names = group_names(graphs, attributes)
    texts = _texts(graphs)
    nodes, edges = graphs.node_pointers.tolist(), graphs.edge_pointers.tolist()
    views = []
    for number, one in enumerate(given):
        pairs = graphs.edge_index[:, edges[number] : edges[number + 1]].t().tolist()
        unique = sorted({(min(pair), max(pair)) for pair in pairs})
        place = slice(nodes[number], nodes[number + 1])
        views.append(GraphView(one.name, names[place], unique, counts[number], texts[place]))
    return views


def _texts(graphs: PackedGraphs) -> list[dict[str, str]]:
    """Return the attributes of each node as text, without those that are the same at all nodes."""
    rows = [data for graph in graphs.to_networkx() for _, data in graph.nodes(data=True)]
    texts = [{str(name): _text(own) for name, own in row.items()} for row in rows]
    known = dict.fromkeys(name for row in texts for name in row)
    varying = [name for name in known if len({row.get(name) for row in texts}) > 1]
    return [{name: row.get(name, "none") for name in varying} for row in texts]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"({', '.join(map(_text, value))})"
    if isinstance(value, float) and np.float32(value) == value:
        return str(np.float32(value))  # as few digits as single precision needs
    return str(value)


def _rounds(graphs: PackedGraphs, attributes: Tensor) -> list[Round]:
    sizes = graphs.node_pointers.diff().tolist()
    return [
        Round(*(own.tolist() for own in colors.split(sizes)))
        for colors in refinement_rounds(attributes, graphs.global_edge_index)
    ]


def _canonical(
    graphs: PackedGraphs, networks: Networks
) -> tuple[CanonicalColorings | None, str | None]:
    batch = graphs.to_batch()
    try:
        labeled = labeling.canonical_labeling(batch)
    except MissingDependencyError:
        return None, (
            "Canonical colorings require igraph, which is not installed. Install it: "
            "pip install 'clipgnn[canonical]'."
        )
    if labeled.late:
        return None, f"A canonical labeling took more than {labeling.TIME_LIMIT:g} s."
    colors = labeled.colors
    with torch.no_grad():
        rows = networks.with_colors.embed(
            batch.x, batch.edge_index, batch.graph_of_node, colorings=colors[None]
        )
    first, second = (own.tolist() for own in colors.split(graphs.node_pointers.diff().tolist()))
    found = CanonicalColorings(
        first, second, are_isomorphic(batch, colors), float(largest_difference(rows[0], rows[1]))
    )
    return found, None


def _chosen(number: int, all_before: int) -> list[int]:
    """Choose places of a curve: all of the first ones, then some at growing distances."""
    places, place = list(range(min(all_before, number))), all_before
    while place < number:
        places.append(place)
        place += max(1, place // 16)
    return places if places[-1] == number - 1 else [*places, number - 1]
