"""Answers that must not depend on how graphs and targets are given."""

import io
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from rich.console import Console
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from tests.estimators.examples import FAST as LEARNED
from tests.estimators.examples import rings_and_chains
from torch_geometric.data import Data

from clipgnn import CLIPClassifier, CLIPEmbedding, CLIPRegressor, ModelSpec, PackedGraphs, Recipe
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.estimators.progress import TrainingProgress
from clipgnn.training import Split, train

GRAPHS, CLASSES = rings_and_chains(12)
FAST = {**LEARNED, "epochs": 5}


def lettered(graph: Any, letters: str = "ab") -> Any:
    """The graph with letters on its nodes."""
    for place, node in enumerate(graph):
        graph.nodes[node]["letter"] = letters[place % len(letters)]
    return graph


def test_an_unknown_category_in_another_graph_changes_nothing() -> None:
    graphs = [lettered(nx.cycle_graph(size), "ba") for size in (4, 6, 8, 10)] + [
        lettered(nx.path_graph(size), "ba") for size in (4, 6, 8, 10)
    ]
    model = CLIPClassifier(**{**FAST, "num_colors": 8}).fit(graphs, [0, 0, 0, 0, 1, 1, 1, 1])
    other = lettered(nx.path_graph(3), "z")
    alone = model.predict_proba(graphs)
    with pytest.warns(UserWarning, match="does not know"):
        beside = model.predict_proba([*graphs, other])[:-1]
    assert beside == pytest.approx(alone, abs=1e-6)


def test_labels_and_their_one_hot_rows_have_the_same_answers() -> None:
    packed = PackedGraphs.from_networkx([lettered(nx.path_graph(6), "abc") for _ in range(4)])
    trained = train(
        packed_with_targets(packed),
        ModelSpec("clip"),
        Recipe(epochs=1),
        [Split(torch.arange(4))],
        [0],
    )
    rows = PackedGraphs.from_data_list(packed.to_data_list())
    assert rows.x.dim() == 2
    model = trained[0].model
    torch.testing.assert_close(model.predict(rows), model.predict(packed), atol=1e-4, rtol=0)


def packed_with_targets(packed: PackedGraphs) -> PackedGraphs:
    """Graphs with two classes."""
    from dataclasses import replace

    return replace(packed, y=torch.tensor([0, 1] * (len(packed) // 2)))


def test_a_warm_start_keeps_the_scale_of_the_targets() -> None:
    y = np.array([float(len(graph)) for graph in GRAPHS])
    model = CLIPRegressor(**{**FAST, "num_colorings": 0, "warm_start": True}).fit(GRAPHS, y)
    before = model.predict(GRAPHS)
    model.set_params(learning_rate=1e-9, epochs=1).fit(GRAPHS[:6], y[:6] + 100)
    assert model.target_mean_ == pytest.approx(y.mean())
    # Running averages of batch normalization change a little.
    assert np.abs(model.predict(GRAPHS) - before).max() < 0.5 * y.std()


def test_a_warm_start_with_another_scheme_is_refused() -> None:
    model = CLIPClassifier(**{**FAST, "warm_start": True}).fit(GRAPHS, CLASSES)
    with pytest.raises(InvalidParameterError, match="coloring must be random, as in the first"):
        model.set_params(coloring="all").fit(GRAPHS, CLASSES)


def test_tensors_of_labels_need_the_encoding_of_the_training_graphs() -> None:
    edge = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.tensor([0, own]), edge_index=edge) for own in (2, 5) * 4]
    model = CLIPClassifier(**FAST).fit(graphs, ["two", "five"] * 4)
    with pytest.raises(InvalidGraphError, match="encoding of the training graphs"):
        model.predict(PackedGraphs.from_data_list(graphs))
    numbers = [Data(x=torch.tensor([[0.5], [own]]), edge_index=edge) for own in (2.0, 5.0) * 4]
    model = CLIPClassifier(**FAST).fit(numbers, ["two", "five"] * 4)
    listed, packed = (
        model.predict_proba(own) for own in (numbers, PackedGraphs.from_data_list(numbers))
    )
    assert listed.tolist() == packed.tolist()


def test_scores_leave_missing_targets_out() -> None:
    y = np.array([[float(len(graph)), nx.density(graph)] for graph in GRAPHS])
    model = CLIPRegressor(**FAST).fit(GRAPHS, y)
    missing = y.copy()
    missing[:, 1] = np.nan
    expected = r2_score(y[:, 0], model.predict(GRAPHS)[:, 0])
    assert model.score(GRAPHS, missing) == pytest.approx(expected)
    missing[3:, 0] = np.nan
    assert model.score(GRAPHS[:3], missing[:3]) == pytest.approx(model.score(GRAPHS, missing))


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    ("columns", "target"), [(None, None), ([0], None), ([0], 0), ([1, 0], 1), ([1, 0], np.int64(1))]
)
def test_explanations_have_the_unit_of_the_target(columns: Any, target: int | None) -> None:
    y = np.array([[1000.0 * len(graph), nx.density(graph)] for graph in GRAPHS])
    y = y[:, 0] if columns is None else y[:, columns]
    model = CLIPRegressor(**{**FAST, "num_colorings": 0}).fit(GRAPHS, y)
    [found] = model.explain(GRAPHS[:1], target)
    graph = GRAPHS[0].copy()
    graph.remove_edge(*found.edge_index[:, 0].tolist())
    lost = np.ravel(model.predict(GRAPHS[:1]) - model.predict([graph]))
    expected = lost[target or 0]
    assert abs(expected) > 1  # not in units of the standard deviation
    assert found.edge_mask[0].item() == pytest.approx(expected, abs=0.01)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("target", [2, -1, 1.0, "log_p"])
def test_explanations_of_targets_that_do_not_exist(target: Any) -> None:
    model = CLIPRegressor(**{**FAST, "epochs": 1}).fit(GRAPHS, np.eye(len(GRAPHS))[:, :2])
    with pytest.raises(InvalidParameterError, match=r"target must be an integer from 0 to 1, or"):
        model.explain(GRAPHS[:1], target)


def test_explanations_of_directed_graphs() -> None:
    graphs = [nx.gnp_random_graph(6, 0.5, seed=seed, directed=True) for seed in range(6)]
    graphs[0].add_edges_from([(0, 1), (1, 0)])
    model = CLIPRegressor(**{**FAST, "num_colorings": 0}).fit(graphs, np.arange(6.0))
    [found] = model.explain(graphs[:1])
    for pair in ([0, 1], [1, 0]):
        without = graphs[0].copy()
        without.remove_edge(*pair)
        place = found.edge_index.T.tolist().index(pair)
        expected = (model.predict(graphs[:1]) - model.predict([without]))[0]
        assert found.edge_mask[place].item() == pytest.approx(expected, abs=1e-4)


def test_explanations_of_other_floats_and_of_an_empty_graph() -> None:
    model = CLIPClassifier(**FAST).fit(GRAPHS, CLASSES)
    rows = PackedGraphs.from_networkx([*GRAPHS[:2], nx.empty_graph(0)])
    first, _, empty = model.explain(rows.with_floats(torch.float64))
    assert first.edge_mask.isfinite().all()
    assert empty.node_mask.shape == (0, 1)
    with pytest.raises(NotFittedError):
        CLIPRegressor().explain(GRAPHS)


def test_spread_by_what_varies() -> None:
    model = CLIPClassifier(**{**FAST, "n_ensemble": 2, "n_draws": 3}).fit(GRAPHS, CLASSES)
    both, networks, colorings = (
        model.predict_spread(GRAPHS, over=over) for over in ("both", "networks", "colorings")
    )
    outputs = model._predictions(GRAPHS).reshape(2, 3, len(GRAPHS), -1)
    assert both == pytest.approx(outputs.reshape(6, len(GRAPHS), -1).std(0))
    assert networks == pytest.approx(np.sqrt(outputs.var(0).mean(0)))
    assert colorings == pytest.approx(np.sqrt(outputs.var(1).mean(0)))
    with pytest.raises(InvalidParameterError, match="over must be one of 'both'"):
        model.predict_spread(GRAPHS, over="draws")
    model.set_params(n_draws=1)
    with pytest.warns(UserWarning, match="The spread over colorings is 0"):
        assert not model.predict_spread(GRAPHS, over="colorings").any()


def test_missing_targets_are_left_out_of_the_score() -> None:
    y = np.array([[len(graph), 2.0 * len(graph)] for graph in GRAPHS], dtype=float)
    y[:3, 1] = np.nan
    model = CLIPRegressor(**{**FAST, "num_colorings": 0}).fit(GRAPHS, y)
    parts = CLIPRegressor(**{**FAST, "num_colorings": 0})
    assert np.isfinite(cross_val_score(parts, GRAPHS, y, cv=2)).all()
    known = model.predict(GRAPHS)
    expected = [
        1 - np.nanmean((y[:, own] - known[:, own]) ** 2) / np.nanvar(y[:, own]) for own in (0, 1)
    ]
    assert model.score(GRAPHS, y) == pytest.approx(np.mean(expected))


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("names", [["letter"], np.array(["letter"]), np.array(["a", "b"])])
def test_attributes_of_a_data_set_cannot_be_chosen(names: Any) -> None:
    with pytest.raises(InvalidParameterError, match="node_attributes must not be given"):
        CLIPClassifier(**FAST, node_attributes=names).fit(
            PackedGraphs.from_networkx(GRAPHS), CLASSES
        )
    CLIPClassifier(**FAST, graph_attributes=[]).fit(PackedGraphs.from_networkx(GRAPHS), CLASSES)


@pytest.mark.parametrize(
    ("y", "message"),
    [(np.array([], dtype=str), r"Got the shape \[0\]"), ([1.0, 2.0, "three"], "Got 'three'")],
)
def test_numbers_that_are_none(y: Any, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        CLIPRegressor(**FAST).fit(GRAPHS[:3], y)


def test_a_failed_fit_does_not_change_an_embedding() -> None:
    model = CLIPEmbedding(**FAST).fit(GRAPHS)
    before = model.transform(GRAPHS)
    with pytest.raises(InvalidParameterError):
        model.set_params(num_layers=-1).fit(GRAPHS)
    assert model.transform(GRAPHS).tolist() == before.tolist()


def test_progress_of_members_that_are_trained_one_by_one() -> None:
    text = io.StringIO()
    with TrainingProgress(
        Recipe(epochs=3), 2, shown=True, console=Console(file=text, width=80)
    ) as progress:
        for first in (0, 1):
            train(
                packed_with_targets(PackedGraphs.from_networkx(GRAPHS[:4])),
                ModelSpec("gin"),
                Recipe(epochs=3),
                [Split(torch.arange(4))],
                [0],
                callback=lambda epoch, first=first: progress(epoch, first),  # type: ignore[misc]
            )
        assert progress._done == {0: 3, 1: 3}
    for network in (1, 2):
        assert f"network {network} of 2, epoch 3 of 3: loss" in text.getvalue()
