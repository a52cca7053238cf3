"""Graphs of PyTorch Geometric, as columns with the names of their tensors."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.graphs.columns import WEIGHT, GraphColumns
from clipgnn.graphs.data_list import flat_tensors

if TYPE_CHECKING:
    from torch_geometric.data import Data


def read(graphs: Iterable["Data"]) -> GraphColumns:
    """Read `x`, `edge_attr` and `graph_attr` as attributes, and `edge_weight`; not `y`.

    Labels, integers `[nodes]` in `x`, are categories.

    Raises:
        InvalidGraphError: if they are not graphs of PyTorch Geometric with the same attributes.
    """
    listed = list(graphs)
    tensors = flat_tensors(listed, with_targets=False)
    labels = tensors["x"].dim() == 1
    has_x = not labels or any(getattr(own, "x", None) is not None for own in listed)
    edges = {"edge_attr": tensors["edge_attr"], WEIGHT: tensors["edge_weight"]}
    return GraphColumns(
        num_nodes=_array(tensors["node_pointers"].diff()),
        num_edges=_array(tensors["edge_pointers"].diff()),
        edge_index=_array(tensors["edge_index"]),
        nodes={"x": _array(tensors["x"])} if has_x else {},
        edges={name: _array(own) for name, own in edges.items() if own is not None},
        graphs={}
        if tensors["graph_attr"] is None
        else {"graph_attr": _array(tensors["graph_attr"])},
        kinds={"x": "category"} if labels and has_x else {},
    )


def _array(values: Tensor) -> NDArray[Any]:
    return np.asarray(values.cpu().numpy())
