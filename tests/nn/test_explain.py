"""Explanations with PyG: fixed colorings, masks of attributes and edges, and a planted motif."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from tests.nn.examples import assert_close, differ, example_batch, random_model
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.explain import (
    DummyExplainer,
    ExplainerAlgorithm,
    Explanation,
    GNNExplainer,
    PGExplainer,
)
from torch_geometric.explain.algorithm.captum import CaptumModel, to_captum_input
from torch_geometric.explain.metric import fidelity

from clipgnn import (
    CLIP,
    DGCNN,
    GIN,
    RPGIN,
    Explainer,
    ModelSpec,
    PackedGraphs,
    Recipe,
    Split,
    train,
)
from clipgnn.coloring.random import Random
from clipgnn.errors import InvalidColoringError, InvalidParameterError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.nn import Network

REGRESSION = {"mode": "regression", "task_level": "graph"}
CLASSIFICATION = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}
MASKS = [
    ("attributes", "object"),
    ("object", "object"),
    ("common_attributes", None),
    ("object", None),
    (None, "object"),
]


def explainer_of(
    model: Network,
    masks: tuple[str | None, str | None] = ("attributes", "object"),
    config: dict[str, str] = REGRESSION,
    algorithm: ExplainerAlgorithm | None = None,
    explanation_type: str = "model",
    **options: Any,
) -> Explainer:
    return Explainer(
        model,
        algorithm or GNNExplainer(epochs=3),
        explanation_type,
        config,
        node_mask_type=masks[0],
        edge_mask_type=masks[1],
        **options,
    )


class Counting(Random):
    """Random colorings that record how many groups there are, at each computation of groups."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def groups(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        groups = super().groups(x, edge_index, batch)
        self.numbers.append(int(groups.max()) + 1)
        return groups


@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("explanation_type", ["model", "phenomenon"])
def test_groups_are_those_of_the_attributes_without_mask(
    masks: tuple[str | None, str | None], explanation_type: str
) -> None:
    scheme = Counting()
    model = random_model(coloring=scheme, num_colorings=3)
    inputs = example_batch()
    explainer = explainer_of(model, masks, explanation_type=explanation_type)
    target = torch.ones(4, 2).double() if explanation_type == "phenomenon" else None
    explanation = explainer(**inputs, target=target)
    assert scheme.numbers == [3]
    assert explanation.get("node_mask") is not None or masks[0] is None
    assert explanation.get("edge_mask") is not None or masks[1] is None


def test_one_function_is_explained() -> None:
    """All calls have the same colorings: those of `predict` with the seed."""
    model = random_model(num_colorings=2).eval()
    inputs = example_batch()
    used: list[Tensor] = []
    model.register_forward_pre_hook(
        lambda _, __, named: used.append(named["colorings"]), with_kwargs=True
    )
    explanation = explainer_of(model, seed=3)(**inputs)
    assert len(used) == 4
    assert all(torch.equal(colorings, explanation.colors.t()) for colorings in used)
    predicted = model.predict(_packed(inputs), seed=3)
    assert_close(explanation.prediction, predicted)
    assert not torch.equal(explanation.colors, explainer_of(model, seed=4)(**inputs).colors)


def test_colors_of_the_caller() -> None:
    model = random_model(num_colorings=2).eval()
    inputs = example_batch()
    colors = torch.zeros(inputs["x"].shape[0], 1, dtype=torch.int64)
    explanation = explainer_of(model)(**inputs, colors=colors)
    assert torch.equal(explanation.colors, colors)
    assert_close(explanation.prediction, model(**inputs, colorings=colors.t()).detach())


def test_masks_of_edges_are_factors_of_their_weights() -> None:
    model = random_model(edge_channels=2, graph_channels=2, num_colorings=2).eval()
    inputs = example_batch(weights=True, edge_channels=2, graph_channels=2)
    explainer = explainer_of(model)
    edge_mask = torch.rand(inputs["edge_index"].shape[1]).double()
    node_mask = torch.rand(inputs["x"].shape).double()
    masked = explainer.get_masked_prediction(**inputs, node_mask=node_mask, edge_mask=edge_mask)
    colorings = explainer(**inputs).colors.t()
    changed = {
        "x": inputs["x"] * node_mask,
        "edge_weight": inputs["edge_weight"] * edge_mask,
    }
    assert_close(masked, model(**{**inputs, **changed}, colorings=colorings).detach())
    assert_close(explainer.get_prediction(**inputs), model(**inputs, colorings=colorings).detach())


def test_a_mask_of_zero_removes_an_edge() -> None:
    model = random_model(num_colorings=2).eval()
    inputs = example_batch()
    keep = torch.tensor([True, False] * 6 + [True])[: inputs["edge_index"].shape[1]]
    explainer = explainer_of(model, (None, "object"))
    colors = explainer(**inputs).colors
    masked = explainer.get_masked_prediction(**inputs, colors=colors, edge_mask=keep.double())
    fewer = {**inputs, "edge_index": inputs["edge_index"][:, keep]}
    assert_close(masked, model(**fewer, colorings=colors.t()).detach())


def test_labels_are_one_hot_attributes() -> None:
    model = random_model(num_colorings=2).eval()
    inputs = example_batch(labels=True)
    explanation = explainer_of(model)(**inputs)
    assert explanation.node_mask.shape == (inputs["x"].shape[0], 3)
    assert_close(explanation.prediction, model.predict(_packed(inputs)))


@pytest.mark.parametrize("training", [True, False])
def test_the_mode_of_the_network_is_kept(training: bool) -> None:
    model = random_model(num_colorings=2)
    explainer = explainer_of(model)
    model.train(training)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    explainer(**example_batch())
    assert model.training is training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("left_out", ["", "batch", "edge_weight"])
def test_explanations_can_be_used_further(left_out: str) -> None:
    model = random_model(num_colorings=3, num_colors=7, edge_channels=2).eval()
    explainer = explainer_of(model, ("object", "object"), CLASSIFICATION)
    inputs = example_batch(weights=True, edge_channels=2)
    inputs.pop(left_out, None)
    explanation = explainer(**inputs)
    part = explanation.get_explanation_subgraph()
    assert part.colors.shape == (part.x.shape[0], 3)
    assert part.validate()
    positive, negative = fidelity(explainer, explanation)
    assert 0.0 <= positive <= 1.0
    assert 0.0 <= negative <= 1.0


def test_other_networks() -> None:
    inputs = example_batch(dtype=torch.float32)
    for model in (CLIP(3, 1, num_colorings=0), GIN(3, 1)):
        explanation = explainer_of(model)(**inputs)
        assert "colors" not in explanation
        assert explanation.edge_mask.shape == (inputs["edge_index"].shape[1],)
    assert explainer_of(RPGIN(3, 1))(**inputs).colors.shape[0] == inputs["x"].shape[0]
    explainer_of(DGCNN(3, 1), ("attributes", None))(**inputs)
    with pytest.raises(InvalidParameterError, match="edge_mask_type must be None"):
        explainer_of(DGCNN(3, 1))


class Saliency(ExplainerAlgorithm):  # type: ignore[misc]
    """Absolute gradients of attributes and edge weights, with PyG's interface to Captum."""

    def supports(self) -> bool:
        return True

    def forward(
        self, model: torch.nn.Module, x: Tensor, edge_index: Tensor, **kwargs: Any
    ) -> Explanation:
        del kwargs["target"], kwargs["index"]
        masks, others = to_captum_input(x, edge_index, "node_and_edge", *kwargs.values())
        masks = tuple(mask.to(x.dtype).detach().requires_grad_() for mask in masks)
        output = CaptumModel(model, "node_and_edge")(*masks, *others)
        nodes, edges = torch.autograd.grad(output.sum(), masks)
        return Explanation(node_mask=nodes[0].abs(), edge_mask=edges[0].abs())


@pytest.mark.parametrize("weights", [False, True])
def test_gradients(weights: bool) -> None:
    """Algorithms that pass inputs by position work, with and without a batch vector."""
    model = random_model(num_colorings=2, num_colors=7).eval()
    inputs = example_batch(weights=weights)
    explainer = explainer_of(model, algorithm=Saliency())
    explanation = explainer(**inputs)
    x = inputs["x"].clone().requires_grad_()
    output = model(**{**inputs, "x": x}, colorings=explanation.colors.t())
    [expected] = torch.autograd.grad(output.sum(), x)
    assert_close(explanation.node_mask, expected.abs())
    assert explanation.edge_mask.count_nonzero() > 5
    del inputs["batch"]
    assert bool(explainer(**inputs).node_mask.isfinite().all())


def test_what_cannot_be_explained() -> None:
    model = random_model(num_colorings=2)
    with pytest.raises(InvalidParameterError, match=r"GNNExplainer\. Got PGExplainer"):
        explainer_of(model, algorithm=PGExplainer(epochs=1))
    with pytest.raises(InvalidParameterError, match=r"one member\. Got 2.*member\(0\)"):
        explainer_of(random_model(num_members=2))
    with pytest.raises(InvalidParameterError, match="seed must be an integer"):
        explainer_of(model, seed=-1)
    with pytest.raises(InvalidParameterError, match=r"task_level .* 'graph'.* Got 'node'\."):
        explainer_of(model, config={"mode": "regression", "task_level": "node"})
    with pytest.raises(InvalidColoringError, match="num_colors"):
        explainer_of(random_model(num_colors=2))(**example_batch())


@pytest.mark.usefixtures("without_shape_checks")
def test_modules_of_other_packages() -> None:
    linear: Any = torch.nn.Linear(1, 1)
    with pytest.raises(InvalidParameterError, match=r"model must be a network.*Linear"):
        explainer_of(linear, algorithm=DummyExplainer())


def test_a_soft_mask_hardly_changes_the_output() -> None:
    """With groups of masked attributes it would be that of a network without colors."""
    model = random_model(num_colorings=2).eval()
    inputs = example_batch()
    explainer = explainer_of(model)
    node_mask = 1 - 1e-9 * torch.rand(inputs["x"].shape).double()
    masked = explainer.get_masked_prediction(**inputs, node_mask=node_mask)
    assert_close(masked, explainer.get_prediction(**inputs), 1e-6)
    uncolored = torch.zeros_like(inputs["batch"])[None]
    assert differ(masked, model(**inputs, colorings=uncolored))


def weighted_graph(number: int) -> tuple[Data, Tensor]:
    """A sparse bipartite graph with a clique (class 1) or a tree (class 0) of 5 nodes.

    Weights are random, so that the soft masks of an explanation are not unusual inputs. Returns the
    graph, and which edges are those of the clique or the tree.
    """
    random = np.random.default_rng(number)
    graph = nx.bipartite.random_graph(7, 7, 0.3 * random.random(), seed=number)
    kind = number % 2
    motif = nx.complete_graph(5) if kind else nx.random_labeled_tree(5, seed=number)
    graph = nx.disjoint_union(graph, motif)
    graph.add_edge(int(random.integers(14)), 14)
    edge_index = torch.tensor(list(graph.edges)).t()
    edge_index = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    in_motif = (edge_index >= 14).all(0)
    weight = torch.from_numpy(random.random(edge_index.shape[1])).float()
    data = Data(
        x=torch.ones(19, 1),
        edge_index=edge_index,
        edge_weight=torch.where(in_motif, 0.3 + 0.7 * weight, weight),
        y=torch.tensor([kind]),
    )
    return data, in_motif


def test_the_edges_of_a_planted_clique_are_found() -> None:
    graphs = [weighted_graph(number) for number in range(140)]
    packed = PackedGraphs.from_data_list([data for data, _ in graphs])
    clip = ModelSpec("clip", {"num_colorings": 4, "num_layers": 2, "hidden_channels": 16})
    split = Split(range(120), range(120, 140))
    [trained] = train(packed, clip, Recipe(epochs=40, learning_rate=0.01), [split], seeds=[0])
    assert trained.score >= 0.9
    algorithm = GNNExplainer(epochs=40, lr=0.1, edge_size=0.05, edge_ent=0.1)
    explainer = explainer_of(trained.model, config=CLASSIFICATION, algorithm=algorithm)
    torch.manual_seed(0)
    scores = [
        roc_auc_score(in_motif, explainer(data.x, data.edge_index).edge_mask)
        for data, in_motif in graphs[121:129:2]
    ]
    assert np.mean(scores) > 0.85


def _packed(inputs: dict[str, Any]) -> PackedGraphs:
    """The graphs of a batch as a data set."""
    return PackedGraphs.from_batch(ExactBatch.from_tensors(**inputs), 3)
