"""Colorings as a transform of PyTorch Geometric, for networks that are not part of this package."""

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.transforms.add_positional_encoding import add_node_attr

from clipgnn.coloring.computed import computed_colorings
from clipgnn.coloring.sample import check_number
from clipgnn.coloring.schemes import Scheme, scheme_named
from clipgnn.errors import InvalidColoringError, InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs.exact import ExactBatch
from clipgnn.graphs.keys import graph_keys
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.seeds import as_signed, check_seed
from clipgnn.parameters import CLIPParameters


class AddColorings(BaseTransform):  # type: ignore[misc]
    r"""Add k colorings to a graph of PyTorch Geometric, Eq. (4).

    From `"Coloring graph neural networks for node disambiguation"
    <https://arxiv.org/abs/1912.06058>`_. Nodes with identical rows of `x` get distinct colors; in a
    graph without `x` these are all nodes. A group of s nodes has each of the colors 0..s-1 once.
    The k random colorings are distinct if the graph has k of them.

    As the `transform` of a data set it draws new colorings at every access; as the `pre_transform`
    they are drawn once and stored. A `Batch` is colored graph by graph.

    Args:
        k: number of colorings.
        coloring: the coloring scheme, by name or as an object. Every graph must have k colorings:
            "random", "refined", "individualized", or "canonical" with k = 1, which also reads
            `edge_attr` and `edge_weight`.
        num_colors: largest number of colors, which is the width of a one-hot code. None if any
            number of colors is valid; it must be given with `attr_name=None`.
        attr_name: attribute for the colors, an int64 tensor `[nodes, k]`. If None, their one-hot
            codes are concatenated to `x` instead, `k * num_colors` channels.
        seed: with a seed, the colorings of a graph are a function of the seed and the graph, those
            of `Network.predict` with this seed. If None, they come from the global generator of
            torch, which a `DataLoader` seeds differently in each of its workers.

    Raises:
        InvalidColoringError: if k is not a number of colorings, or (when the transform is applied)
            a graph needs more than `num_colors` colors, or the scheme has another number of
            colorings.
        InvalidParameterError: if another parameter has an invalid value.
        InvalidGraphError: when the transform is applied to something other than a graph.

    Shapes:
        - data.colors: `[nodes, k]`
        - data.x with `attr_name=None`: `[nodes, channels + k * num_colors]`

    Example:
        >>> square = torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
        >>> data = Data(edge_index=square, num_nodes=4)
        >>> AddColorings(k=3)(data).colors.shape
        torch.Size([4, 3])
        >>> AddColorings(k=1, num_colors=10, attr_name=None)(data).x.shape
        torch.Size([4, 10])
    """

    def __init__(
        self,
        k: int,
        *,
        coloring: str | Scheme = "random",
        num_colors: int | None = None,
        attr_name: str | None = "colors",
        seed: int | None = None,
    ) -> None:
        check_number(k)
        if attr_name is not None and (
            not isinstance(attr_name, str) or not attr_name or _is_reserved(attr_name)
        ):
            raise InvalidParameterError(
                "attr_name must be None, or a string that PyG does not treat in another way (x, "
                "edge_attr, face, names with index or batch). Got "
                f"{shown(attr_name)}."
            )
        if num_colors is not None:
            CLIPParameters.rules()["num_colors"].check("AddColorings", "num_colors", num_colors)
        elif attr_name is None:
            raise InvalidParameterError(
                "num_colors must be given with attr_name=None, because one-hot codes need a fixed "
                "width. Got None. Use the number of nodes of the largest graph."
            )
        self.k = k
        self.scheme = scheme_named(coloring)
        self.num_colors = num_colors
        self.attr_name = attr_name
        self.seed = None if seed is None else check_seed(seed)

    def forward(self, data: Data) -> Data:
        """Add colorings to a graph, or to every graph of a batch."""
        x, edge_index = _attributes(data), data.edge_index
        if edge_index is None:
            edge_index = torch.empty(2, 0, dtype=torch.int64, device=x.device)
        # Otherwise values of edges are ignored, and can be of any kind.
        weight, rows = _of_edges(data) if self.scheme.reads_edge_values else (None, None)
        colors = self._sample(
            ExactBatch.from_tensors(x, edge_index, data.batch, edge_weight=weight, edge_attr=rows)
        )
        if self.attr_name is None and self.num_colors is not None:
            codes = functional.one_hot(colors, self.num_colors)  # [nodes, k, num_colors]
            return add_node_attr(data, codes.flatten(1).float())
        return add_node_attr(data, colors, self.attr_name)

    def _sample(self, graphs: ExactBatch) -> Tensor:
        """Compute colorings, `[nodes, k]`."""
        keys = None
        if self.seed is not None:
            keys = graph_keys(PackedGraphs.from_batch(graphs, 1), as_signed(self.seed))
        colors = computed_colorings(graphs, self.scheme, self.k, keys)
        needed = int(colors.max()) + 1
        if self.num_colors is not None and needed > self.num_colors:
            raise InvalidColoringError(
                f"A graph must have at most num_colors={self.num_colors} nodes with identical "
                f"attributes. Got {needed} nodes. Use num_colors={needed} or more."
            )
        return colors.t().contiguous()

    def __repr__(self) -> str:
        parts = [f"k={self.k}"]
        if self.scheme.name != "random":
            parts.append(f"coloring={self.scheme.name!r}")
        if self.num_colors is not None:
            parts.append(f"num_colors={self.num_colors}")
        if self.attr_name != "colors":
            parts.append(f"attr_name={self.attr_name!r}")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _is_reserved(name: str) -> bool:
    """Whether PyG has another meaning for an attribute, or concatenates it along another axis."""
    return name in ("x", "edge_attr", "face") or "index" in name or "batch" in name


def _of_edges(data: Data) -> tuple[Tensor | None, Tensor | None]:
    """Weights and attributes of edges, as this package reads them."""
    weight, rows = _as_floats(data, "edge_weight"), _as_floats(data, "edge_attr")
    if weight is not None and weight.dim() == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if rows is not None:
        rows = rows[:, None] if rows.dim() == 1 else rows.flatten(1)
    return weight, rows


def _as_floats(data: Data, name: str) -> Tensor | None:
    values = data.get(name)
    if values is None:
        return None
    if not isinstance(values, Tensor) or values.dim() == 0:
        raise InvalidGraphError(
            f"{name} must be a tensor with a row for each edge. Got {shown(values)} of type "
            f"{type(values).__name__}."
        )
    return values if values.is_floating_point() else values.double()


def _attributes(data: object) -> Tensor:
    """Node attributes as this package reads them; the label 0 for nodes without attributes."""
    if not isinstance(data, Data):
        raise InvalidGraphError(
            f"data must be a torch_geometric.data.Data. Got {type(data).__name__}."
        )
    if data.x is None:
        if not data.num_nodes:
            raise InvalidGraphError("A graph must have x or num_nodes. Got neither.")
        device = None if data.edge_index is None else data.edge_index.device
        return torch.zeros(data.num_nodes, dtype=torch.int64, device=device)
    x: Tensor = data.x
    is_labels = x.dim() == 1 and x.dtype == torch.int64 and bool((x >= 0).all())
    if is_labels or (x.dim() == 2 and x.is_floating_point()):
        return x
    rows = x.reshape(x.shape[0], -1)
    return rows if rows.is_floating_point() else rows.double()
