"""Networks that are computed with fused GPU kernels and with single operations in float64."""

from typing import Any

import pytest
import torch
from tests.graphs.examples import assembler_of
from torch import Tensor

from clipgnn.coloring.random import HashedSampler
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network

MEMBERS = 2
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

LABELED: dict[str, Any] = {"sizes": [3, 6, 4, 9, 5, 7], "labels": 3}
TWO_BATCHES = [[0, 3, 1, 4, 2], [4, 2, 5, 0, 6]]  # 6 is padding


def random_graphs(
    sizes: list[int], *, labels: int = 0, channels: int = 0, weighted: bool = False
) -> PackedGraphs:
    """Random graphs with labels or attributes; without both, all nodes are identical."""
    generator = torch.Generator().manual_seed(0)
    nodes = sum(sizes)
    sources, targets, counts = [], [], []
    for size in sizes:
        upper = torch.rand(size, size, generator=generator).triu(1) > 0.6
        source, target = (upper | upper.t()).nonzero().t()
        sources.append(source)
        targets.append(target)
        counts.append(source.numel())
    edge_index = torch.stack([torch.cat(sources), torch.cat(targets)])
    if labels:
        x = torch.randint(labels, (nodes,), generator=generator)
    elif channels:
        x = torch.randint(3, (nodes, channels), generator=generator).float()
    else:
        x = torch.ones(nodes, 1)
    weight = None
    if weighted:
        weight = 0.5 + edge_index.sum(0) % 4 / 4  # the same in both directions
    return PackedGraphs(
        name="random graphs",
        x=x,
        in_channels=labels or x.shape[1],
        edge_index=edge_index,
        edge_weight=weight,
        node_pointers=torch.tensor([0, *sizes]).cumsum(0),
        edge_pointers=torch.tensor([0, *counts]).cumsum(0),
        y=torch.arange(len(sizes)) % 2,
    )


class Case:
    """A network and batches of its members, as fused kernels or as layers in float64."""

    def __init__(
        self, kind: type[Network], graphs: PackedGraphs, device: str, **parameters: Any
    ) -> None:
        self.kind = kind
        self.graphs = graphs.to(device)
        self.device = device
        self.parameters = parameters

    def network(self, dtype: torch.dtype) -> Network:
        """A network with several members and parameters that are not their initial values."""
        network = self.kind.from_graphs(
            self.graphs.to("cpu"), out_channels=3, num_members=MEMBERS, **self.parameters
        )
        network.reset_parameters([torch.Generator().manual_seed(seed) for seed in range(MEMBERS)])
        generator = torch.Generator().manual_seed(7)
        with torch.no_grad():
            for own in network.parameters():
                own.add_(0.2 * torch.randn(own.shape, generator=generator))
        return network.to(self.device, dtype)

    def run(
        self,
        chosen: list[list[int]],
        *,
        fused: bool,
        training: bool = True,
        steps: int = 1,
        dtype: torch.dtype = torch.float64,
    ) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
        """Outputs, gradients and buffers after some steps on the same batch."""
        dtype = torch.float32 if fused else dtype
        graphs = self.graphs.with_floats(dtype)
        network = self.network(dtype).train(training)
        assembler = assembler_of(graphs)
        graph_ids = torch.tensor(chosen, device=self.device)
        batch = assembler.batch(graph_ids, assembler.capacity_for(graph_ids).rounded_up(32))
        seeds = torch.tensor([5, 6], device=self.device)
        k = network.num_colorings_for(training=training)
        colorings = None
        if k:
            counter = torch.tensor(3, device=self.device)
            colorings = HashedSampler().sample(batch, k, seeds, counter)
        assert batch.graph_mask is not None
        mask = batch.graph_mask[:, :, None]
        weight = torch.randn(*graph_ids.shape, 3, generator=torch.Generator().manual_seed(1))
        network.has_kernels = lambda batch: fused  # type: ignore[method-assign]
        for _ in range(steps):
            network.zero_grad()
            with torch.set_grad_enabled(training):
                outputs = network.forward_batch(batch, colorings)
            if training:
                torch.where(mask, outputs * weight.to(outputs), 0).sum().backward()
        grads = {
            name: torch.zeros_like(own) if own.grad is None else own.grad
            for name, own in network.named_parameters()
        }
        buffers = {n: own for n, own in network.named_buffers() if own.is_floating_point()}
        return {"outputs": torch.where(mask, outputs.detach(), 0)}, grads, buffers

    def compare(
        self,
        chosen: list[list[int]],
        *,
        training: bool = True,
        steps: int = 1,
        other_sides: float = 0.0,
    ) -> None:
        """Compare with float64; the layers in float32 show which rounding error to expect.

        The kernels add biases to the rows, and round more. On a GPU they use three TF32 products.
        Rounding can move an activation to the other side of 0, and with it the gradients of ReLU:
        they may differ by the share `other_sides` of the largest.
        """
        fused = self.run(chosen, fused=True, training=training, steps=steps)
        single = self.run(chosen, fused=False, training=training, steps=steps, dtype=torch.float32)
        exact = self.run(chosen, fused=False, training=training, steps=steps)
        for found, rounded, expected in zip(fused, single, exact, strict=True):
            assert found.keys() == expected.keys()
            for name, own in expected.items():
                expected_error = float((rounded[name].double() - own).abs().max())
                error = float((found[name].double() - own).abs().max())
                largest = float(own.abs().max())
                share = other_sides if expected is exact[1] else 0.0
                assert error <= 30 * expected_error + (1e-6 + share) * largest + 1e-7, (
                    name,
                    error,
                    largest,
                )
