"""Explanations by removal of nodes and edges."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import MaskType, ModelMode

from clipgnn.errors import InvalidGraphError

MAX_ELEMENTS = 200_000
"""Nodes and edges of the copies that are evaluated at once."""


class Occlusion(ExplainerAlgorithm):  # type: ignore[misc]
    """Importance of a node or an edge: what the prediction loses without it.

    An algorithm for `clipgnn.Explainer`. Masks are differences between the output for the graph and
    the output for the graph without one node (and its edges), or without one edge (in both
    directions, if the graph is undirected): positive where it supports the prediction, negative
    where it contradicts it. The output is the probability of the explained class, or the predicted
    value.

    Nothing is optimized, and the network only sees whole graphs. Other nodes keep their colors. The
    cost is that of one prediction for each node and each edge.

    Args:
        channel: number of the output to explain in regression; None for the sum of all.

    Example:
        >>> from clipgnn import CLIP, Explainer
        >>> explainer = Explainer(
        ...     CLIP(in_channels=1, out_channels=1),
        ...     Occlusion(),
        ...     explanation_type="model",
        ...     model_config=dict(mode="regression", task_level="graph"),
        ...     node_mask_type="object",
        ...     edge_mask_type="object",
        ... )
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> explanation = explainer(torch.ones(3, 1), path)
        >>> explanation.node_mask.shape, explanation.edge_mask.shape
        (torch.Size([3, 1]), torch.Size([4]))
    """

    def __init__(self, channel: int | None = None) -> None:
        super().__init__()
        self.channel = channel

    @torch.no_grad()
    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: Tensor | None = None,
        **inputs: Any,
    ) -> Explanation:
        """Compute the masks of one graph; see `ExplainerAlgorithm`.

        Raises:
            InvalidGraphError: if there are several graphs.
        """
        batch = inputs.pop("batch", None)
        inputs.pop("batch_size", None)
        if batch is not None and bool((batch != 0).any()):
            raise InvalidGraphError(
                "x must be one graph. Got a batch of several. Explain them one by one."
            )
        given = {name: value for name, value in inputs.items() if value is not None}
        whole = self._scores(model(x, edge_index, **given), target)
        node_mask = edge_mask = None
        if self.explainer_config.node_mask_type is not None:
            numbers = torch.arange(x.shape[0], device=x.device)
            scores = self._without(model, x, edge_index, numbers, None, target, given)
            node_mask = (whole - scores)[:, None]
        if self.explainer_config.edge_mask_type is not None:
            pairs = _pairs(edge_index)
            scores = self._without(model, x, edge_index, None, pairs, target, given)
            edge_mask = (whole - scores)[pairs]
        return Explanation(node_mask=node_mask, edge_mask=edge_mask)

    def supports(self) -> bool:
        """Whether the chosen masks are those of nodes and edges."""
        return self.explainer_config.node_mask_type in (None, MaskType.object)

    def _scores(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Score of each graph, `[graphs]`: a probability, or a value."""
        mode, kind = self.model_config.mode, self.model_config.return_type.value
        if mode == ModelMode.regression:
            values = outputs.flatten(1)
            return values.sum(1) if self.channel is None else values[:, self.channel]
        if mode == ModelMode.binary_classification:
            second = (outputs.sigmoid() if kind == "raw" else outputs).flatten()
            return second if bool(target.flatten()[0]) else 1 - second
        probabilities = {
            "raw": outputs.softmax(-1),
            "log_probs": outputs.exp(),
            "probs": outputs,
        }[kind]
        return probabilities[:, int(target.flatten()[0])]

    def _without(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        nodes: Tensor | None,
        pairs: Tensor | None,
        target: Tensor,
        given: dict[str, Tensor],
    ) -> Tensor:
        """Scores without each of some nodes, or without each pair of nodes `[edges]`."""
        scores = [x.new_empty(0)]
        for kept_nodes, kept_edges in _parts(x.shape[0], edge_index, nodes, pairs):
            inputs = _copies(x, edge_index, kept_nodes, kept_edges, given)
            scores.append(self._scores(model(**inputs), target)[1:])
        return torch.cat(scores)


def _pairs(edge_index: Tensor) -> Tensor:
    """Number of the edge in an undirected graph, or of each direction in a directed one."""
    ends = torch.stack([edge_index.amin(0), edge_index.amax(0)])
    forward, backward = edge_index.unique(dim=1), edge_index.flip(0).unique(dim=1)
    undirected = forward.shape == backward.shape and bool((forward == backward).all())
    return torch.unique(ends if undirected else edge_index, dim=1, return_inverse=True)[1]


def _parts(
    num_nodes: int, edge_index: Tensor, nodes: Tensor | None, pairs: Tensor | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Kept nodes and edges of as many copies as are evaluated at once.

    The first copy is the whole graph, because a batch must have a node.
    """
    count = num_nodes if pairs is None else int(pairs.max()) + 1 if pairs.numel() else 0
    size = max(1, MAX_ELEMENTS // max(1, num_nodes + edge_index.shape[1]))
    for rows in torch.arange(count, device=edge_index.device).split(size):
        kept = torch.ones(len(rows) + 1, num_nodes, dtype=torch.bool, device=rows.device)
        if nodes is not None:
            kept[1:] = rows[:, None] != nodes
        ends = kept[:, edge_index[0]] & kept[:, edge_index[1]]
        if pairs is not None:
            ends[1:] &= rows[:, None] != pairs
        yield kept, ends


def _copies(
    x: Tensor, edge_index: Tensor, nodes: Tensor, edges: Tensor, given: dict[str, Tensor]
) -> dict[str, Any]:
    """Inputs of a batch of copies of a graph."""
    number = nodes.flatten().cumsum(0).view_as(nodes) - 1  # of each kept node in the batch
    copy, node = nodes.nonzero(as_tuple=True)
    of_edge, edge = edges.nonzero(as_tuple=True)
    rows = {"edge_weight": edge, "edge_attr": edge, "colors": node}
    copied = {name: value[rows[name]] for name, value in given.items() if name in rows}
    if "graph_attr" in given:
        copied["graph_attr"] = given["graph_attr"].expand(len(nodes), -1)
    return {
        "x": x[node],
        "edge_index": torch.stack([number[of_edge, end[edge]] for end in edge_index]),
        "batch": copy,
        "batch_size": len(nodes),
        **copied,
    }
