"""Files of a user: data sets in the TU layout, and a package with a data set and a network."""

from pathlib import Path

DATA = """
import networkx as nx


def load():
    graphs = [make(nodes) for nodes in range(4, 10) for make in (nx.path_graph, nx.cycle_graph)]
    return graphs, [0, 1] * 6
"""

NETS = """
from dataclasses import dataclass

from clipgnn.baselines.gin import GIN
from clipgnn.nn.linear import Linear
from clipgnn.nn.network import Network
from clipgnn.parameters import NetworkParameters, Rule, parameter


@dataclass(frozen=True, kw_only=True)
class Sizes(NetworkParameters):
    title = "Net"
    width: int = parameter(2, Rule(int, 1, 64), "factor of the sizes")
    bias: float | None = parameter(0.0, Rule(float, optional=True), "added to the sizes")


class Net(Network):
    name, schema = "net", Sizes

    def __init__(self, in_channels, out_channels, *, num_members=1, width=2, bias=0.0):
        super().__init__(
            Sizes(
                in_channels=in_channels,
                out_channels=out_channels,
                num_members=num_members,
                width=width,
                bias=bias,
            )
        )
        self.last = Linear(num_members, 1, out_channels)

    def forward_batch(self, batch, colorings):
        sizes = batch.nodes.counts.view(batch.num_members, -1, 1).to(self.last.weight.dtype)
        return self.last(sizes * self.config.width + (self.config.bias or 0.0))
"""


def write_package(folder: Path, name: str, *, data: str = DATA, nets: str = NETS) -> Path:
    """Write a package with the modules data and nets."""
    package = folder / name
    package.mkdir(parents=True, exist_ok=True)
    for module, text in (("__init__", ""), ("data", data), ("nets", nets)):
        (package / f"{module}.py").write_text(text)
    return package


def write_paths(folder: Path, nodes: int = 3, graphs: int = 8) -> None:
    """Paths and, for the other class, cycles of some nodes in the TU layout."""
    folder.mkdir(parents=True, exist_ok=True)
    name, edges = folder.name, []
    for graph in range(graphs):
        first = graph * nodes + 1
        pairs = [(first + node, first + node + 1) for node in range(nodes - 1)]
        if graph % 2:
            pairs.append((first, first + nodes - 1))
        edges += [f"{a}, {b}\n{b}, {a}" for a, b in pairs]
    (folder / f"{name}_A.txt").write_text("\n".join(edges) + "\n")
    indicator = "".join(f"{graph + 1}\n" * nodes for graph in range(graphs))
    (folder / f"{name}_graph_indicator.txt").write_text(indicator)
    (folder / f"{name}_graph_labels.txt").write_text("1\n2\n" * (graphs // 2))
