"""The suggested number of colorings, on graphs whose identified nodes are known."""

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest

from clipgnn import CLIPClassifier, PackedGraphs, Random
from clipgnn.coloring.suggestion import MAX_GRAPHS, identified_nodes, suggested_colorings
from clipgnn.errors import InvalidParameterError

if TYPE_CHECKING:
    Graph = nx.Graph[Any]


def named(graph: "Graph") -> "Graph":
    """The graph with another attribute on each node."""
    nx.set_node_attributes(graph, {node: str(node) for node in graph}, "name")
    return graph


# A path of 2n nodes has n colors of 1-WL, a cycle has one; every node of RIGID has its own.
RIGID = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (1, 3)])


@pytest.mark.parametrize(
    ("graphs", "share", "number"),
    [
        ([nx.cycle_graph(10)], 0.1, 16),
        ([nx.path_graph(10)], 0.5, 16),
        ([nx.star_graph(1), RIGID], 7 / 8, 1),
        ([nx.path_graph(10), nx.cycle_graph(10)], 0.3, 16),
        ([RIGID], 1.0, 1),
        ([named(nx.cycle_graph(10))], 1.0, 1),
        ([nx.empty_graph(1)], 1.0, 1),
    ],
)
def test_by_the_share_of_identified_nodes(graphs: list["Graph"], share: float, number: int) -> None:
    packed = PackedGraphs.from_networkx(graphs)
    assert identified_nodes(packed) == pytest.approx(share)
    assert suggested_colorings(packed) == number


def test_a_large_data_set_is_judged_by_a_part() -> None:
    graphs = [nx.cycle_graph(4)] * (3 * MAX_GRAPHS)
    assert suggested_colorings(PackedGraphs.from_networkx(graphs)) == 16


@pytest.mark.parametrize(("graph", "number"), [(nx.cycle_graph(6), 16), (RIGID, 1)])
def test_estimators_use_it(graph: "Graph", number: int) -> None:
    model = CLIPClassifier(epochs=1, hidden_channels=4, random_state=0)
    model.fit([graph] * 4, ["a", "b"] * 2)
    assert vars(model.models_[0].config)["num_colorings"] == number
    model.set_params(num_colorings=3).fit([graph] * 4, ["a", "b"] * 2)
    assert vars(model.models_[0].config)["num_colorings"] == 3


def test_a_scheme_instead_of_its_name() -> None:
    model = CLIPClassifier(epochs=1, hidden_channels=4, coloring=Random(), random_state=0)
    model.fit([RIGID] * 4, ["a", "b"] * 2)
    assert vars(model.models_[0].config)["num_colorings"] == 1


def test_other_schemes_do_not_need_it() -> None:
    model = CLIPClassifier(epochs=1, hidden_channels=4, coloring="all", random_state=0)
    assert np.isfinite(
        model.fit([nx.path_graph(3)] * 4, [0, 1] * 2).predict_proba([nx.path_graph(3)])
    ).all()


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("number", ["many", -1, 1.5])
def test_other_values_are_refused(number: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"num_colorings.* must be"):
        CLIPClassifier(epochs=1, num_colorings=number).fit([nx.path_graph(3)] * 4, [0, 1] * 2)


def test_real_shares() -> None:
    """The shares of the property tasks that docs/colorings.md has."""
    from clipgnn.datasets import circular_skip_links, connectivity, triangle_freeness

    shares = [identified_nodes(make()) for make in (connectivity, triangle_freeness)]
    assert shares == pytest.approx([0.980, 0.834], abs=5e-4)
    assert suggested_colorings(circular_skip_links()) == 16
