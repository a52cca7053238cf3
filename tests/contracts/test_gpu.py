"""The contracts on a GPU: the same sums, outputs and gradients as on the CPU, for every kind."""

import pytest
import torch
from tests.contracts.graph_sets import ALL_KINDS, graph_set
from torch import Tensor

from clipgnn.coloring.groups import color_groups
from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.nn.clip import CLIP
from clipgnn.training import ModelSpec, Recipe, Split, train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.usefixtures("double"),
]
CHOSEN = torch.tensor([[6, 0, 2, 4], [4, 1, 5, 7]])
every_kind = pytest.mark.parametrize(
    "kinds", ALL_KINDS, ids=lambda kinds: ", ".join(sorted(kinds)) or "plain"
)


def _batch(kinds: frozenset[str], device: str) -> FixedBatch:
    graphs = graph_set(kinds).to(device)
    assembler = Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))
    needed = assembler.capacity_for(CHOSEN.to(device))
    return assembler.batch(CHOSEN.to(device), Capacity(needed.nodes + 5, needed.edges + 5))


@every_kind
def test_sums(kinds: frozenset[str]) -> None:
    results = []
    for device in ("cpu", "cuda"):
        batch = _batch(kinds, device)
        values = torch.linspace(-1, 1, batch.num_nodes * 3).view(-1, 3).to(device).requires_grad_()
        found: list[Tensor] = []
        for edges in (batch.edges, batch.edges.reversed()):
            found.append(edges.sum(values))
            if edges.attr is not None:
                rows = torch.sin(edges.at_sources(values) * edges.attr[:, :1])
                found.append(edges.sum_at_targets(rows))
        found.append(batch.nodes.sum(values))
        total = torch.cat([part.square().sum()[None] for part in found]).sum()
        found += torch.autograd.grad(total, values)
        results.append([part.detach().cpu() for part in found])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-10)


@every_kind
def test_clip(kinds: frozenset[str]) -> None:
    torch.manual_seed(0)
    network = CLIP.from_graphs(
        graph_set(kinds), num_members=2, num_colorings=2, hidden_channels=8, num_layers=2
    )
    results = []
    for device in ("cpu", "cuda"):
        network = network.to(device).train()
        network.zero_grad()
        batch = _batch(kinds, device)
        colors = torch.stack([batch.node_ids % 2, batch.node_ids // 2 % 2])
        outputs = network.forward_batch(batch, colors)
        outputs.sin().sum().backward()
        gradients = [parameter.grad.clone().cpu() for parameter in network.parameters()]  # type: ignore[union-attr]
        results.append([outputs.detach().cpu(), *gradients])
    torch.testing.assert_close(results[1], results[0], rtol=0, atol=1e-9)


@every_kind
def test_training_together_agrees_with_the_cpu(kinds: frozenset[str]) -> None:
    graphs = graph_set(kinds)
    splits = [Split([0, 2, 4, 6, 7], [1, 5]), Split([1, 2, 5, 6, 7], [0, 4])]
    spec = ModelSpec("clip", {"num_colorings": 2, "hidden_channels": 8, "num_layers": 2})
    recipe = Recipe(epochs=3, batch_size=4)
    curves = [
        [own.train_loss for own in train(graphs, spec, recipe, splits, [0, 1], device).histories]
        for device in ("cpu", "cuda")
    ]
    torch.testing.assert_close(curves[1], curves[0], rtol=0, atol=1e-7)
