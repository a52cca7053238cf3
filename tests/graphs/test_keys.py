"""Random bits of each graph, as a function of its content and a seed."""

from dataclasses import replace

import torch
from tests.graphs.examples import SIZES, packed

from clipgnn.graphs.keys import graph_keys


def test_keys_of_a_graph_do_not_depend_on_the_others() -> None:
    graphs = packed(labels=False)
    keys = graph_keys(graphs, 3)
    order = torch.tensor([2, 0, 1])
    assert torch.equal(graph_keys(graphs.subset(order), 3), keys[order])


def test_keys_depend_on_content_and_seed() -> None:
    for labels in (False, True):
        graphs = packed(labels=labels)
        keys = graph_keys(graphs, 3)
        assert len({*keys.tolist(), *graph_keys(graphs, 4).tolist()}) == 2 * len(SIZES)
        other_node = graphs.x.clone()
        other_node[0] = 1 - other_node[0]
        changed = graph_keys(replace(graphs, x=other_node), 3)
        assert (changed != keys).tolist() == [True] + [False] * (len(SIZES) - 1)
        other_edge = graphs.edge_index.clone()
        other_edge[:, 0] = other_edge[:, 0].flip(0)
        changed = graph_keys(replace(graphs, edge_index=other_edge), 3)
        assert (changed != keys).tolist() == [True] + [False] * (len(SIZES) - 1)
