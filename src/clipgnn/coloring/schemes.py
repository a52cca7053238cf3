"""Coloring schemes: which nodes must get distinct colors, and which colorings are used.

A network takes a scheme, by name or as an object, and uses it in calls and in training: `stream`
returns the colorings of a user's batch, and `sampler` those of the batches that training assembles.
"""

from abc import ABC, abstractmethod
from importlib import import_module
from typing import ClassVar

from jaxtyping import Int
from torch import Generator, Tensor

from clipgnn.coloring.groups import Partition, color_groups, number_by_first_node
from clipgnn.coloring.stream import ColoringStream
from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import COLORINGS
from clipgnn.shapes import Colorings


class Sampler(ABC):
    """Colorings of the batches that training assembles from one data set."""

    @abstractmethod
    def num_colorings(self, k: int) -> int:
        """Number of colorings that `sample` returns for a requested number k."""

    @abstractmethod
    def sample(
        self,
        batch: FixedBatch,
        k: int,
        seeds: Int[Tensor, "members"],
        counter: Int[Tensor, ""],
    ) -> Colorings:
        """Sample colorings of every graph of a batch, without synchronization with the device.

        Args:
            batch: the batch.
            k: number of colorings that the network requests.
            seeds: seed of each member.
            counter: a number that differs in every draw, such as the number of the step.

        Returns:
            `[colorings, nodes]`. Padding has colors too, at most the largest color of a node.
        """


class Scheme(ABC):
    """A coloring scheme. Schemes have no state: all objects of a class are equivalent.

    Attributes:
        name: name of the scheme in networks, TOML files and the command line.
        package: package whose release decides the colorings; None if there is none.
        reads_edge_values: whether colorings can depend on weights and attributes of edges.
        any_number: whether a graph has as many colorings as a network requests.
    """

    name: ClassVar[str]
    package: ClassVar[str | None] = None
    reads_edge_values: ClassVar[bool] = True
    any_number: ClassVar[bool] = False

    def groups(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Int[Tensor, "nodes"]:
        """Compute groups of nodes that must get distinct colors, numbered within each graph.

        Nodes with identical attributes by default, Eq. (4).

        Args:
            x: node attributes `[nodes, channels]`, or labels `[nodes]`.
            edge_index: edges `[2, edges]`.
            batch: the graph of each node, ascending.
        """
        return number_by_first_node(color_groups(x, batch), batch)

    def partition(self, graphs: ExactBatch, keys: Tensor | None = None) -> Partition:
        """Compute the groups of a batch: by default `groups`, each with colors from 0.

        Args:
            graphs: the batch.
            keys: random bits of each graph; see `Partition`.
        """
        groups = self.groups(graphs.x, graphs.edge_index, graphs.graph_of_node)
        return Partition.of(groups, graphs.graph_of_node, graphs.num_graphs, keys)

    def partition_of(self, graphs: PackedGraphs) -> Partition:
        """Compute the groups of a data set, without sorting its edges where only `groups` is used.

        Args:
            graphs: the data set.
        """
        if type(self).partition is not Scheme.partition:
            return self.partition(graphs.to_batch())
        groups = self.groups(graphs.x, graphs.global_edge_index, graphs.graph_of_node)
        return Partition.of(groups, graphs.graph_of_node, len(graphs))

    @abstractmethod
    def stream(
        self, graphs: ExactBatch, partition: Partition, k: int, generator: Generator | None
    ) -> ColoringStream:
        """Return the colorings of one batch.

        Args:
            graphs: the batch.
            partition: its groups.
            k: number of colorings that the network requests.
            generator: source of randomness; the global generator of torch by default.
        """

    @abstractmethod
    def sampler(self, graphs: PackedGraphs, partition: Partition) -> Sampler:
        """Return a sampler for batches of a data set.

        Args:
            graphs: the data set.
            partition: its groups.
        """

    def prepare(self, graphs: PackedGraphs, k: int) -> Colorings | None:
        """Return colorings of a whole data set, or None if those of its parts are computed later.

        Errors and warnings have the numbers of graphs in the data set.

        Args:
            graphs: the data set.
            k: number of colorings that the network requests.

        Raises:
            InvalidColoringError: if there are no colorings that are stored with the data set.
            TooManyColoringsError: if a graph has too many colorings for the scheme.
            MissingDependencyError: if the scheme needs a package that is not installed.
        """
        return None

    def check_training(self, graphs: PackedGraphs) -> None:  # noqa: B027 - most need nothing
        """Check that networks can be trained on a data set with these colorings.

        Args:
            graphs: the data set.

        Raises:
            TooManyColoringsError: if a graph has too many colorings.
            InvalidColoringError: if colorings are missing that must be stored with the graphs.
            MissingDependencyError: if an optional package is missing.
        """

    def num_colors(self, graphs: PackedGraphs, partition: Partition) -> int:
        """Number of colors in the colorings of a data set.

        Args:
            graphs: the data set.
            partition: its groups.
        """
        return partition.num_colors


def scheme_named(coloring: str | Scheme) -> Scheme:
    """Return the scheme with a name; a scheme is returned unchanged.

    Raises:
        InvalidParameterError: if there is no scheme with this name.
    """
    if isinstance(coloring, Scheme):
        return coloring
    if not isinstance(coloring, str) or coloring not in COLORINGS:
        names = ", ".join(map(repr, COLORINGS))
        raise InvalidParameterError(
            f"coloring must be a Scheme or one of {names}. Got {shown(coloring)}."
            f"{suggestion(coloring, COLORINGS)}"
        )
    module, name = COLORINGS[coloring].rsplit(".", 1)
    scheme: Scheme = getattr(import_module(module), name)()
    return scheme
