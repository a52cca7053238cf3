"""Isomorphism classes of the graphs of a data set."""

from collections import defaultdict
from typing import TYPE_CHECKING

import networkx as nx
import torch
from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.numbering import number_rows
from clipgnn.ops.refinement import lexicographic_ranks, refine_colors

if TYPE_CHECKING:
    Graph = nx.Graph[int]  # generic in its type stubs only
else:
    Graph = nx.Graph


def refined_classes(graphs: PackedGraphs) -> tuple[Tensor, Tensor]:
    """Classes of graphs that color refinement (1-WL) cannot distinguish.

    Node attributes and edges count; weights and attributes of edges and graphs do not.

    Returns:
        The class of each graph, `[graphs]`, and the stable color of each node, `[nodes]`.
    """
    colors = refine_colors(number_rows(graphs.x), graphs.global_edge_index)
    num_colors = int(colors.max()) + 1 if colors.numel() else 1
    order = torch.argsort(graphs.graph_of_node * num_colors + colors)
    ranks = lexicographic_ranks(colors[order], graphs.node_pointers)
    return torch.unique(ranks, return_inverse=True)[1], colors


def isomorphism_classes(graphs: PackedGraphs) -> Tensor:
    """Classes of isomorphic graphs, where an isomorphism keeps node attributes.

    Graphs in different classes of color refinement are not isomorphic. Those of one class are
    compared with one graph of each class that is known, by VF2++ with the stable colors as labels.

    Args:
        graphs: graphs without weights and attributes of edges, which are not compared.

    Returns:
        The class of each graph, `[graphs]`, from 0, in the order of their first graphs.
    """
    refined, colors = refined_classes(graphs)
    known: dict[int, list[tuple[int, Graph]]] = defaultdict(list)
    classes: list[int] = []
    count = 0
    for number, own_class in enumerate(refined.tolist()):
        graph = _as_networkx(graphs, number, colors)
        for found, representative in known[own_class]:
            # networkx finds no mapping between graphs without nodes.
            if not graph or nx.vf2pp_is_isomorphic(graph, representative, node_label="color"):
                classes.append(found)
                break
        else:
            known[own_class].append((count, graph))
            classes.append(count)
            count += 1
    return torch.tensor(classes)


def _as_networkx(graphs: PackedGraphs, number: int, colors: Tensor) -> Graph:
    nodes = slice(*graphs.node_pointers[number : number + 2].tolist())
    edges = slice(*graphs.edge_pointers[number : number + 2].tolist())
    graph: Graph = nx.DiGraph() if graphs.directed else nx.Graph()
    for node, color in enumerate(colors[nodes].tolist()):
        graph.add_node(node, color=color)
    graph.add_edges_from(graphs.edge_index[:, edges].t().tolist())
    return graph
