"""DCNN: where random walks of a few steps lead to, weighted by steps and channels."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clipgnn.baselines.checks import check_dropout, check_integers
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import PaddedBatch
from clipgnn.graphs.sparse import SparsePattern
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.linear import Linear
from clipgnn.nn.members import Drawn, Members, draw_uniform
from clipgnn.nn.sparse_sum import sparse_sum
from clipgnn.shapes import Colorings, GraphFeatures


class DCNN(Members):
    """A diffusion-convolutional neural network that classifies graphs.

    "Diffusion-convolutional neural networks" (Atwood and Towsley, NeurIPS 2016,
    https://arxiv.org/abs/1511.02136), `Z = tanh(W ⊙ 1ᵀ P* X / N)` and a dense layer on Z, with X
    the attributes of the N nodes and P* the powers 0 to H of the transition matrix P = D⁻¹A: row h
    of Z is about the attributes found h steps of a random walk away, averaged over all nodes where
    it can begin. All before W is given by the data and computed once, for all graphs together.

    Where all nodes have the same attributes, a walk finds the same everywhere: all graphs without
    isolated nodes look alike to it.

    Differs from the paper:
     - It is trained as every network here, by Adam on the cross-entropy, where the paper has
       AdaGrad on a hinge loss. W is drawn uniformly from ±1 and not from a narrow normal
       distribution, in which tanh would begin as good as linear and its layer with hardly a
       gradient.
     - A walk that begins at an isolated node ends there after no steps: its row of P is zero. The
       paper does not say; the released code divides by one more than the degree everywhere, by
       which rows of P do not sum to one.
     - Dropout of the entries of Z, if asked for.

    Args:
        graphs: the data set.
        out_channels: channels of the output.
        num_members: networks side by side.
        num_hops: H, steps of the longest walk.
        dropout: share of the entries of Z that are dropped in training.

    Raises:
        InvalidParameterError: if a parameter has a value it cannot have.
    """

    diffused: Tensor

    def __init__(
        self,
        graphs: PackedGraphs,
        out_channels: int,
        *,
        num_members: int = 1,
        num_hops: int = 3,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_integers("DCNN", least=0, num_hops=num_hops)
        check_dropout("DCNN", dropout)
        self.dropout = Dropout(num_members, dropout)
        self.register_buffer("diffused", _diffused(graphs, num_hops), persistent=False)
        self.scale = Scale(num_members, num_hops + 1, graphs.in_channels)
        self.last = Linear(num_members, (num_hops + 1) * graphs.in_channels, out_channels)

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph; see `Members`."""
        found = torch.tanh(self.scale.weight[:, None] * self.diffused[graphs.number])
        return self.last(self.dropout(found.flatten(2)))


class Scale(Drawn):
    """W, a factor for each number of steps and channel.

    Attributes:
        weight: `[members, hops, channels]`.
    """

    def __init__(self, num_members: int, num_hops: int, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_members, num_hops, channels))
        self.reset_parameters()

    def reset_parameters(self, generators: Sequence[torch.Generator] | None = None) -> None:
        """Draw uniformly within ±1, which is 1/sqrt(1): each factor has one input."""
        draw_uniform(self.weight, 1.0, generators)


@torch.no_grad()
def _diffused(graphs: PackedGraphs, num_hops: int) -> Tensor:
    """1ᵀ Pʰ X / N of each graph, `[graphs + 1, num_hops + 1, channels]`, zero for padding."""
    source, target = graphs.edges_through
    nodes = graphs.x.shape[0]
    steps, _ = SparsePattern.from_entries(source, target, nodes, nodes)
    membership = SparsePattern.segments(graphs.graph_of_node, len(graphs) + 1)
    found = graphs.attributes().to(torch.get_default_dtype())
    neighbors = steps.rowptr.diff()[:, None].clamp(min=1)
    size = membership.rowptr.diff()[:, None].clamp(min=1)
    means = [sparse_sum(membership, found) / size]
    for _ in range(num_hops):
        found = sparse_sum(steps, found) / neighbors
        means.append(sparse_sum(membership, found) / size)
    return torch.stack(means, dim=1)
