"""The local iterations of CLIP, and the maximum over colorings of a user's batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn

from clipgnn.coloring.codes import ColorCode
from clipgnn.coloring.stream import ColoringStream
from clipgnn.graphs.batch import Batch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.nn import streaming
from clipgnn.nn.aggregation import Aggregation
from clipgnn.nn.features import ColoredAttributes, DenseFeatures, Features
from clipgnn.nn.maps import FactoredFeatures, LayerMaps
from clipgnn.nn.memory import MemoryLimits
from clipgnn.nn.norm import Moments, running_moments
from clipgnn.nn.readout import each_node, sum_nodes
from clipgnn.parameters import CLIPParameters
from clipgnn.shapes import Colorings, GraphFeatures

NUM_MEASURED_COLORINGS = 16
"""Number of colorings for batch statistics if colorings are streamed in training."""


@dataclass(frozen=True)
class LocalIterations:
    """The T local iterations of a network.

    Attributes:
        config: configuration of the network.
        layers: an `Aggregation` for each iteration.
        code: encoding of colors.
        training: whether the network is in training mode.
    """

    config: CLIPParameters
    layers: nn.ModuleList
    code: ColorCode
    training: bool

    def features(
        self,
        graphs: Batch,
        colorings: Colorings | None,
        moments: Moments | None = None,
        maps: Sequence[LayerMaps] | None = None,
    ) -> FactoredFeatures:
        """Compute the features of all nodes for some colorings."""
        directions = [graphs.edges]
        if self.config.directed:
            directions.append(graphs.edges.reversed())
        x: Features = ColoredAttributes(graphs.x, self.config.in_channels, colorings, self.code)
        for layer, own in zip(self.layers, maps or self._maps(moments), strict=True):
            result: FactoredFeatures = layer(x, directions, own, moments, graphs.node_mask)
            x = DenseFeatures(result.activations)
        return result

    def maximum(
        self,
        graphs: ExactBatch,
        stream: ColoringStream | None,
        generator: torch.Generator | None,
        *,
        per_node: bool = False,
    ) -> GraphFeatures:
        """Maximum over colorings, for graphs or nodes: `[members, rows, channels]`."""
        with_gradients = torch.is_grad_enabled() or self.training
        # Without gradients the maps are the same for all parts of the colorings.
        maps = None if with_gradients else self._maps(None)
        run = partial(self._rows, per_node=per_node, maps=maps)
        weight = next(self.layers.parameters())
        memory = MemoryLimits(self.config, weight.device.type, weight.element_size())
        if stream is None:
            best = run(graphs, None, None).amax(1)
        elif stream.max_count <= memory.max_unstreamed(graphs, with_gradients=with_gradients):
            best = run(graphs, stream.all(), None).amax(1)
        else:
            moments = running_moments(self.layers)
            if self.config.norm is not None and not moments:
                run(graphs, stream.sample(NUM_MEASURED_COLORINGS, generator), moments)
            best = streaming.maximum(
                run,
                self.layers,
                graphs,
                stream,
                memory.part_size,
                moments,
                per_node=per_node,
                max_winners=memory.part_size_with_gradients(graphs),
            )
        # [members * rows, channels] -> [members, rows, channels]
        return best.view(self.config.num_members, -1, self.config.hidden_channels)

    def _rows(
        self,
        graphs: ExactBatch,
        colorings: Colorings | None,
        moments: Moments | None,
        *,
        per_node: bool,
        maps: Sequence[LayerMaps] | None,
    ) -> Tensor:
        """Features of graphs or nodes by coloring: `[members * rows, colorings, channels]`."""
        hidden = self.features(graphs, colorings, moments, maps)
        rows = each_node(hidden) if per_node else sum_nodes(hidden, graphs.nodes)
        return rows.flatten(0, 1)

    def _maps(self, moments: Moments | None) -> list[LayerMaps]:
        """The maps of all layers."""
        layers = [cast(Aggregation, layer) for layer in self.layers]
        before = [None, *(layer.psi.second for layer in layers[:-1])]
        return [layer.maps(last, moments) for layer, last in zip(layers, before, strict=True)]
