"""The transform that adds colorings to graphs of PyTorch Geometric."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import BaseTransform, Compose, ToUndirected

import clipgnn
from clipgnn import AddColorings, PackedGraphs
from clipgnn.datasets import circular_skip_links
from clipgnn.errors import InvalidColoringError, InvalidGraphError, InvalidParameterError


def path(nodes: int, x: Tensor | None = None) -> Data:
    source = torch.arange(nodes - 1)
    edges = torch.stack([source, source + 1])
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], 1), num_nodes=nodes)


def assert_valid(colors: Tensor, group: Tensor) -> None:
    """In each coloring, a group of s nodes has each of the colors 0..s-1 once."""
    for coloring in colors.t():
        for number in group.unique():
            own = coloring[group == number]
            assert own.sort()[0].tolist() == list(range(own.numel()))


GROUP = torch.tensor([0, 1, 0, 0, 1])
ATTRIBUTES = {
    "none": (None, torch.zeros(5, dtype=torch.int64)),
    "labels": (GROUP, GROUP),
    "negative labels": (-GROUP, GROUP),
    "floats": (torch.randn(2, 3)[GROUP], GROUP),
    "integers": (torch.tensor([[1, 2], [2, 1]])[GROUP], GROUP),
    "one axis": (torch.tensor([0.5, 1.5])[GROUP], GROUP),
    "booleans": (GROUP[:, None] == 1, GROUP),
}


@pytest.mark.parametrize("case", ATTRIBUTES)
@pytest.mark.parametrize("seed", [None, 0])
def test_nodes_with_identical_attributes_get_distinct_colors(case: str, seed: int | None) -> None:
    x, group = ATTRIBUTES[case]
    data = AddColorings(4, seed=seed)(path(5, x))
    assert data.colors.shape == (5, 4)
    assert data.colors.dtype == torch.int64
    assert data.colors.unique(dim=1).shape[1] == 4
    assert_valid(data.colors, group)


def test_the_original_graph_is_not_changed() -> None:
    original = path(4, torch.ones(4, 1))
    AddColorings(2)(original)
    AddColorings(2, num_colors=4, attr_name=None)(original)
    assert "colors" not in original
    assert original.x.shape == (4, 1)


def test_batches_have_the_rows_of_their_graphs() -> None:
    graphs = [AddColorings(3)(path(nodes)) for nodes in (2, 5, 4)]
    batch = Batch.from_data_list(graphs)
    assert torch.equal(batch.colors, torch.cat([graph.colors for graph in graphs]))
    assert torch.equal(batch.get_example(1).colors, graphs[1].colors)


@pytest.mark.parametrize("seed", [None, 0])
def test_a_batch_is_colored_graph_by_graph(seed: int | None) -> None:
    batch = Batch.from_data_list([path(nodes) for nodes in (2, 5, 4)])
    assert_valid(AddColorings(2, seed=seed)(batch).colors, batch.batch)


def test_one_hot_colors_are_added_to_the_attributes() -> None:
    x = torch.randn(2, 3, dtype=torch.float64)[GROUP]
    named = AddColorings(2, seed=1)(path(5, x))
    data = AddColorings(2, num_colors=4, attr_name=None, seed=1)(path(5, x))
    codes = torch.nn.functional.one_hot(named.colors, 4).flatten(1)
    assert torch.equal(data.x, torch.cat([x, codes], 1))
    assert "colors" not in data
    alone = AddColorings(1, num_colors=6, attr_name=None)(path(5))
    assert alone.x.dtype == torch.float32
    assert torch.equal(alone.x.sum(1), torch.ones(5))
    assert alone.x.sum(0).tolist() == [1.0] * 5 + [0.0]


def test_colorings_are_new_at_every_access() -> None:
    torch.manual_seed(0)
    graph, add = path(12), AddColorings(2)
    drawn = [add(graph).colors for _ in range(3)]
    assert not torch.equal(drawn[0], drawn[1])
    torch.manual_seed(0)
    assert torch.equal(drawn[0], add(graph).colors)


def test_a_seed_and_the_graph_determine_the_colorings() -> None:
    """Those of `predict`, in any order of graphs, in any process and at every access."""
    data_list = circular_skip_links(copies=1).to_data_list()
    graphs, data = PackedGraphs.from_data_list(data_list), data_list[3]
    colors = AddColorings(2, seed=5)(data).colors
    assert torch.equal(colors, AddColorings(2, seed=5)(data).colors)
    assert not torch.equal(colors, AddColorings(2, seed=6)(data).colors)
    together = AddColorings(2, seed=5)(Batch.from_data_list(data_list[2:4]))
    assert torch.equal(colors, together.colors[together.batch == 1])
    model = clipgnn.CLIP.from_graphs(graphs, num_colorings=2, hidden_channels=8).eval()
    output = model(data.x, data.edge_index, colorings=colors.t())
    torch.testing.assert_close(output, model.predict(graphs, seed=5)[3:4])


def test_graphs_of_the_same_size_have_independent_colorings() -> None:
    first, second = circular_skip_links(copies=2).to_data_list()[:2]
    add = AddColorings(1, seed=0)
    assert not torch.equal(add(first).colors, add(second).colors)


@pytest.mark.needs("igraph")
def test_canonical_colors_do_not_depend_on_the_order_of_nodes() -> None:
    """They respect attributes and weights of edges, which random colors do not read."""
    add = AddColorings(1, coloring="canonical")
    order = torch.tensor([3, 0, 4, 1, 2])
    bonds = torch.tensor([0, 0, 1, 0, 0, 0, 1, 0])
    for name, values in (("edge_attr", bonds), ("edge_weight", bonds + 0.5)):
        graph, other = path(5), path(5)
        graph[name] = values
        other.edge_index, other[name] = order[other.edge_index], values
        colors, expected = add(other).colors, torch.empty(5, 1, dtype=torch.int64)
        expected[order] = add(graph).colors
        assert torch.equal(colors, expected)
        assert not torch.equal(add(graph).colors, add(path(5)).colors)
    graph.edge_weight = torch.full((8,), torch.nan)
    AddColorings(1)(graph)
    with pytest.raises(InvalidGraphError, match="edge_weight must be finite"):
        add(graph)


@pytest.mark.needs("igraph")
def test_values_of_edges_have_any_shape() -> None:
    """Single atoms have no edges, and PyG has weights with one channel or of integers."""
    add = AddColorings(1, coloring="canonical")
    atom = Data(x=torch.zeros(1, 1), edge_index=torch.empty(2, 0, dtype=torch.int64))
    atom.edge_attr = torch.empty(0, 3)
    assert add(atom).colors.tolist() == [[0]]
    colors = []
    for weight in (torch.arange(8) % 3 + 1, (torch.arange(8) % 3 + 1.0)[:, None]):
        graph = path(5)
        graph.edge_weight = weight
        colors.append(add(graph).colors)
    assert torch.equal(colors[0], colors[1])
    graph.edge_weight = None
    graph.edge_attr = torch.arange(16).view(8, 2, 1)
    assert add(graph).colors.shape == (5, 1)


def test_values_of_edges_that_are_not_tensors() -> None:
    """They are errors for schemes that read them, and ignored by others."""
    graph = path(5)
    graph.edge_attr = ["single"] * 8
    for coloring in ("random", "refined", "individualized"):
        AddColorings(1, coloring=coloring)(graph)
    with pytest.raises(InvalidColoringError, match="k=1 colorings"):
        AddColorings(1, coloring="all")(graph)
    with pytest.raises(InvalidGraphError, match=r"edge_attr must be a tensor.*of type list"):
        AddColorings(1, coloring="canonical")(graph)


def test_colorings_of_other_schemes() -> None:
    batch = Batch.from_data_list([path(nodes) for nodes in (2, 5, 4)])
    for coloring in ("refined", "individualized"):
        add = AddColorings(2, coloring=coloring, seed=0)
        assert_valid(add(batch).colors, batch.batch)
        assert repr(add) == f"AddColorings(k=2, coloring={coloring!r}, seed=0)"
    with pytest.raises(InvalidColoringError, match=r"have k=2 colorings\. Got 120"):
        AddColorings(2, coloring="all")(batch)
    with pytest.raises(InvalidParameterError, match="Did you mean 'refined'"):
        AddColorings(2, coloring="refine")


def test_it_is_a_transform_of_data_sets() -> None:
    add = AddColorings(2, num_colors=8)
    assert isinstance(add, BaseTransform)
    assert repr(add) == "AddColorings(k=2, num_colors=8)"
    assert repr(AddColorings(1, num_colors=3, attr_name=None, seed=4)) == (
        "AddColorings(k=1, num_colors=3, attr_name=None, seed=4)"
    )
    graphs = [Compose([ToUndirected(), add])(path(nodes)) for nodes in (3, 8)]
    [batch] = DataLoader(graphs, batch_size=2)
    assert batch.colors.shape == (11, 2)


def test_graphs_with_colors_can_be_packed() -> None:
    assert len(PackedGraphs.from_data_list([AddColorings(1)(path(3))])) == 1


def test_too_few_colors() -> None:
    add = AddColorings(1, num_colors=3)
    add(path(5, GROUP))
    with pytest.raises(InvalidColoringError, match=r"4 nodes.*num_colors=4 or more"):
        add(path(4))


@pytest.mark.parametrize("k", [0, -1, 2.0, True, None])
@pytest.mark.usefixtures("without_shape_checks")
def test_invalid_numbers_of_colorings(k: Any) -> None:
    with pytest.raises(InvalidColoringError, match="k must be an integer from 1"):
        AddColorings(k)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"num_colors": 0}, "'num_colors' parameter of AddColorings"),
        ({"attr_name": None}, r"num_colors must be given.*Got None"),
        ({"attr_name": ""}, "attr_name must be"),
        ({"seed": -1}, "seed must be an integer"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_invalid_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        AddColorings(1, **parameters)


@pytest.mark.usefixtures("without_shape_checks")
def test_what_is_not_a_graph() -> None:
    for value in (HeteroData(), torch.ones(3, 1)):
        with pytest.raises(InvalidGraphError, match="must be a torch_geometric"):
            AddColorings(1)(value)
    with (
        pytest.warns(UserWarning, match="num_nodes"),  # of PyG
        pytest.raises(InvalidGraphError, match="num_nodes"),
    ):
        AddColorings(1)(Data())
    with pytest.raises(InvalidGraphError, match="finite"):
        AddColorings(1)(path(2, torch.tensor([[1.0], [torch.nan]])))
