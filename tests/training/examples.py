"""Small data sets to train on."""

import networkx as nx
import torch
from torch_geometric.data import Data

from clipgnn.graphs.packed import PackedGraphs


def some_graphs(number: int = 8, seed: int = 0) -> PackedGraphs:
    """Random graphs of 3 to 9 nodes with two labels; an isolated node and a graph without edges."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for place in range(number):
        nodes = int(torch.randint(3, 10, (1,), generator=generator))
        chance = 0.0 if place == 1 else 0.4
        adjacency = torch.rand(nodes, nodes, generator=generator).triu(1) > 1 - chance
        adjacency = adjacency.triu(1)
        labels = torch.randint(0, 2, (nodes,), generator=generator)
        edges = (adjacency | adjacency.t()).nonzero().t()
        graphs.append(Data(x=labels, edge_index=edges, y=torch.tensor([place % 2])))
    return PackedGraphs.from_data_list(graphs, "some graphs")


def rings(number: int = 60) -> PackedGraphs:
    """One ring of six nodes or two of three: what only colors can tell apart."""
    graphs = []
    for place in range(number):
        ring = nx.cycle_graph(6)
        if place % 2:
            ring = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
        edges = torch.tensor(list(ring.edges)).t()
        edges = torch.cat([edges, edges.flip(0)], dim=1)
        graphs.append(Data(edge_index=edges, y=torch.tensor([place % 2]), num_nodes=6))
    return PackedGraphs.from_data_list(graphs, "rings")
