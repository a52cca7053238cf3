"""Explanations of predictions: what they lose without single nodes and edges."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.explain import Explanation

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.explain import Explainer
from clipgnn.nn.network import Network
from clipgnn.nn.occlusion import Occlusion


def explanations(
    models: Sequence[Network],
    graphs: PackedGraphs,
    seeds: Sequence[int],
    classes: Sequence[int] | None = None,
    channel: int | None = None,
) -> list[Explanation]:
    """Explain the predictions for graphs, as means over networks and draws of colorings.

    Args:
        models: the networks.
        graphs: the graphs.
        seeds: a seed for each draw of colorings.
        classes: the class of each graph to explain; None for regression.
        channel: number of the target to explain in regression; None for the sum of all.
    """
    config = {
        "mode": "regression" if classes is None else "multiclass_classification",
        "task_level": "graph",
        "return_type": "raw",
    }
    explainers = [
        Explainer(
            model,
            Occlusion(channel),
            explanation_type="phenomenon",
            model_config=config,
            node_mask_type="object",
            edge_mask_type="object",
        )
        for model in models
    ]
    targets = torch.zeros(len(graphs)) if classes is None else torch.tensor(classes)
    graphs = graphs.to(torch.device("cpu")).with_floats(next(models[0].parameters()).dtype)
    return [
        _mean(explainers, graphs[[number]], seeds, targets[number : number + 1])
        for number in range(len(graphs))
    ]


def _mean(
    explainers: Sequence[Explainer], graph: PackedGraphs, seeds: Sequence[int], target: Tensor
) -> Explanation:
    if graph.x.shape[0] == 0:
        empty = torch.empty(0)
        return Explanation(edge_index=graph.edge_index, node_mask=empty[:, None], edge_mask=empty)
    found = [
        explainer(**_inputs(explainer.model.network, graph, seed), target=target)
        for explainer in explainers
        for seed in seeds
    ]
    return Explanation(
        x=found[0].x,
        edge_index=graph.edge_index,
        node_mask=torch.stack([own.node_mask for own in found]).mean(0),
        edge_mask=torch.stack([own.edge_mask for own in found]).mean(0),
    )


def _inputs(network: Network, graph: PackedGraphs, seed: int) -> dict[str, Any]:
    given = {
        "edge_weight": graph.edge_weight,
        "edge_attr": graph.edge_attr,
        "graph_attr": graph.graph_attr,
        "colors": network.colorings_of(graph, seed, wrap_colors=True),
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    return {"x": graph.x, "edge_index": graph.edge_index, **chosen}
