"""All colorings, and colorings that are stored with a data set, in calls and in training."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.graphs.examples import assembler_of, packed
from torch import Tensor

from clipgnn import CLIP, ModelSpec, Recipe, Split, train
from clipgnn.coloring import all_colorings, color_groups, num_colorings
from clipgnn.coloring.groups import Partition
from clipgnn.coloring.precomputed import MAX_TRAINING_COLORINGS, All, Precomputed
from clipgnn.errors import InvalidColoringError, TooManyColoringsError
from clipgnn.graphs.assembly import Capacity
from clipgnn.graphs.packed import PackedGraphs

SIZES = [4, 3, 0, 2, 5, 1]
CHOSEN = [[4, 0, 2], [1, 5, 3]]
NO_SEEDS = torch.zeros(2, dtype=torch.int64)


def partition_of(graphs: PackedGraphs) -> Partition:
    groups = color_groups(graphs.x, graphs.graph_of_node)
    return Partition.of(groups, graphs.graph_of_node, len(graphs))


def with_colorings(graphs: PackedGraphs, k: int = 4) -> PackedGraphs:
    """Stored colorings with more colors than the groups need."""
    generator = torch.Generator().manual_seed(0)
    stored = torch.randint(9, (k, graphs.x.shape[0]), generator=generator)
    stored[-1, 0] = 8
    return replace(graphs, colorings=stored)


def arguments(graphs: PackedGraphs) -> dict[str, Any]:
    return {
        "x": graphs.x,
        "edge_index": graphs.global_edge_index,
        "batch": graphs.graph_of_node,
        "edge_weight": graphs.edge_weight,
        "edge_attr": graphs.edge_attr,
        "graph_attr": graphs.graph_attr,
        "batch_size": len(graphs),
    }


def padded_outputs(model: CLIP, graphs: PackedGraphs, k: int) -> Tensor:
    """Outputs for the graphs of two members, in padded batches, as training computes them."""
    assembler = assembler_of(graphs)
    chosen = torch.tensor(CHOSEN)
    needed = assembler.capacity_for(chosen)
    batch = assembler.batch(chosen, Capacity(needed.nodes + 5, needed.edges + 5))
    sampler = model.scheme.sampler(graphs, partition_of(graphs))
    colorings = sampler.sample(batch, k, NO_SEEDS, torch.tensor(0))
    return model.forward_batch(batch, colorings)


def model_of(graphs: PackedGraphs, coloring: str, **parameters: Any) -> CLIP:
    torch.manual_seed(0)
    small = {"hidden_channels": 5, "num_layers": 2, "num_members": 2}
    model = CLIP.from_graphs(graphs, coloring=coloring, **{**small, **parameters}).double()
    for name, value in model.named_buffers():
        if "running" in name:
            value.uniform_(0.5, 2.0)
    return model.eval().requires_grad_(False)


KINDS: dict[str, dict[str, Any]] = {
    "undirected": {},
    "all": {"directed": True, "weights": True, "edge_channels": 2, "graph_channels": 2},
}
every_kind = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())


@every_kind
def test_all_colorings_in_padded_batches(options: dict[str, Any]) -> None:
    """∞-CLIP computes the same from a table of colorings as from a stream of them."""
    graphs = packed(SIZES, **options)
    model = model_of(graphs, "all")
    exact = model(**arguments(graphs))
    padded = padded_outputs(model, graphs, k=1)
    for member in range(2):
        torch.testing.assert_close(
            padded[member], exact[member, CHOSEN[member]], rtol=0, atol=1e-10
        )


def test_the_table_holds_every_coloring() -> None:
    graphs = packed(SIZES)
    partition = partition_of(graphs)
    table = All().sampler(graphs, partition).table[:, :-1]
    groups = color_groups(graphs.x, graphs.graph_of_node)
    counts = num_colorings(groups, graphs.graph_of_node)
    assert table.shape[0] == max(counts)
    for graph, size in enumerate(SIZES):
        own = graphs.graph_of_node == graph
        if size:
            expected = torch.cat(list(all_colorings(groups[own])))
            assert set(map(tuple, table[:, own].tolist())) == set(map(tuple, expected.tolist()))


def test_the_number_of_all_colorings_does_not_depend_on_k() -> None:
    graphs = packed(SIZES)
    sampler = All().sampler(graphs, partition_of(graphs))
    largest = max(num_colorings(color_groups(graphs.x, graphs.graph_of_node), graphs.graph_of_node))
    assert [sampler.num_colorings(k) for k in (1, 16)] == [largest] * 2


def equal_nodes(*sizes: int) -> PackedGraphs:
    graphs = packed(list(sizes))
    return replace(graphs, x=torch.zeros_like(graphs.x))


def test_training_refuses_too_many_colorings() -> None:
    graphs = equal_nodes(3, 7, 6)
    message = f"at most {MAX_TRAINING_COLORINGS:,} colorings to be trained on .* Graph 1 has 5,040"
    with pytest.raises(TooManyColoringsError, match=message):
        All().sampler(graphs, partition_of(graphs))
    All().sampler(equal_nodes(3, 6), partition_of(equal_nodes(3, 6)))


def test_a_network_without_colors_can_train_on_graphs_with_many_colorings() -> None:
    graphs = equal_nodes(30, 20, 30, 20)
    spec = ModelSpec("clip", {"coloring": "all", "num_colorings": 0, "hidden_channels": 2})
    trained = train(graphs, spec, Recipe(epochs=1, batch_size=2), [Split([0, 1], [2, 3])], [0])
    assert trained[0].model.predict(graphs).shape == (4, 2)


@every_kind
@pytest.mark.parametrize("k", [1, 3])
def test_stored_colorings_in_calls_batches_and_predictions(options: dict[str, Any], k: int) -> None:
    graphs = with_colorings(packed(SIZES, **options))
    model = model_of(graphs, "precomputed", num_colorings=k)
    assert model.config.num_colors == 9
    assert graphs.colorings is not None
    exact = model(**arguments(graphs), colorings=graphs.colorings[:k])
    padded = padded_outputs(model, graphs, k)
    for member in range(2):
        torch.testing.assert_close(
            padded[member], exact[member, CHOSEN[member]], rtol=0, atol=1e-10
        )
    for batch_size in (1, 4, 100):
        predicted = model.predict(graphs, batch_size=batch_size)
        torch.testing.assert_close(predicted, exact, rtol=0, atol=1e-10)
    chosen = torch.tensor([4, 0])
    predicted = model.predict(graphs.subset(chosen))
    torch.testing.assert_close(predicted, exact[:, chosen], rtol=0, atol=1e-10)


def test_training_with_stored_colorings() -> None:
    graphs = with_colorings(packed([4, 3, 6, 3]))
    spec = ModelSpec("clip", {"coloring": "precomputed", "num_colorings": 2, "hidden_channels": 4})
    recipe, splits = Recipe(epochs=2, batch_size=2), [Split([0, 1], [2, 3])]
    trained = train(graphs, spec, recipe, splits, [0])
    assert all(math.isfinite(loss) for loss in trained[0].history.train_loss)
    assert graphs.colorings is not None
    others = replace(graphs, colorings=(graphs.colorings + 1) % 9)
    changed = train(others, spec, recipe, splits, [0])
    assert trained[0].history.train_loss != changed[0].history.train_loss


@pytest.mark.parametrize("call", ["from_graphs", "predict", "sampler", "prepare"])
def test_a_data_set_without_colorings(call: str) -> None:
    graphs = packed(SIZES)
    model = model_of(with_colorings(graphs), "precomputed", num_colorings=2)
    calls = {
        "from_graphs": lambda: CLIP.from_graphs(graphs, coloring="precomputed"),
        "predict": lambda: model.predict(graphs),
        "sampler": lambda: Precomputed().sampler(graphs, partition_of(graphs)),
        "prepare": lambda: Precomputed().prepare(graphs, 1),
    }
    with pytest.raises(InvalidColoringError, match="'random graphs' without colorings"):
        calls[call]()


def test_a_call_without_colorings() -> None:
    graphs = with_colorings(packed(SIZES))
    model = model_of(graphs, "precomputed", num_colorings=2)
    with pytest.raises(InvalidColoringError, match="must have the argument colorings"):
        model(**arguments(graphs))


def test_more_colorings_than_are_stored() -> None:
    """All of them are used, so that the default k fits one canonical coloring."""
    graphs = with_colorings(packed(SIZES), k=4)
    few, many = (model_of(graphs, "precomputed", num_colorings=k) for k in (4, 16))
    many.load_state_dict(few.state_dict())
    assert torch.equal(many.predict(graphs), few.predict(graphs))
    assert Precomputed().sampler(graphs, partition_of(graphs)).num_colorings(16) == 4
    spec = ModelSpec("clip", {"coloring": "precomputed", "num_colorings": 16})
    train(graphs, spec, Recipe(epochs=1, batch_size=2), [Split([0, 1], [2, 3])], [0])


def test_a_stored_color_that_the_network_does_not_know() -> None:
    graphs = with_colorings(packed([4, 3, 6, 3]))
    spec = ModelSpec("clip", {"coloring": "precomputed", "num_colorings": 4, "num_colors": 8})
    recipe, splits = Recipe(epochs=1, batch_size=2), [Split([0, 1], [2, 3])]
    message = r"less than num_colors=8\. Got color 8"
    with pytest.raises(InvalidColoringError, match=message):
        train(graphs, spec, recipe, splits, [0])
    model = model_of(graphs, "precomputed", num_colorings=4, num_colors=8)
    with pytest.raises(InvalidColoringError, match=message):
        model.predict(graphs)
    with pytest.warns(UserWarning, match=r"has 9 nodes.*the network has 8 colors"):
        reduced = model.predict(graphs, wrap_colors=True)
    assert graphs.colorings is not None
    stored = replace(graphs, colorings=graphs.colorings % 8)
    assert torch.equal(reduced, model.predict(stored))
