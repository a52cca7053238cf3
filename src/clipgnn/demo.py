"""Demonstration of what CLIP distinguishes and message passing does not, with one figure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional

from clipgnn.datasets.folds import stratified_folds
from clipgnn.datasets.properties import circular_skip_links
from clipgnn.graphs.seeds import NUMPY_BITS, check_seed
from clipgnn.nn import CLIP
from clipgnn.writing import write_file

if TYPE_CHECKING:
    Graph = nx.Graph[Any]  # generic in its type stubs only
else:
    Graph = nx.Graph


LEARNING_RATE = 1e-2
"""Ten times the rate of the paper's recipe, which needs 400 epochs, too many for a demo."""


@dataclass(frozen=True)
class Pair:
    """Two graphs without attributes, and the differences between their embeddings.

    Attributes:
        names: names of the graphs.
        graphs: the graphs.
        without_colors: largest difference between their embeddings by 0-CLIP.
        with_colors: largest difference between their embeddings by ∞-CLIP.
    """

    names: tuple[str, str]
    graphs: tuple[Graph, Graph]
    without_colors: float
    with_colors: float


@dataclass(frozen=True)
class AccuracyCurve:
    """Test accuracy of a network after each epoch.

    Attributes:
        name: 0-CLIP or 16-CLIP.
        accuracy: share of correctly classified test graphs, after each epoch.
    """

    name: str
    accuracy: list[float]

    @property
    def final(self) -> float:
        """Mean over the last ten epochs; single epochs vary, because colorings are random."""
        last = self.accuracy[-10:]
        return sum(last) / len(last)


def compare_pair(seed: int = 0) -> Pair:
    """Compare a hexagon and two triangles, which message passing cannot distinguish.

    Raises:
        InvalidParameterError: if the seed is not an integer of at most 32 bits.
    """
    seed = check_seed(seed, bits=NUMPY_BITS)
    hexagon = nx.cycle_graph(6)
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    differences = []
    for num_colorings in (0, 1):
        torch.manual_seed(seed)
        model = CLIP(1, 1, num_layers=1, coloring="all", num_colorings=num_colorings, num_colors=6)
        model = model.double().eval()
        with torch.no_grad():
            first, second = (model.embed(*_tensors(graph)) for graph in (hexagon, triangles))
        differences.append(float((first - second).abs().max()))
    return Pair(("a hexagon", "two triangles"), (hexagon, triangles), *differences)


def learn_circular_skip_links(num_colorings: int, *, epochs: int, seed: int = 0) -> Iterator[float]:
    """Train on nine of ten folds of circular skip links, and test on the other one.

    Five layers of 16 units, Adam with a rate halved every 50 epochs, batches of 32 and new
    colorings in every step, as in the paper; the rate is ten times the paper's.

    Yields:
        The share of correctly classified test graphs, after each epoch.

    Raises:
        InvalidParameterError: if the seed is not an integer of at most 32 bits.
    """
    seed = check_seed(seed, bits=NUMPY_BITS)
    data = circular_skip_links(seed)
    train, test = stratified_folds(data.targets, seed=seed)[0]

    torch.manual_seed(seed)
    model = CLIP(
        data.in_channels,
        data.num_classes,
        hidden_channels=16,
        num_layers=5,
        num_colorings=num_colorings,
        num_colors=int(data.node_pointers.diff().max()),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)

    def outputs(chosen: Tensor) -> Tensor:
        graphs = data.batch(chosen)
        return model(graphs.x, graphs.edge_index, graphs.graph_of_node)

    for _ in range(epochs):
        model.train()
        for chosen in train[torch.randperm(train.numel())].split(32):
            optimizer.zero_grad()
            functional.cross_entropy(outputs(chosen), data.targets[chosen]).backward()
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            correct = outputs(test).argmax(1) == data.targets[test]
        yield float(correct.double().mean())


def draw(pair: Pair, curves: list[AccuracyCurve], path: Path) -> None:
    """Draw the pair and the accuracy curves in one figure.

    Raises:
        OutputError: if the file cannot be written.
    """
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplot_mosaic(
        [["first", "second"], ["curves", "curves"]], height_ratios=[1, 1.2]
    )
    figure.suptitle(
        "No message-passing network distinguishes these two graphs "
        f"(0-CLIP: difference {pair.without_colors:.2g})\n"
        f"CLIP does (∞-CLIP: difference {pair.with_colors:.2g})"
    )
    for axis, name, graph in zip(("first", "second"), pair.names, pair.graphs, strict=True):
        _draw_graph(axes[axis], name, graph)
    _draw_curves(axes["curves"], curves)
    content = BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower(), dpi=130)
    write_file(path, content.getvalue())


def _draw_graph(axis: Axes, name: str, graph: Graph) -> None:
    positions = {}
    components = list(nx.connected_components(graph))
    for number, nodes in enumerate(components):
        for step, node in enumerate(sorted(nodes)):
            angle = 2 * math.pi * step / len(nodes) + math.pi / 2
            positions[node] = (math.cos(angle) + 2.3 * number, math.sin(angle))
    nx.draw(graph, positions, ax=axis, node_color="#4c72b0", node_size=220, edge_color="#555555")
    axis.set_title(name)
    axis.set_aspect("equal")


def _draw_curves(axis: Axes, curves: list[AccuracyCurve]) -> None:
    for curve, color in zip(curves, ("#c44e52", "#55a868"), strict=True):
        percent = [100 * value for value in curve.accuracy]
        label = f"{curve.name}: {100 * curve.final:.1f} %"
        axis.plot(range(1, len(percent) + 1), percent, color=color, label=label)
    axis.axhline(10, color="#999999", linestyle=":", label="chance")
    axis.set(
        title="Circular skip links: ten classes of 4-regular graphs, one fold",
        xlabel="epoch",
        ylabel="accuracy on test graphs (%)",
        ylim=(0, 102),
    )
    axis.legend(loc="upper left")


def _tensors(graph: Graph) -> tuple[Tensor, Tensor]:
    edges = torch.tensor(list(graph.edges)).t()
    edge_index = torch.cat([edges, edges.flip(0)], dim=1)
    return torch.ones(graph.number_of_nodes(), 1, dtype=torch.float64), edge_index
