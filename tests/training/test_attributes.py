"""Training on graphs with edge attributes, weights, direction and attributes of graphs."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.contracts.graph_sets import ALL_KINDS, KINDS, graph_set
from torch import Tensor

import clipgnn
from clipgnn import load_tu, stratified_folds
from clipgnn.errors import DatasetNotFoundError, InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import ModelSpec, Recipe, Split, TrainedModels, train

CLIP = ModelSpec("clip", {"num_colorings": 2, "hidden_channels": 8, "num_layers": 2})
SPLITS = [
    Split([0, 2, 4, 6, 7], [1, 5, 8]),
    Split([1, 2, 5, 6, 7], [0, 4, 8], [3]),
    Split([0, 1, 3, 4, 8], [2, 7], [5, 6]),
]
every_kind = pytest.mark.parametrize(
    "kinds", ALL_KINDS, ids=lambda kinds: ", ".join(sorted(kinds)) or "plain"
)
# Every combination with colors; without them each kind alone, and all of them.
CASES = [
    pytest.param(kinds, num_colorings, id=f"{', '.join(sorted(kinds)) or 'plain'}-{num_colorings}")
    for num_colorings in (0, 2)
    for kinds in ALL_KINDS
    if num_colorings > 0 or len(kinds) in (0, 1, len(KINDS))
]


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize(("kinds", "num_colorings"), CASES)
def test_together_and_one_by_one(kinds: frozenset[str], num_colorings: int) -> None:
    graphs, recipe = graph_set(kinds), Recipe(epochs=2, batch_size=4)
    spec = ModelSpec("clip", {**CLIP.parameters, "num_colorings": num_colorings})
    alone = train(graphs, spec, recipe, SPLITS, [1, 2, 3])
    together = train(graphs, spec, recipe, SPLITS, [1, 2, 3], together=True)
    for one, other in zip(alone, together, strict=True):
        assert one.model.config == other.model.config
        # Small batches: later, Adam's steps enlarge rounding.
        assert one.history.train_loss == pytest.approx(other.history.train_loss, abs=1e-6)
        torch.testing.assert_close(one.test_outputs, other.test_outputs, rtol=1e-3, atol=1e-3)
    if num_colorings == 0:
        for one, split in zip(alone, SPLITS, strict=True):
            predicted = one.model.predict(graphs)[split.test]
            torch.testing.assert_close(predicted, one.test_outputs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["gin", "rp-gin"])
@pytest.mark.usefixtures("double")
def test_weights_of_edges_in_baselines(name: str) -> None:
    graphs, recipe = graph_set(frozenset({"weights", "direction"})), Recipe(epochs=3, batch_size=4)
    spec = ModelSpec(name, {"hidden_channels": 4, "num_layers": 1})
    alone = train(graphs, spec, recipe, SPLITS, [1, 2, 3])
    together = train(graphs, spec, recipe, SPLITS, [1, 2, 3], together=True)
    without = train(replace(graphs, edge_weight=None), spec, recipe, SPLITS, [1, 2, 3])
    for one, other, plain in zip(alone, together, without, strict=True):
        assert one.history.train_loss == pytest.approx(other.history.train_loss, abs=1e-6)
        assert one.history.train_loss != pytest.approx(plain.history.train_loss, abs=1e-3)


def _triangles(number: int = 48) -> PackedGraphs:
    """Triangles whose only difference is given by the tests below; classes alternate."""
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    return PackedGraphs(
        name="triangles",
        x=torch.zeros(3 * number, dtype=torch.int64),
        in_channels=1,
        edge_index=edges.repeat(1, number),
        node_pointers=3 * torch.arange(number + 1),
        edge_pointers=6 * torch.arange(number + 1),
        y=torch.arange(number) % 2,
    )


def _for_edges(values: Tensor) -> Tensor:
    return values.repeat_interleave(6, 0)


def _learned(graphs: PackedGraphs) -> TrainedModels:
    spec = ModelSpec("clip", {"num_colorings": 0, "hidden_channels": 8, "num_layers": 2})
    recipe = Recipe(epochs=20, batch_size=8, learning_rate=0.02)
    return train(graphs, spec, recipe, [Split(range(32), range(32, 48))], [0])


@pytest.mark.parametrize("kind", ["plain", "edge_attr", "edge_weight", "graph_attr", "direction"])
def test_differences_are_learned(kind: str) -> None:
    """Each kind of attribute decides the class, and nothing else does."""
    graphs = _triangles()
    y = graphs.targets.float()
    kinds: dict[str, Any] = {
        "plain": {},
        "edge_attr": {"edge_attr": _for_edges(y[:, None])},
        "edge_weight": {"edge_weight": _for_edges(1 + y)},
        "graph_attr": {"graph_attr": y[:, None]},
        # A cycle, or a node from which both others are reached.
        "direction": {
            "edge_index": torch.tensor([[0, 1, 2, 0, 0, 1], [1, 2, 0, 1, 2, 2]]).repeat(1, 24),
            "edge_pointers": 3 * torch.arange(49),
        },
    }
    [trained] = _learned(replace(graphs, **kinds[kind]))
    assert trained.score == (0.5 if kind == "plain" else 1.0)


def test_bonds_of_molecules() -> None:
    try:
        graphs = load_tu("MUTAG", edge_labels=True, download=False)
    except DatasetNotFoundError:
        pytest.skip("MUTAG is not available")
    assert graphs.edge_channels == 4
    splits = [Split(*pair) for pair in stratified_folds(graphs.targets)][:2]
    recipe = Recipe(epochs=8, batch_size=32, learning_rate=0.01)
    models = train(graphs, CLIP, recipe, splits, [0, 1], together=True)
    assert models.summary().mean > 0.7
    assert all("edge_channels=4" in repr(trained.model) for trained in models)


@every_kind
def test_splits_of_different_sizes(kinds: frozenset[str]) -> None:
    """The last batches of some members have fewer graphs than those of others."""
    graphs, recipe = graph_set(kinds), Recipe(epochs=2, batch_size=4)
    splits = [Split([0, 1, 2, 4, 5, 6], [7, 8]), Split([0, 2, 4, 5, 6], [7])]
    for trained in (
        train(graphs, CLIP, recipe, splits, [1, 2], together=own) for own in (False, True)
    ):
        assert all(model.history.diverged is None for model in trained)


@pytest.mark.parametrize("num_colorings", [0, 1])
def test_a_batch_with_a_single_edge(num_colorings: int) -> None:
    edges = torch.tensor([[0], [1]])
    graphs = PackedGraphs(
        name="one edge",
        x=torch.zeros(8, dtype=torch.int64),
        in_channels=1,
        edge_index=edges,
        node_pointers=torch.arange(0, 9, 2),
        edge_pointers=torch.tensor([0, 1, 1, 1, 1]),
        y=torch.tensor([0, 1, 0, 1]),
        edge_attr=torch.ones(1, 2),
    )
    spec = ModelSpec("clip", {**CLIP.parameters, "num_colorings": num_colorings})
    [trained] = train(graphs, spec, Recipe(epochs=2, batch_size=2), [Split([0, 1], [2, 3])], [0])
    assert trained.history.diverged is None


@pytest.mark.parametrize(
    ("kinds", "parameters", "said"),
    [
        ({"edge attributes"}, {"edge_channels": 0}, "must have edge_channels=0"),
        ({"edge attributes"}, {"edge_channels": 5}, "must have edge_channels=5"),
        (set(), {"edge_channels": 2}, "must have edge_channels=2"),
        ({"graph attributes"}, {"graph_channels": 0}, "must have graph_channels=0"),
    ],
)
def test_channels_of_the_network_and_of_the_graphs(
    kinds: set[str], parameters: dict[str, int], said: str
) -> None:
    graphs, recipe = graph_set(frozenset(kinds)), Recipe(epochs=1, batch_size=4)
    with pytest.raises(InvalidGraphError, match=said):
        train(graphs, ModelSpec("clip", parameters), recipe, SPLITS[:1], [0])
    network = clipgnn.CLIP(3, 2, **parameters)  # type: ignore[arg-type]
    with pytest.raises(InvalidGraphError, match=said):
        train(graphs, network, recipe, SPLITS[:1], [0])
