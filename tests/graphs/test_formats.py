"""Graphs of other libraries: what is read, and round trips that lose nothing."""

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch.utils.data import Subset
from torch_geometric.data import Batch, Data, InMemoryDataset

from clipgnn import PackedGraphs
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs import formats

if TYPE_CHECKING:
    Graph = nx.Graph[Any]

EDGE = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=3),
    "flag": st.booleans(),
    "count": st.integers(-5, 5),
    "size": st.floats(-100, 100, width=32),
    "vector": st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=2),
}


@st.composite
def attributed_graphs(draw: st.DrawFn, *, names: bool = True) -> list["Graph"]:
    """Graphs of one kind with the same attributes; some nodes do not have the text."""
    kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    of_nodes = draw(st.lists(st.sampled_from(sorted(VALUES)), unique=True)) if names else []
    of_edges = draw(st.lists(st.sampled_from(["text", "size"]), unique=True)) if names else []
    weighted = draw(st.booleans())
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        graph: Graph = kind()
        size = draw(st.integers(1, 6))
        for node in range(size):
            own = {name: draw(VALUES[name]) for name in of_nodes}
            if draw(st.booleans()):
                own.pop("text", None)
            graph.add_node(node, **own)
        for _ in range(draw(st.integers(0, 8))):
            pair = draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))
            values = {name: draw(VALUES[name]) for name in of_edges}
            if weighted:
                values["weight"] = draw(st.floats(0.5, 4, width=16))
            graph.add_edge(*pair, **values)
        graphs.append(graph)
    return graphs


def described(graph: "Graph", *, directed: bool) -> tuple[Any, Any]:
    """Nodes and edges with their attributes; those of undirected graphs in both directions."""
    edges = [(*pair, sorted(own.items())) for *pair, own in graph.edges(data=True)]
    if directed and not graph.is_directed():
        edges += [(target, source, own) for source, target, own in edges if source != target]
    nodes = [sorted(own.items()) for _, own in graph.nodes(data=True)]
    if not directed:
        edges = [(min(pair), max(pair), own) for *pair, own in edges]
    return nodes, sorted(edges, key=repr)


@given(attributed_graphs())
def test_networkx(graphs: list["Graph"]) -> None:
    packed = PackedGraphs.from_networkx(graphs)
    for before, after in zip(graphs, packed.to_networkx(), strict=True):
        directed = before.is_directed()
        assert described(after, directed=directed) == described(before, directed=directed)


@pytest.mark.needs("igraph")
@given(attributed_graphs())
def test_igraph(graphs: list["Graph"]) -> None:
    packed = PackedGraphs.from_networkx(graphs)
    read = PackedGraphs.from_igraph(packed.to_igraph())
    for before, after in zip(packed.to_networkx(), read.to_networkx(), strict=True):
        assert described(before, directed=True) == described(after, directed=True)


@given(attributed_graphs(names=False))
def test_scipy(graphs: list["Graph"]) -> None:
    packed = PackedGraphs.from_networkx(graphs)
    for before, after in zip(graphs, packed.to_scipy(), strict=True):
        expected = nx.to_scipy_sparse_array(
            before, nodelist=range(len(before)), dtype=np.dtype(float)
        )
        assert np.array_equal(after.toarray(), expected.toarray())
    read = PackedGraphs.from_scipy(packed.to_scipy())
    assert torch.equal(read.node_pointers, packed.node_pointers)
    for before, after in zip(packed.to_scipy(), read.to_scipy(), strict=True):
        assert np.array_equal(before.toarray(), after.toarray())


@pytest.mark.needs("igraph")
def test_names_of_vertices_are_attributes_only_if_they_are_chosen() -> None:
    import igraph

    graph = igraph.Graph.from_networkx(nx.relabel_nodes(nx.path_graph(2), {0: "a", 1: "b"}))
    graph.vs["name"] = ["left", "right"]
    graph.vs["size"] = [1.5, 2.5]
    encoding = PackedGraphs.from_igraph([graph]).encoding
    assert encoding is not None
    assert [own.name for own in encoding.nodes] == ["size"]
    named = PackedGraphs.from_igraph([graph], node_attributes=["name"])
    assert named.x.tolist() == [0, 1]
    assert PackedGraphs.from_igraph([graph], encoding=named.encoding).x.tolist() == [0, 1]


def test_tensors_without_names() -> None:
    graphs = PackedGraphs(
        name="graphs",
        x=torch.tensor([[0.5, 1.0], [2.0, 3.0]]),
        in_channels=2,
        edge_index=torch.tensor([[0], [1]]),
        node_pointers=torch.tensor([0, 2]),
        edge_pointers=torch.tensor([0, 1]),
        edge_attr=torch.tensor([[4.0]]),
        graph_attr=torch.tensor([[5.0, 6.0]]),
    )
    [graph] = graphs.to_networkx()
    assert graph.is_directed()
    assert dict(graph.nodes(data=True)) == {0: {"x": [0.5, 1.0]}, 1: {"x": [2.0, 3.0]}}
    assert list(graph.edges(data=True)) == [(0, 1, {"edge_attr": [4.0]})]
    assert graph.graph == {"graph_attr": [5.0, 6.0]}


def test_nodes_of_any_type_are_numbered_in_order() -> None:
    graph: Graph = nx.Graph([("b", "a"), ("a", (1, 2))])
    packed = PackedGraphs.from_networkx([graph])
    assert packed.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]


def test_entries_of_matrices() -> None:
    matrix = sparse.coo_array(([1, 1, 0, 2], ([0, 0, 1, 2], [1, 1, 0, 2])), shape=(3, 3))
    graphs = PackedGraphs.from_scipy([matrix])
    assert graphs.edge_index.tolist() == [[0, 2], [1, 2]]
    assert graphs.edge_weight is not None
    assert graphs.edge_weight.tolist() == [2.0, 2.0]  # duplicates are added, zeros left out
    ones = PackedGraphs.from_scipy([sparse.eye_array(2), sparse.csr_matrix(np.ones((1, 1)))])
    assert ones.edge_weight is None
    assert ones.node_pointers.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("method", "graphs", "message"),
    [
        ("from_networkx", nx.path_graph(2), "must be a list of graphs of networkx. Got a single G"),
        ("from_networkx", "CCO", "must be a list of graphs of networkx. Got a single str"),
        ("from_networkx", None, "must be a list of graphs of networkx. Got NoneType"),
        ("from_networkx", {"a": nx.path_graph(2)}, "Got dict"),
        ("from_networkx", np.array([[None]]), "Got ndarray with 2 axes"),
        ("from_networkx", [Data()], r"Got Data as graph 0. Use PackedGraphs.from_data_list for"),
        ("from_networkx", [nx.path_graph(2), Data()], "Data as graph 1. Convert all graphs to one"),
        ("from_networkx", [sparse.eye_array(2)], "Use PackedGraphs.from_scipy for graphs of scipy"),
        ("from_scipy", sparse.eye_array(2), "Got a single dia_array. Use a list of one"),
        ("from_data_list", nx.path_graph(2), "Got a single Graph. Use a list of one"),
        ("from_data_list", [nx.path_graph(2)], "Graph as graph 0. Use PackedGraphs.from_networkx"),
        ("from_data_list", Batch.from_data_list([EDGE]), r"Got a single DataBatch. Use its to_da"),
        ("from_data_list", [Batch.from_data_list([EDGE, EDGE])], "one graph. Got a batch of 2"),
        ("from_data_list", [[EDGE]], "Got list as graph 0"),
        ("from_networkx", 3, "must be a list of graphs of networkx. Got int"),
        ("from_networkx", [], "at least one graph"),
        ("from_networkx", [nx.path_graph(2), None], "Got NoneType as graph 1"),
        ("from_scipy", [np.eye(2)], "must be a list of sparse matrices of SciPy. Got ndarray"),
        ("from_scipy", [sparse.csr_array((2, 3))], r"Graph 0: .* must be square. .*\[2, 3\]"),
        ("from_scipy", [sparse.csr_array(np.array([[np.nan]]))], "'weight' .* Got nan in graph 0"),
        pytest.param(
            "from_igraph",
            [nx.path_graph(2)],
            "must be a list of graphs of igraph. Got Graph as graph 0",
            marks=pytest.mark.needs("igraph"),
        ),
    ],
)
def test_other_objects_are_refused(method: str, graphs: Any, message: str) -> None:
    with pytest.raises(InvalidGraphError, match=message):
        getattr(PackedGraphs, method)(graphs)


def test_arrays_of_objects_and_tuples_are_lists() -> None:
    graphs = np.empty(3, dtype=object)
    graphs[:] = [nx.path_graph(size) for size in (2, 3, 4)]
    for own in (graphs, tuple(graphs), iter(graphs)):
        assert PackedGraphs.from_networkx(own).node_pointers.tolist() == [0, 2, 5, 9]
    assert len(PackedGraphs.from_data_list((EDGE, EDGE))) == 2


class Rings(InMemoryDataset):  # type: ignore[misc]
    """Triangles as a data set of PyG, whose elements are created when they are read."""

    def __init__(self, number: int) -> None:
        super().__init__()
        ring = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]), num_nodes=3, y=torch.ones(1))
        self.data, self.slices = self.collate([ring] * number)


def test_data_sets_of_pyg_are_lists() -> None:
    rings = Rings(4)
    assert PackedGraphs.from_data_list(rings).node_pointers.tolist() == [0, 3, 6, 9, 12]
    assert len(PackedGraphs.from_data_list(rings[:2])) == 2
    assert len(formats.read(rings)) == 4
    with pytest.raises(InvalidGraphError, match=r"graphs of networkx\. Got Data as"):
        PackedGraphs.from_networkx(rings)


@pytest.mark.usefixtures("without_shape_checks")
def test_parts_of_data_sets_are_lists() -> None:
    part: Any = Subset(Rings(4), [3, 1, 0])  # as random_split returns; not an Iterable
    assert len(PackedGraphs.from_data_list(part)) == len(formats.read(part)) == 3


def test_matrices_of_zeros_and_ones_have_weights_if_the_encoding_has() -> None:
    """Otherwise graphs could not be read alone, without those of other weights."""
    ones, twos = (sparse.csr_array(np.array([[0.0, w], [w, 0.0]])) for w in (1.0, 2.0))
    both = PackedGraphs.from_scipy([ones, twos])
    alone = PackedGraphs.from_scipy([ones], encoding=both.encoding)
    assert alone.edge_weight is not None
    assert alone.edge_weight.tolist() == [1.0, 1.0]


def test_graphs_without_a_category_can_be_read_alone_if_the_encoding_knows_such_rows() -> None:
    graph: Graph = nx.path_graph(2)
    graph.nodes[0]["letter"] = "a"
    both = PackedGraphs.from_networkx([graph, nx.empty_graph(1)])
    alone = PackedGraphs.from_networkx([nx.empty_graph(1)], encoding=both.encoding)
    assert alone.x.tolist() == both.x[2:].tolist()
    graph.nodes[1]["letter"] = "b"
    known = PackedGraphs.from_networkx([graph]).encoding
    with pytest.raises(InvalidGraphError, match="nodes must have the attribute 'letter'"):
        PackedGraphs.from_networkx([nx.empty_graph(1)], encoding=known)


@pytest.mark.parametrize("values", ["ab", [1.5, 2.5], [[1.0, 2.0], [3.0, 4.0]]])
def test_graphs_without_edges_need_no_attributes_of_edges(values: Any) -> None:
    graph: Graph = nx.path_graph(3)
    for pair, value in zip(graph.edges, values, strict=True):
        graph.edges[pair]["kind"] = value
    encoding = PackedGraphs.from_networkx([graph, nx.empty_graph(2)]).encoding
    alone = PackedGraphs.from_networkx([nx.empty_graph(2)], encoding=encoding)
    assert alone.edge_attr is not None
    assert alone.edge_attr.shape == (0, 1 if values == [1.5, 2.5] else 2)
    with pytest.raises(InvalidGraphError, match="edges must have the attribute 'kind'"):
        PackedGraphs.from_networkx([nx.path_graph(2)], encoding=encoding)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [None, 1]}, "Got None in an array of object"),
        ({"y": np.array([0, 1], dtype=object)}, "Got 0 in an array of object"),
        ({"y": [[1.0], [1.0, 2.0]]}, "the same number of targets for each graph"),
        ({"y": ["a", "b"]}, "Got 'a' in an array of <U1. Number the classes"),
        ({"y": [0, 1, 2]}, "one row for each of the 2 graphs. Got 3"),
        ({"y": []}, "one row for each of the 2 graphs. Got 0"),
        ({"encoding": "letters"}, "encoding must be that of a PackedGraphs, or None. Got str"),
        ({"kinds": "number"}, "kinds must be a dictionary .* Got 'number'"),
        ({"kinds": ["number"]}, "kinds must be a dictionary"),
        ({"node_attributes": 3}, "node_attributes must be a list of names. Got 3"),
        ({"node_attributes": "letter"}, r"Use \['letter'\]"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidGraphError, InvalidParameterError), match=message):
        PackedGraphs.from_networkx([nx.path_graph(2), nx.path_graph(3)], **options)


def test_targets_of_pyg_are_not_read_with_named_attributes() -> None:
    labeled = Data(edge_index=EDGE.edge_index, num_nodes=2, y=1)
    assert len(formats.read([labeled, EDGE])) == 2
