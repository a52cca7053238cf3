"""Measure Theorem 3 as fitting: a random target for every graph of up to six nodes.

    python results/universality.py --max-nodes 6 --device cuda --output results/universality.json

∞-CLIP with one local iteration and 0-CLIP are trained on one real number for each isomorphism class
of graphs without attributes. 0-CLIP has the same output for graphs that 1-WL cannot distinguish, so
that its mean squared error is at least the variance of the targets inside these classes. A step
uses all graphs, and every error is that of the same graphs: this is about what can be represented,
not about generalization.
"""

import argparse
import copy
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import torch
from torch import Tensor

from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.network import Network
from clipgnn.ops.refinement import refine_colors
from clipgnn.parameters import Recipe
from clipgnn.training import Epoch, ModelSpec, Split, train
from clipgnn.writing import check_writable, write_file

Graph: TypeAlias = "nx.Graph[Any]"

LABEL = "label"
"""Attribute of nodes: an integer; 0 if a node has none."""

TARGET = 1e-3
"""Mean squared error below which the targets count as fitted; their variance is about 1."""

ROUNDING = 1e-3
"""Relative difference from the lower bound that rounding in single precision can cause."""

PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "triton", "cuda", "networkx")


@dataclass(frozen=True)
class Fit:
    """A model after its training.

    Attributes:
        model: name of the model.
        seed: seed of targets, weights and relabeling.
        parameters: parameters of the model.
        num_weights: number of its weights.
        error: mean squared error in evaluation, with running averages in batch normalization.
        training_error: the same in the last step, with the statistics of the batch.
        uncorrected_error: the same in evaluation, if the running variance of the last normalization
            is that of the graphs, without the usual factor n / (n - 1).
        relabeled_error: the same in evaluation on graphs whose nodes are in another order.
        lower_bound: smallest error of any function that cannot distinguish more than 1-WL.
        spread: largest difference between outputs of graphs that 1-WL cannot distinguish.
        seconds: duration of the training, with its evaluations.
        curve: errors in training and in evaluation by epoch.
    """

    model: str
    seed: int
    parameters: Mapping[str, Any]
    num_weights: int
    error: float
    training_error: float
    uncorrected_error: float
    relabeled_error: float
    lower_bound: float
    spread: float
    seconds: float
    curve: Mapping[str, Sequence[float]]


def graphs_up_to(max_nodes: int) -> list[Graph]:
    """Return every graph of one to `max_nodes` nodes once, up to isomorphism."""
    return [graph for graph in nx.graph_atlas_g() if 1 <= len(graph) <= max_nodes]


def relabeled(graphs: Sequence[Graph], seed: int) -> list[Graph]:
    """Return the same graphs with their nodes in a random order."""
    generator = torch.Generator().manual_seed(seed)
    results = []
    for graph in graphs:
        nodes = list(graph)
        result: Graph = nx.Graph()
        for place in torch.randperm(len(nodes), generator=generator).tolist():
            result.add_node(nodes[place], **graph.nodes[nodes[place]])
        result.add_edges_from(graph.edges)
        results.append(result)
    return results


def packed(graphs: Sequence[Graph], targets: Tensor) -> PackedGraphs:
    """Convert graphs to a data set with labels of nodes and a target for each graph."""
    labels: list[int] = []
    edges: list[tuple[int, int]] = []
    num_edges: list[int] = []
    for graph in graphs:
        position = {node: place for place, node in enumerate(graph)}
        pairs = [(position[i], position[j]) for i, j in graph.edges]
        edges += pairs + [(j, i) for i, j in pairs]
        num_edges.append(2 * len(pairs))
        labels += [graph.nodes[node].get(LABEL, 0) for node in graph]
    sizes = torch.tensor([[len(graph) for graph in graphs], num_edges])
    pointers = torch.nn.functional.pad(sizes.cumsum(1), (1, 0))
    return PackedGraphs(
        name="graphs",
        x=torch.tensor(labels),
        in_channels=max(labels) + 1,
        edge_index=torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).t().contiguous(),
        node_pointers=pointers[0],
        edge_pointers=pointers[1],
        y=targets,
    )


def wl_classes(graphs: PackedGraphs) -> list[list[int]]:
    """Return the numbers of graphs that 1-WL cannot distinguish, class by class."""
    colors = refine_colors(graphs.x, graphs.global_edge_index)
    classes: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for number, own in enumerate(colors.split(graphs.node_pointers.diff().tolist())):
        classes[tuple(own.sort().values.tolist())].append(number)
    return list(classes.values())


def lower_bound(targets: Tensor, classes: Sequence[Sequence[int]]) -> float:
    """Return the smallest mean squared error of a function that is constant on each class."""
    values = targets.double()
    squares = [(values[own] - values[own].mean()).square().sum() for own in map(list, classes)]
    return float(torch.stack(squares).sum()) / len(targets)


def fit(
    model: str,
    graphs: Sequence[Graph],
    parameters: Mapping[str, Any],
    recipe: Recipe,
    seed: int,
    device: str = "cpu",
    every: int = 50,
) -> Fit:
    """Train CLIP on random targets, all graphs at once, and measure its errors.

    Args:
        model: name of the model, for the result.
        graphs: the graphs.
        parameters: parameters of CLIP.
        recipe: epochs and learning rate.
        seed: seed of targets, weights and relabeling.
        device: device of the training.
        every: epochs between two points of the curve.
    """
    targets = torch.randn(len(graphs), generator=torch.Generator().manual_seed(seed))
    data = packed(graphs, targets)
    everything = torch.arange(len(data))
    start = time.perf_counter()

    def report(epoch: Epoch) -> None:
        if epoch.number % every == 0:
            error, trained = float(epoch.test_score[0]) ** 2, float(epoch.train_loss[0])
            seconds = time.perf_counter() - start
            text = f"{model}, seed {seed}, epoch {epoch.number}: error {error:.2e}"
            text += f", in the training step {trained:.2e}, {seconds:.0f} s"
            print(text, file=sys.stderr, flush=True)

    [trained] = train(
        data,
        ModelSpec("clip", dict(parameters)),
        recipe,
        [Split(everything, everything)],
        [seed],
        device,
        allow_overlap=True,
        callback=report,
    )
    if trained.history.diverged is not None:
        raise SystemExit(f"{model}, seed {seed}: {trained.history.diverged}")
    seconds = time.perf_counter() - start
    classes = wl_classes(data)
    outputs = trained.predict(data).cpu().squeeze(1)
    others = trained.predict(packed(relabeled(graphs, seed), targets)).cpu().squeeze(1)
    uncorrected = uncorrected_variance(trained.model, len(graphs)).predict(data).cpu().squeeze(1)
    losses = trained.history.train_loss
    errors = [score**2 for score in trained.history.test_score]
    epochs = range(every, recipe.epochs + 1, every)
    return Fit(
        model=model,
        seed=seed,
        parameters=parameters,
        num_weights=sum(own.numel() for own in trained.model.parameters()),
        error=float((outputs - targets).square().mean()),
        training_error=losses[-1],
        uncorrected_error=float((uncorrected - targets).square().mean()),
        relabeled_error=float((others - targets).square().mean()),
        lower_bound=lower_bound(targets, classes),
        spread=max(float(outputs[own].max() - outputs[own].min()) for own in classes),
        seconds=round(seconds, 1),
        curve={
            "epoch": list(epochs),
            "training": [float(f"{losses[epoch - 1]:.3g}") for epoch in epochs],
            "evaluation": [float(f"{errors[epoch - 1]:.3g}") for epoch in epochs],
        },
    )


def uncorrected_variance(network: Network, num_graphs: int) -> Network:
    """Return a copy with the running variance of `num_graphs` graphs, not its unbiased estimate."""
    network = copy.deepcopy(network)
    for name, average in network.named_buffers():
        if name == "readout.norm.running_var":
            average.mul_((num_graphs - 1) / num_graphs)
    return network


def recipe_for(num_graphs: int, epochs: int, learning_rate: float, halve_every: int) -> Recipe:
    """Return a recipe with squared errors and all graphs in one batch."""
    return Recipe(
        epochs=epochs,
        batch_size=num_graphs,
        learning_rate=learning_rate,
        halve_every=halve_every,
        loss="squared-error",
    )


def verdict(result: Fit) -> str:
    """Describe a result in a line.

    Raises:
        SystemExit: if 0-CLIP is below its lower bound, which no such network can be.
    """
    text = f"{result.model}, seed {result.seed}: mean squared error {result.error:.2e}"
    if result.model == "0-CLIP":
        if result.error < result.lower_bound * (1 - ROUNDING):
            raise SystemExit(f"{text} is below the lower bound {result.lower_bound:.4f} of 1-WL.")
        return f"{text}, not below {result.lower_bound:.2e}, the bound of 1-WL"
    return f"{text}, {'below' if result.error < TARGET else 'NOT below'} {TARGET:g}"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-nodes", type=int, default=6, choices=range(2, 7))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=1500)
    parser.add_argument("--halve-every", type=int, default=150, help="epochs")
    parser.add_argument("--learning-rate", type=float, default=1e-2)
    parser.add_argument("--hidden", type=int, default=64, help="hidden channels")
    parser.add_argument("--layers", type=int, default=1, help="local iterations of ∞-CLIP")
    parser.add_argument("--layers-of-0-clip", type=int, default=5, help="local iterations")
    parser.add_argument("--norm", choices=("batch", "none"), default="batch")
    parser.add_argument("--every", type=int, default=50, help="epochs between points of the curve")
    parser.add_argument("--output", type=Path, help="JSON file; standard output without it")
    return parser.parse_args()


def main() -> None:
    """Fit both models for every seed, and write the results after each of them."""
    given = arguments()
    if given.output is not None:
        check_writable(given.output)
    graphs = graphs_up_to(given.max_nodes)
    recipe = recipe_for(len(graphs), given.epochs, given.learning_rate, given.halve_every)
    common = {
        "hidden_channels": given.hidden,
        "norm": None if given.norm == "none" else given.norm,
    }
    models: dict[str, dict[str, Any]] = {
        "0-CLIP": {**common, "num_colorings": 0, "num_layers": given.layers_of_0_clip},
        "∞-CLIP": {**common, "coloring": "all", "num_layers": given.layers},
    }
    classes = wl_classes(packed(graphs, torch.zeros(len(graphs))))
    versions = installed_versions()
    record: dict[str, Any] = {
        "command": " ".join(["python results/universality.py", *shown_arguments(given.output)]),
        "versions": {own: versions[own] for own in PACKAGES if own in versions},
        "machine": this_machine(given.device),
        "graphs": len(graphs),
        "classes of 1-WL": len(classes),
        "recipe": {
            name: getattr(recipe, name)
            for name in ("epochs", "batch_size", "learning_rate", "halve_every", "loss")
        },
        "fits": [],
    }
    for seed in given.seeds:
        for name, parameters in models.items():
            result = fit(name, graphs, parameters, recipe, seed, given.device, given.every)
            print(verdict(result), file=sys.stderr, flush=True)
            record["fits"].append(asdict(result))
            if given.output is not None:
                write_file(given.output, _json(record).encode())
    if given.output is None:
        print(_json(record), end="")


def shown_arguments(output: Path | None) -> list[str]:
    """Arguments of the command line, with the name of the output file and not its folder."""
    return [output.name if output and own == str(output) else own for own in sys.argv[1:]]


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
