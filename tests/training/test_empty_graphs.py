"""Graphs without nodes or edges, also as the only graphs of a part of a split."""

import pytest
import torch
from tests.optional import marks_of
from torch_geometric.data import Data

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training import History, ModelSpec, Recipe, Split, train

SMALL = {"hidden_channels": 4, "num_layers": 2}
NETWORKS = {
    "clip": {**SMALL, "num_colorings": 2},
    "0-clip": {**SMALL, "num_colorings": 0},
    "gin": SMALL,
    "rp-gin": SMALL,
    "dgcnn": {},
    "patchy-san": {},
    "dcnn": {},
    "ring-gnn": {},
}
every_network = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks_of(name)) for name in NETWORKS]
)
FULL, NO_NODES, NO_EDGES = (range(8), range(8, 12), range(12, 16))


def _graph(nodes: int, y: float, *, edges: bool = True) -> Data:
    pairs = torch.combinations(torch.arange(nodes)).t()[:, : None if edges else 0]
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    x = torch.arange(nodes) % 2
    return Data(x=x, edge_index=both, y=torch.tensor([float(y)]), num_nodes=nodes)


def _graphs() -> PackedGraphs:
    full = [_graph(3 + number % 3, number % 2) for number in FULL]
    no_nodes = [_graph(0, 0.1 * number) for number in NO_NODES]
    no_edges = [_graph(2, 0.2 * number, edges=False) for number in NO_EDGES]
    return PackedGraphs.from_data_list([*full, *no_nodes, *no_edges])


def _trained(name: str, splits: list[Split], *, together: bool = False) -> list[History]:
    spec = ModelSpec(name.removeprefix("0-"), NETWORKS[name])
    recipe = Recipe(epochs=2, batch_size=4, loss="squared-error", metric="mae")
    return train(_graphs(), spec, recipe, splits, [3] * len(splits), together=together).histories


@pytest.mark.usefixtures("double")
@every_network
def test_parts_of_empty_graphs_are_scored_as_in_larger_parts(name: str) -> None:
    """Means over two parts of the same size are those over both together."""
    mixed = [*NO_NODES, *NO_EDGES]
    apart, both = _trained(
        name, [Split(FULL, NO_NODES, NO_EDGES), Split(FULL, mixed)], together=False
    )
    means = zip(apart.test_score, apart.validation_score, strict=True)
    assert [(one + other) / 2 for one, other in means] == pytest.approx(both.test_score)
    assert apart.train_loss == both.train_loss
    beside = _trained(name, [Split(FULL, NO_NODES, NO_EDGES)] * 2, together=True)[1]
    assert beside.test_score == pytest.approx(apart.test_score, abs=1e-6)
    assert beside.validation_score == pytest.approx(apart.validation_score, abs=1e-6)


@every_network
@pytest.mark.parametrize("part", [NO_NODES, NO_EDGES], ids=["no nodes", "no edges"])
def test_training_on_empty_graphs(name: str, part: range) -> None:
    [history] = _trained(name, [Split(part, FULL)])
    assert torch.tensor([*history.train_loss, *history.test_score]).isfinite().all()
