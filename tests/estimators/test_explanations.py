"""Explanations of estimators: the motif that decides the class is found."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.estimators.examples import FAST

from clipgnn import CLIPClassifier, CLIPRegressor, PackedGraphs


def planted(seed: int) -> tuple[Any, set[int]]:
    """A random tree, to which a cycle of five nodes is attached if the seed is odd."""
    graph = nx.random_labeled_tree(9, seed=seed)
    nodes: set[int] = set()
    if seed % 2:
        nodes = set(range(9, 14))
        nx.add_cycle(graph, sorted(nodes))
    else:
        nx.add_path(graph, range(9, 14))
    graph.add_edge(seed % 9, 9)
    return graph, nodes


@pytest.fixture(scope="module")
def model() -> CLIPClassifier:
    graphs = [planted(seed)[0] for seed in range(120)]
    return CLIPClassifier(
        num_colorings=4, hidden_channels=16, learning_rate=0.01, epochs=25, random_state=0
    ).fit(graphs, ["tree", "cycle"] * 60)


def test_the_planted_cycle_is_found(model: CLIPClassifier) -> None:
    graphs, motifs = zip(*[planted(seed) for seed in range(121, 141, 2)], strict=True)
    assert np.mean(model.predict(graphs) == "cycle") > 0.8
    areas = []
    for graph, nodes, found in zip(graphs, motifs, model.explain(graphs), strict=True):
        inside = [int(own in nodes) for own in graph]
        areas.append(roc_auc_score(inside, found.node_mask[:, 0]))
        ends = found.edge_index.T.tolist()
        edges = [int(source in nodes and target in nodes) for source, target in ends]
        areas.append(roc_auc_score(edges, found.edge_mask))
    assert np.mean(areas) > 0.75


def test_masks_are_what_the_prediction_loses() -> None:
    """With a network without colors, by hand: predictions for the graph without an edge or node."""
    graph, _ = planted(1)
    parameters = {**FAST, "num_colorings": 0, "n_ensemble": 2}
    model = CLIPRegressor(**parameters).fit([planted(own)[0] for own in range(8)], np.arange(8.0))
    [found] = model.explain([graph])
    [whole] = model.predict([graph])
    edges = found.edge_index.T.tolist()
    for place in (0, 5):
        without = graph.copy()
        without.remove_edge(*edges[place])
        expected = whole - model.predict([without])[0]
        assert found.edge_mask[place].item() == pytest.approx(expected, abs=1e-4)
        assert found.edge_mask[edges.index(edges[place][::-1])] == found.edge_mask[place]
    without = graph.copy()
    without.remove_node(3)
    expected = whole - model.predict([without])[0]
    assert found.node_mask[3].item() == pytest.approx(expected, abs=1e-4)


def test_attributes_weights_and_larger_groups_of_identical_nodes() -> None:
    graphs = [nx.path_graph(size) for size in (3, 4, 5, 6)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: node % 2 for node in graph}, "letter")
        for _, _, attributes in graph.edges(data=True):
            attributes.update(weight=2.0, bond="single")
        graph.graph["charge"] = 1.0
    model = CLIPRegressor(**{**FAST, "num_colorings": 2}, graph_attributes=["charge"])
    model.fit(graphs[:3], [1.0, 2.0, 3.0])
    larger = nx.disjoint_union(graphs[3], graphs[3])
    larger.graph["charge"] = 1.0
    with pytest.warns(UserWarning, match="identical attributes"):
        [found] = model.explain([larger])
    assert found.node_mask.shape == (12, 1)
    assert found.edge_mask.shape == (20,)
    assert found.edge_mask.isfinite().all()


def test_a_graph_without_edges_and_a_data_set(model: CLIPClassifier) -> None:
    packed = PackedGraphs.from_networkx([nx.empty_graph(2), nx.path_graph(3)])
    alone, path = model.explain(packed)
    assert alone.edge_mask.shape == (0,)
    assert alone.node_mask.shape == (2, 1)
    assert path.edge_mask.shape == (4,)


def test_explanations_repeat(model: CLIPClassifier) -> None:
    graph, _ = planted(3)
    first, second = model.explain([graph, nx.path_graph(4)])[0], model.explain([graph])[0]
    assert first.edge_mask.tolist() == second.edge_mask.tolist()
