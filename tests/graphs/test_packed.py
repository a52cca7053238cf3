"""A packed data set against PyG's own lists and batches."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch, Data

from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import ModelSpec, Recipe, Split, train


def random_graphs(
    sizes: list[int], seed: int = 0, *, labels: bool = False, edge_channels: int = 0
) -> list[Data]:
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for number, size in enumerate(sizes):
        adjacency = torch.rand(size, size, generator=generator) < 0.4
        edge_index = adjacency.nonzero().t()
        x = torch.rand(size, 3, generator=generator)
        if labels:
            x = torch.randint(5, (size,), generator=generator)
        data = Data(x=x, edge_index=edge_index, y=torch.tensor([number % 3]))
        if edge_channels:
            data.edge_attr = torch.rand(edge_index.shape[1], edge_channels, generator=generator)
        graphs.append(data)
    return graphs


def assert_same_batch(ours: ExactBatch, theirs: Batch) -> None:
    """Check that a batch equals that of a network that is called with PyG's tensors."""
    expected = ExactBatch.from_tensors(
        theirs.x,
        theirs.edge_index,
        theirs.batch,
        edge_attr=theirs.edge_attr,
        batch_size=theirs.num_graphs,
    )
    assert ours.num_graphs == expected.num_graphs
    torch.testing.assert_close(ours.x, expected.x, rtol=0, atol=0)
    torch.testing.assert_close(ours.graph_of_node, expected.graph_of_node)
    for name, values in vars(expected.edges.pattern).items():
        torch.testing.assert_close(getattr(ours.edges.pattern, name), values)
    assert (ours.edges.attr is None) == (expected.edges.attr is None)
    if expected.edges.attr is not None:
        torch.testing.assert_close(ours.edges.attr, expected.edges.attr, rtol=0, atol=0)


@given(
    sizes=st.lists(st.integers(0, 6), min_size=1, max_size=8),
    picks=st.lists(st.integers(0, 10**6), min_size=1, max_size=10),
    seed=st.integers(0, 1000),
    labels=st.booleans(),
    edge_channels=st.sampled_from([0, 2]),
)
def test_batch_is_what_pyg_collates(
    sizes: list[int], picks: list[int], seed: int, labels: bool, edge_channels: int
) -> None:
    if not any(sizes):
        sizes[0] = 1
    graphs = random_graphs(sizes, seed, labels=labels, edge_channels=edge_channels)
    chosen = [pick % len(graphs) for pick in picks]
    if not any(sizes[graph] for graph in chosen):  # CLIP refuses a batch without nodes
        chosen.append(max(range(len(sizes)), key=sizes.__getitem__))
    packed = PackedGraphs.from_data_list(graphs)
    theirs = Batch.from_data_list([graphs[graph] for graph in chosen])
    assert_same_batch(packed.batch(torch.tensor(chosen)), theirs)
    torch.testing.assert_close(packed.targets[torch.tensor(chosen)], theirs.y)


@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8), seed=st.integers(0, 1000))
def test_there_and_back(sizes: list[int], seed: int) -> None:
    graphs = random_graphs(sizes, seed, edge_channels=2)
    packed = PackedGraphs.from_data_list(graphs)
    assert len(packed) == len(graphs)
    assert packed.in_channels == 3
    for before, after in zip(graphs, packed.to_data_list(), strict=True):
        for name in ("x", "edge_index", "edge_attr", "y"):
            torch.testing.assert_close(after[name], before[name], rtol=0, atol=0)


def test_graph_of_node_is_pygs_batch_vector() -> None:
    graphs = random_graphs([3, 0, 5, 1])
    packed = PackedGraphs.from_data_list(graphs)
    torch.testing.assert_close(packed.graph_of_node, Batch.from_data_list(graphs).batch)


def test_labels_become_one_hot_attributes() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([4, 5], labels=True))
    assert packed.x.dim() == 1
    rows = torch.cat([data.x for data in packed.to_data_list()])
    assert rows.shape == (9, packed.in_channels)
    torch.testing.assert_close(rows.argmax(1), packed.x)
    assert bool((rows.sum(1) == 1).all())


def test_nodes_without_attributes_are_all_alike() -> None:
    graphs = random_graphs([4, 5])
    for data in graphs:
        data.num_nodes = data.x.shape[0]
        data.x = None
    packed = PackedGraphs.from_data_list(graphs)
    assert packed.in_channels == 1
    torch.testing.assert_close(packed.x, torch.zeros(9, dtype=torch.int64))


def test_an_empty_choice_is_an_empty_batch() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([4, 5]))
    batch = packed.batch(torch.tensor([], dtype=torch.int64))
    assert batch.num_graphs == 0
    assert batch.num_nodes == 0


class CountOperations(TorchDispatchMode):
    """How many operations of torch were called."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        return function(*args, **(kwargs or {}))


def test_assembling_a_batch_has_no_loop_over_graphs() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([3] * 200, edge_channels=2))
    counts = []
    for size in (2, 200):
        with CountOperations() as counting:
            packed.batch(torch.arange(size))
        counts.append(counting.count)
    assert counts[0] == counts[1]


def test_to_moves_every_tensor() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([3, 4], edge_channels=2))
    assert packed.graph_of_node.device.type == "cpu"  # a cached one must not stay behind
    moved = packed.to("meta")
    assert moved.device.type == "meta"
    assert {value.device.type for value in vars(moved).values() if isinstance(value, Tensor)} == {
        "meta"
    }
    assert moved.name == packed.name


def test_targets() -> None:
    graphs = random_graphs([2, 2, 2])
    for data, y in zip(graphs, (1, 0, 2), strict=True):
        data.y = torch.tensor(y, dtype=torch.int32)
    packed = PackedGraphs.from_data_list(graphs)
    assert packed.targets.tolist() == [1, 0, 2]
    assert packed.targets.dtype == torch.int64
    assert packed.num_classes == 3
    for data in graphs:
        data.y = torch.tensor([[0.5]])
    packed = PackedGraphs.from_data_list(graphs)
    assert packed.targets.tolist() == [0.5] * 3
    with pytest.raises(InvalidParameterError, match="floats to regress"):
        _ = packed.num_classes
    for data in graphs:
        data.y = torch.tensor([[0.5, 1.5]])
    assert PackedGraphs.from_data_list(graphs).targets.shape == (3, 2)


def test_repr_is_short() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([3, 4]), "mine")
    assert repr(packed).startswith("PackedGraphs('mine', graphs=2, nodes=7, edges=")


def broken(**changes: Tensor | int | None) -> list[Data]:
    graphs = random_graphs([3, 4, 6], edge_channels=2)
    for name, value in changes.items():
        graphs[1][name] = value
    return graphs


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "at least one graph"),
        (broken(edge_index=None), "Graph 1: edge_index must be given"),
        (broken(x=None, num_nodes=4), "Graph 1: x must be given for all graphs or for none"),
        (broken(x=torch.rand(4, 5)), r"Graph 1: x must have .* same channels .* Got float32 \[5\]"),
        (broken(x=torch.rand(4, 3).double()), "Graph 1: x must have one dtype"),
        (broken(x=torch.full((4, 3), torch.nan)), "Graph 1: x must be finite. Got NaN in row 0"),
        (broken(y=None), "Graph 1: y must be given for all graphs or for none"),
        (broken(y=torch.tensor([0, 1])), "Graph 1: y must have one row. Got 2 rows"),
        (broken(y=torch.tensor([-1])), "Graph 1: y must be a class from 0 to .*Got -1"),
        (
            broken(edge_index=torch.tensor([[0], [4]]), edge_attr=torch.rand(1, 2)),
            r"Graph 1: edge_index must have nodes from 0 to 3. Got node 4",
        ),
        (
            broken(edge_index=torch.tensor([[0], [-1]]), edge_attr=torch.rand(1, 2)),
            "Got node -1",
        ),
        (broken(edge_index=torch.zeros(2, 1)), "Graph 1: edge_index must be an int64 tensor"),
        (broken(edge_index=torch.tensor([0, 1])), "Graph 1: edge_index must have shape"),
        (broken(edge_attr=None), "Graph 1: edge_attr must be given for all graphs or for none"),
        (broken(edge_attr=torch.rand(1, 2)), "Graph 1: edge_attr must have shape .* each edge"),
    ],
)
def test_what_is_no_data_set_is_refused(graphs: list[Data], message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        PackedGraphs.from_data_list(graphs)


@pytest.mark.parametrize("chosen", [torch.tensor([True, False]), torch.tensor([[0]])])
def test_chosen_graphs_are_numbers(chosen: Tensor) -> None:
    packed = PackedGraphs.from_data_list(random_graphs([3, 4]))
    with pytest.raises(InvalidParameterError, match="int64 tensor of indices of graphs"):
        packed.batch(chosen)


def test_a_graph_that_is_not_there() -> None:
    packed = PackedGraphs.from_data_list(random_graphs([3, 4]))
    for number in (2, -1, 2**62):
        with pytest.raises(InvalidParameterError, match=f"from 0 to 1. Got graph {number}"):
            packed.batch(torch.tensor([0, number]))


def test_attributes_and_targets_are_detached() -> None:
    """Otherwise the second step of training would go backward through their history again."""
    graphs = random_graphs([3, 4, 5, 3, 4, 5], edge_channels=2)
    scale = torch.ones((), requires_grad=True)
    for number, graph in enumerate(graphs):
        graph.edge_index = torch.cat([graph.edge_index, graph.edge_index.flip(0)], 1)
        graph.edge_attr = graph.edge_attr.repeat(2, 1) * scale
        graph.x = graph.x * scale
        graph.y = scale.view(1) * number
    packed = PackedGraphs.from_data_list(graphs)
    assert packed.edge_attr is not None
    assert not any(part.requires_grad for part in (packed.x, packed.edge_attr, packed.targets))
    spec = ModelSpec("clip", {"num_colorings": 1, "hidden_channels": 4, "num_layers": 1})
    recipe = Recipe(epochs=2, batch_size=2, loss="squared-error")
    train(packed, spec, recipe, [Split([0, 1, 2, 3], [4, 5])], [0])
