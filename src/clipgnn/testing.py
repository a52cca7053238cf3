"""Symmetry checks for tests of graph networks: CLIP's, and users' own with PyG's signature.

Each check calls `model(x, edge_index, batch, ...)` on a batch of graphs, on the device and in the
data type of the inputs, and raises `AssertionError` if the property does not hold. ∞-CLIP and
0-CLIP have all three properties. k-CLIP draws random colorings and has them in distribution only.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.seeds import check_seed

GraphModel = Callable[..., Tensor]
"""A module, or a method of one such as `model.embed_nodes`, that is called as PyG's models are."""

TOLERANCES = {
    torch.float64: 1e-10,
    torch.float32: 1e-5,
    torch.float16: 1e-2,
    torch.bfloat16: 5e-2,
}
"""Largest accepted difference, relative to the largest output, by data type of the output."""


def permute_nodes(x: Tensor, edge_index: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    """Reorder the nodes of a graph: new node i is old node `order[i]`.

    Args:
        x: node attributes or labels `[nodes, ...]`.
        edge_index: edges `[2, edges]`.
        order: a permutation of the nodes `[nodes]`.

    Returns:
        Attributes and edges of the reordered graph.
    """
    return x[order], order.argsort()[edge_index]


def assert_permutation_invariant(
    model: GraphModel,
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor | None = None,
    *,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
    graph_attr: Tensor | None = None,
    permutations: int = 5,
    seed: int = 0,
    tolerance: float | None = None,
) -> None:
    """Check that outputs of graphs do not depend on the order of nodes and edges.

    Nodes are reordered inside each graph, so that `batch` remains sorted.

    Args:
        model: a network in evaluation mode, or one of its methods.
        x: node attributes or labels `[nodes, ...]`.
        edge_index: edges `[2, edges]`.
        batch: graph of each node `[nodes]`, ascending; one graph without it.
        edge_weight: weights of the edges `[edges]`, reordered with the edges.
        edge_attr: attributes of the edges `[edges, ...]`, reordered with the edges.
        graph_attr: attributes of the graphs `[graphs, ...]`.
        permutations: number of random orders, at least 1.
        seed: seed of the random orders.
        tolerance: largest accepted difference, relative to the largest output; by default that of
            the output's data type in `TOLERANCES`.

    Raises:
        InvalidParameterError: if the model is in training mode, or a parameter is not valid.
        AssertionError: if an order changes the output.

    Example:
        >>> from clipgnn import CLIP
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> model = CLIP(1, 2, num_colorings=0).eval()
        >>> assert_permutation_invariant(model, torch.ones(3, 1), path)
    """
    inputs = _Inputs.of(x, edge_index, batch, edge_weight, edge_attr, graph_attr)
    requirement = "The output must not depend on the order of nodes and edges."
    with _evaluation(model):
        expected = inputs.outputs_of(model)
        for nodes, edges in inputs.random_orders(permutations, seed):
            output = inputs.reordered(nodes, edges).outputs_of(model)
            _assert_close(
                output, expected, tolerance, f"{requirement} Got, in the order {nodes.tolist()}"
            )


def assert_permutation_equivariant(
    model: GraphModel,
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor | None = None,
    *,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
    graph_attr: Tensor | None = None,
    permutations: int = 5,
    seed: int = 0,
    tolerance: float | None = None,
    axis: int = 0,
) -> None:
    """Check that outputs of nodes are reordered as the nodes are.

    Args:
        model: a network in evaluation mode, or one of its methods, with an output for each node.
        x: node attributes or labels `[nodes, ...]`.
        edge_index: edges `[2, edges]`.
        batch: graph of each node `[nodes]`, ascending; one graph without it.
        edge_weight: weights of the edges `[edges]`, reordered with the edges.
        edge_attr: attributes of the edges `[edges, ...]`, reordered with the edges.
        graph_attr: attributes of the graphs `[graphs, ...]`.
        permutations: number of random orders, at least 1.
        seed: seed of the random orders.
        tolerance: largest accepted difference, as in `assert_permutation_invariant`.
        axis: axis of the nodes in the output.

    Raises:
        InvalidParameterError: if the model is in training mode, or a parameter is not valid.
        AssertionError: if the output of a reordered batch is not the reordered output.

    Example:
        >>> from clipgnn import CLIP
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> model = CLIP(1, 2, num_colorings=0).eval()
        >>> assert_permutation_equivariant(model.embed_nodes, torch.ones(3, 1), path)
    """
    inputs = _Inputs.of(x, edge_index, batch, edge_weight, edge_attr, graph_attr)
    requirement = "The outputs of the nodes must be reordered as the nodes are."
    with _evaluation(model):
        expected = inputs.outputs_of(model)
        _check_rows(expected, axis, inputs.num_nodes, "node")
        for nodes, edges in inputs.random_orders(permutations, seed):
            output = inputs.reordered(nodes, edges).outputs_of(model)
            reordered = expected.index_select(axis, nodes)
            _assert_close(
                output, reordered, tolerance, f"{requirement} Got, in the order {nodes.tolist()}"
            )


def assert_batch_independent(
    model: GraphModel,
    x: Tensor,
    edge_index: Tensor,
    batch: Tensor,
    *,
    edge_weight: Tensor | None = None,
    edge_attr: Tensor | None = None,
    graph_attr: Tensor | None = None,
    tolerance: float | None = None,
    axis: int = 0,
) -> None:
    """Check that the output of a graph does not depend on the other graphs of its batch.

    Args:
        model: a network in evaluation mode, or one of its methods, with an output for each graph.
        x: node attributes or labels `[nodes, ...]`.
        edge_index: edges `[2, edges]`.
        batch: graph of each node `[nodes]`, ascending, with at least two graphs. Graphs without
            nodes are not compared.
        edge_weight: weights of the edges `[edges]`.
        edge_attr: attributes of the edges `[edges, ...]`.
        graph_attr: attributes of the graphs `[graphs, ...]`.
        tolerance: largest accepted difference, as in `assert_permutation_invariant`.
        axis: axis of the graphs in the output.

    Raises:
        InvalidParameterError: if the model is in training mode, or there are fewer than two graphs.
        AssertionError: if the output of a graph by itself differs from its output in the batch.

    Example:
        >>> from clipgnn import CLIP
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
        >>> model = CLIP(1, 2, num_colorings=0).eval()
        >>> batch = torch.tensor([0, 0, 1, 1])
        >>> assert_batch_independent(model, torch.ones(4, 1), edges, batch)
    """
    inputs = _Inputs.of(x, edge_index, batch, edge_weight, edge_attr, graph_attr)
    graphs = inputs.batch.unique().tolist()
    if len(graphs) < 2:
        raise InvalidParameterError(
            f"batch must have at least two graphs with nodes. Got {len(graphs)}."
        )
    requirement = "The output of a graph must not depend on the other graphs of its batch."
    with _evaluation(model):
        expected = inputs.outputs_of(model)
        _check_rows(expected, axis, graphs[-1] + 1, "graph")
        for graph in graphs:
            output = inputs.graph(graph).outputs_of(model)
            together = expected.narrow(axis, graph, 1)
            _assert_close(output, together, tolerance, f"{requirement} Got, for graph {graph}")


@dataclass(frozen=True)
class _Inputs:
    """A batch of graphs as arguments of a model.

    Attributes:
        x: node attributes or labels `[nodes, ...]`.
        edge_index: edges `[2, edges]`.
        batch: graph of each node `[nodes]`.
        of_edges: tensors `[edges, ...]` by their keywords.
        of_graphs: tensors `[graphs, ...]` by their keywords.
    """

    x: Tensor
    edge_index: Tensor
    batch: Tensor
    of_edges: Mapping[str, Tensor]
    of_graphs: Mapping[str, Tensor]

    @classmethod
    def of(
        cls,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None,
        edge_weight: Tensor | None,
        edge_attr: Tensor | None,
        graph_attr: Tensor | None,
    ) -> "_Inputs":
        of_edges = {"edge_weight": edge_weight, "edge_attr": edge_attr}
        return cls(
            x,
            edge_index,
            edge_index.new_zeros(x.shape[0]) if batch is None else batch,
            {name: value for name, value in of_edges.items() if value is not None},
            {} if graph_attr is None else {"graph_attr": graph_attr},
        )

    @property
    def num_nodes(self) -> int:
        return self.x.shape[0]

    def outputs_of(self, model: GraphModel) -> Tensor:
        return model(self.x, self.edge_index, self.batch, **self.of_edges, **self.of_graphs)

    def random_orders(self, count: int, seed: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield orders of the nodes inside each graph, and of all edges."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidParameterError(
                f"permutations must be an integer of at least 1. Got {shown(count)}."
            )
        generator = torch.Generator().manual_seed(check_seed(seed))
        device = self.x.device
        for _ in range(count):
            nodes = torch.randperm(self.num_nodes, generator=generator).to(device)
            edges = torch.randperm(self.edge_index.shape[1], generator=generator).to(device)
            yield nodes[self.batch[nodes].argsort(stable=True)], edges

    def reordered(self, nodes: Tensor, edges: Tensor) -> "_Inputs":
        x, edge_index = permute_nodes(self.x, self.edge_index, nodes)
        return replace(
            self,
            x=x,
            edge_index=edge_index[:, edges],
            batch=self.batch[nodes],
            of_edges={name: value[edges] for name, value in self.of_edges.items()},
        )

    def graph(self, graph: int) -> "_Inputs":
        """Return one graph as a batch of its own."""
        inside = self.batch == graph
        edges = inside[self.edge_index[0]]
        number = inside.cumsum(0) - 1  # [nodes], of the nodes inside
        return _Inputs(
            x=self.x[inside],
            edge_index=number[self.edge_index[:, edges]],
            batch=torch.zeros_like(self.batch[inside]),
            of_edges={name: value[edges] for name, value in self.of_edges.items()},
            of_graphs={name: value[graph : graph + 1] for name, value in self.of_graphs.items()},
        )


def _evaluation(model: GraphModel) -> torch.no_grad:
    """Check that a model is in evaluation mode, and return a context without gradients."""
    module = getattr(model, "__self__", model)
    if isinstance(module, nn.Module) and module.training:
        raise InvalidParameterError(
            "model must be in evaluation mode. Got a model in training mode. Use model.eval()."
        )
    return torch.no_grad()


def _check_rows(output: Tensor, axis: int, rows: int, kind: str) -> None:
    if not -output.dim() <= axis < output.dim() or output.shape[axis] != rows:
        raise AssertionError(
            f"The output must have a row for each {kind}, {rows} on axis {axis}. "
            f"Got the shape {tuple(output.shape)}."
        )


def _assert_close(output: Tensor, expected: Tensor, tolerance: float | None, lead: str) -> None:
    if tolerance is None:
        tolerance = TOLERANCES.get(expected.dtype, 0.0)
    finite = expected[expected.isfinite()]
    largest = float(finite.abs().max()) if finite.numel() else 0.0
    torch.testing.assert_close(
        output,
        expected,
        rtol=0.0,
        atol=tolerance * max(1.0, largest),
        msg=lambda text: f"{lead}: {text}",
    )
