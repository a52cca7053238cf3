"""Numbers of walks against powers of adjacency matrices."""

import numpy as np
import pytest
from tests.training.examples import some_graphs
from torch_geometric.utils import to_dense_adj

from clipgnn.baselines.walks import Walks
from clipgnn.datasets.folds import stratified_folds
from clipgnn.datasets.properties import matched_triangle_freeness, triangle_freeness
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import ModelSpec, Split, fit_kernel


@pytest.mark.parametrize("length", [1, 4])
def test_the_kernel_is_that_of_standardized_numbers_of_walks(length: int) -> None:
    graphs = some_graphs(12)
    counts = []
    for data in graphs.to_data_list():
        adjacency = to_dense_adj(data.edge_index, max_num_nodes=data.num_nodes)[0].double().numpy()
        powers = [np.linalg.matrix_power(adjacency, step + 1) for step in range(length)]
        counts.append([power.sum() for power in powers])
    features = np.array(counts)
    features = (features - features.mean(0)) / features.std(0)
    np.testing.assert_allclose(Walks(length=length).gram(graphs), features @ features.T, atol=1e-9)


def test_numbers_that_are_equal_in_all_graphs() -> None:
    graphs = some_graphs(1)
    assert Walks(length=2).gram(graphs).tolist() == [[0.0]]


def accuracy(graphs: PackedGraphs) -> float:
    splits = [Split(*fold) for fold in stratified_folds(graphs.targets, 5)]
    histories = fit_kernel(graphs, ModelSpec("walks", {"length": 1}), splits)
    return float(np.mean([history.test_score for history in histories]))


def test_edges_classify_triangle_freeness_unless_they_are_matched() -> None:
    assert accuracy(triangle_freeness()) > 0.7
    assert accuracy(matched_triangle_freeness()) <= 0.55
