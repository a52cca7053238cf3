"""Explanations of networks with the algorithms of PyTorch Geometric."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric import explain
from torch_geometric.explain import Explanation
from torch_geometric.nn import MessagePassing

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import check_seed
from clipgnn.nn.network import Network

READS_MESSAGES = (explain.AttentionExplainer, explain.GraphMaskExplainer, explain.PGExplainer)
"""Algorithms that read attention or messages of layers, instead of masking edges by weights."""

INPUTS = ("batch", "colors", "edge_weight", "edge_attr", "graph_attr", "batch_size")
"""Further inputs of `MaskedNetwork.forward`, in the order in which algorithms may pass them."""


class Explainer(explain.Explainer):  # type: ignore[misc]
    """`torch_geometric.explain.Explainer` for CLIP and the other networks of this package.

    Three things are different from PyG's class, which it replaces in the import:

    - **Masks of attributes do not change the groups of nodes.** Colorings are computed from the
      attributes without mask, before the algorithm begins. Masked attributes are all distinct: with
      groups of their own, all nodes would have color 0.
    - **Every call of the network uses the same colorings**, those of `Network.predict` with the
      same seed, so that one function is explained. They are `explanation.colors`, `[nodes, k]`.
      Pass `colors=` to explain others, for example those of `AddColorings`.
    - **Masks of edges are factors in the sums over neighbors**, multiplied with `edge_weight`.

    Labels `[nodes]` are converted to one-hot attributes, which can be masked. Algorithms that mask
    attributes and edges work (`GNNExplainer`, gradients, your own); those that read messages of
    layers do not (`PGExplainer`, `GraphMaskExplainer`, `AttentionExplainer`).

    Args:
        model: the network, with one member. Its mode, training or evaluation, is kept.
        algorithm: the algorithm. Its random initial masks come from torch's global generator.
        *args: further arguments of PyG's class.
        seed: seed of random colorings.
        **kwargs: further arguments of PyG's class.

    Raises:
        InvalidParameterError: if the network or the algorithm is not supported.

    Example:
        >>> from torch_geometric.explain import GNNExplainer
        >>> from clipgnn import CLIP
        >>> explainer = Explainer(
        ...     CLIP(in_channels=1, out_channels=1),
        ...     GNNExplainer(epochs=10),
        ...     explanation_type="model",
        ...     model_config=dict(mode="regression", task_level="graph"),
        ...     node_mask_type="object",
        ...     edge_mask_type="object",
        ... )
        >>> square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
        >>> explainer(torch.ones(4, 1), square).edge_mask.shape
        torch.Size([8])
    """

    def __init__(
        self,
        model: Network,
        algorithm: explain.ExplainerAlgorithm,
        *args: Any,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        _check_network(model)
        if isinstance(algorithm, READS_MESSAGES):
            raise InvalidParameterError(
                "algorithm must be one that masks attributes and edges, such as GNNExplainer. Got "
                f"{type(algorithm).__name__}, which reads messages or attention of single layers."
            )
        self.seed = check_seed(seed)
        super().__init__(MaskedNetwork(model), algorithm, *args, **kwargs)
        level = self.model_config.task_level
        if level != explain.config.ModelTaskLevel.graph:
            raise InvalidParameterError(
                "task_level of model_config must be 'graph', because the outputs of the network "
                f"are those of graphs. Got {level.value!r}."
            )
        if self.edge_mask_type is not None and not model.reads_edge_weights:
            raise InvalidParameterError(
                f"edge_mask_type must be None, because {type(model).__name__} does not support "
                f"edge weights. Got {self.edge_mask_type.value!r}."
            )

    def __call__(
        self,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor | None = None,
        index: int | Tensor | None = None,
        **inputs: Any,
    ) -> Explanation:
        """Explain the outputs for a batch of graphs.

        Args:
            x: node attributes `[nodes, in_channels]`, or integer labels `[nodes]`.
            edge_index: edges `[2, edges]`.
            target: classes or values to explain, for `explanation_type="phenomenon"`.
            index: graphs of the batch to explain; all by default.
            **inputs: further arguments of `MaskedNetwork.forward`.
        """
        x, inputs = self._colored(x, edge_index, inputs)
        explanation = super().__call__(x, edge_index, target=target, index=index, **inputs)
        # PyG's metrics read these inputs from the explanation, which has none that are None.
        explanation._model_args = [name for name in explanation._model_args if name in explanation]
        return explanation

    def get_prediction(
        self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None, **inputs: Any
    ) -> Tensor:
        """Compute the outputs of the network with the colorings of the seed."""
        x, inputs = self._colored(x, edge_index, {"batch": batch, **inputs})
        return super().get_prediction(x, edge_index, **inputs)

    def get_masked_prediction(
        self,
        x: Tensor,
        edge_index: Tensor,
        node_mask: Tensor | None = None,
        edge_mask: Tensor | None = None,
        **inputs: Any,
    ) -> Tensor:
        """Compute the outputs with masks, and with the colorings of the attributes without mask."""
        x, inputs = self._colored(x, edge_index, inputs)
        return super().get_masked_prediction(x, edge_index, node_mask, edge_mask, **inputs)

    def _colored(
        self, x: Tensor, edge_index: Tensor, inputs: dict[str, Any]
    ) -> tuple[Tensor, dict[str, Any]]:
        """Attributes that can be masked, and the further inputs with colors, in their order."""
        network = self.model.network
        self.model.train(network.training)  # PyG's class restores the mode of the outer module
        colors = inputs.get("colors")
        if colors is None:
            names = [name for name in INPUTS if name != "colors"]
            further = {name: inputs.get(name) for name in names}
            graphs = ExactBatch.from_tensors(x, edge_index, **further)
            packed = PackedGraphs.from_batch(graphs, network.config.in_channels)
            colors = network.colorings_of(packed, self.seed)
        if x.dim() == 1:
            weight = next(network.parameters())
            x = functional.one_hot(x, network.config.in_channels).to(weight.dtype)
        inputs = {**dict.fromkeys(INPUTS), **inputs, "colors": colors}
        while inputs and inputs[next(reversed(inputs))] is None:
            inputs.popitem()
        return x, inputs


class MaskedNetwork(nn.Module):
    """A network in the form that algorithms of PyG can mask.

    Args:
        network: the network.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.edge_mask = EdgeMask()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        colors: Tensor | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        graph_attr: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Compute the outputs of the network.

        Args:
            x: node attributes `[nodes, in_channels]`, with a mask or without.
            edge_index: edges `[2, edges]`.
            batch: the graph of each node, ascending; one graph without it.
            colors: `[nodes, colorings]`; None for a network without colors.
            edge_weight: `[edges]`, multiplied with the mask of edges.
            edge_attr: `[edges, edge_channels]`.
            graph_attr: `[graphs, graph_channels]`.
            batch_size: number of graphs, if the last ones can be without nodes.
        """
        return self.network(
            x,
            edge_index,
            batch,
            colorings=None if colors is None else colors.t(),
            edge_weight=self.edge_mask(edge_index, edge_weight, x.dtype),
            edge_attr=edge_attr,
            graph_attr=graph_attr,
            batch_size=batch_size,
        )


class EdgeMask(MessagePassing):  # type: ignore[misc]
    """The layer on which algorithms of PyG set the mask of edges: it returns edge weights."""

    def forward(
        self, edge_index: Tensor, edge_weight: Tensor | None, dtype: torch.dtype
    ) -> Tensor | None:
        """Multiply edge weights (1 by default) with the mask, if there is one."""
        if not self.explain:
            return edge_weight
        if edge_weight is None:
            edge_weight = edge_index.new_ones(edge_index.shape[1], dtype=dtype)
        return self.explain_message(edge_weight[:, None], None)[:, 0]


def _check_network(model: object) -> None:
    if not isinstance(model, Network):
        raise InvalidParameterError(
            f"model must be a network of this package, such as CLIP. Got {shown(type(model))}. "
            "Use torch_geometric.explain.Explainer for others."
        )
    if model.config.num_members > 1:
        raise InvalidParameterError(
            f"model must have one member. Got {model.config.num_members}. Use model.member(0)."
        )
