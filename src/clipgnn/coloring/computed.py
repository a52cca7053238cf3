"""Colorings of a scheme as tensors, to be stored with graphs."""

from dataclasses import replace

from torch import Tensor

from clipgnn.coloring.sample import check_number
from clipgnn.coloring.schemes import Scheme, scheme_named
from clipgnn.errors import InvalidColoringError
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.keys import graph_keys
from clipgnn.graphs.packed import PackedGraphs, check_graph_set
from clipgnn.graphs.seeds import as_signed, check_seed
from clipgnn.shapes import Colorings


def with_colorings(
    graphs: PackedGraphs, coloring: str | Scheme, k: int = 1, *, seed: int = 0
) -> PackedGraphs:
    """Return a data set with colorings, which the scheme "precomputed" uses.

    They are saved with the data set, so that they are computed once for all trainings.

    Args:
        graphs: the data set.
        coloring: the coloring scheme, by name or as an object. Every graph must have k colorings:
            "random", "refined", "individualized", or "canonical" with k = 1.
        k: number of colorings.
        seed: seed of random colorings, those of `Network.predict` with this seed.

    Raises:
        InvalidParameterError: if there is no such scheme, or the seed is invalid.
        InvalidColoringError: if k is not a number of colorings, or the scheme has another number.
        InvalidGraphError: if the graphs are not a data set in memory.
        MissingDependencyError: if the scheme needs igraph, which is not installed.

    Example:
        >>> import networkx
        >>> graphs = PackedGraphs.from_networkx([networkx.path_graph(3)])
        >>> with_colorings(graphs, "individualized", 2).colorings.shape
        torch.Size([2, 3])
    """
    check_number(k)
    check_graph_set(graphs)
    keys = graph_keys(graphs, as_signed(check_seed(seed)))
    return replace(
        graphs, colorings=computed_colorings(graphs.to_batch(), scheme_named(coloring), k, keys)
    )


def computed_colorings(
    graphs: ExactBatch, scheme: Scheme, k: int, keys: Tensor | None
) -> Colorings:
    """Compute k colorings of each graph of a batch.

    Args:
        graphs: the batch.
        scheme: the coloring scheme.
        k: number of colorings.
        keys: random bits of each graph; None to draw colorings from the global generator of torch.

    Raises:
        InvalidColoringError: if the scheme has another number of colorings.
    """
    stream = scheme.stream(graphs, scheme.partition(graphs, keys), k, None)
    counts = stream.counts
    if bool((counts != k).any()):
        other = int(counts[counts != k][0])
        raise InvalidColoringError(
            f"Every graph must have k={k} colorings. Got {other:,} with "
            f'coloring="{scheme.name}". Use "random", "refined" or "individualized", or '
            '"canonical" with k=1: the number of colorings of other schemes differs between graphs.'
        )
    return stream.all()
