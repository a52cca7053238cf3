"""Reading of graphs: those of the training decide how attributes are encoded."""

import warnings
from dataclasses import replace
from typing import Any

from clipgnn.errors import InvalidGraphError, InvalidParameterError, shown
from clipgnn.graphs import formats
from clipgnn.graphs.encoding import AttributeEncoding, ChosenAttributes, check_same_encoding
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.recoding import recoded
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network


def read_training(X: Any, chosen: ChosenAttributes) -> PackedGraphs | StoredGraphs:
    """Read graphs, and determine the encoding of their attributes.

    Args:
        X: a data set, or a list of graphs.
        chosen: the attributes to use.

    Raises:
        InvalidGraphError: if the graphs cannot be read.
        InvalidParameterError: if attributes are chosen that do not exist, or of a data set, whose
            attributes are encoded already.
    """
    if not isinstance(X, PackedGraphs | StoredGraphs):
        return PackedGraphs.from_columns(formats.read(X), **chosen)
    for name, value in chosen.items():
        given: Any = value
        if given is not None and (name != "graph_attributes" or len(given) > 0):
            raise InvalidParameterError(
                f"{name} must not be given if X is a {type(X).__name__}, whose attributes are "
                f"encoded already. Got {shown(given)}. Use a list of graphs, or choose the "
                "attributes with PackedGraphs.from_networkx."
            )
    return X


def read_stored(
    X: StoredGraphs, encoding: AttributeEncoding | None, network: Network
) -> StoredGraphs:
    """Check that a network can read graphs on disk, for further training.

    Raises:
        InvalidGraphError: if it cannot.
    """
    check_same_encoding(X.encoding, encoding)
    _check_direction(X, network, strict=True)
    return X


def read_with_encoding(
    X: Any, encoding: AttributeEncoding | None, network: Network, *, strict: bool
) -> PackedGraphs:
    """Read graphs with the encoding of the training graphs.

    Args:
        X: a data set, or a list of graphs.
        encoding: the encoding; None if the training graphs were given as tensors.
        network: a network that was trained with it.
        strict: whether categories and edges in one direction that the training graphs did not have
            are errors, for further training, instead of warnings.

    Raises:
        InvalidGraphError: if the graphs cannot be read.
    """
    if isinstance(X, PackedGraphs):
        graphs = X
        if X.encoding is not None and encoding is not None:
            graphs = recoded(X, encoding, strict=strict)
        check_same_encoding(graphs.encoding, encoding)
    elif encoding is None:
        graphs = _from_tensors(X, network)
    else:
        columns = formats.read(X)
        if strict:
            encoding.check_known(columns)
        graphs = PackedGraphs.from_columns(columns, encoding=encoding)
    _check_direction(graphs, network, strict=strict)
    return graphs


def _from_tensors(X: Any, network: Network) -> PackedGraphs:
    """Read graphs of PyTorch Geometric as the training graphs were: labels keep their numbers."""
    graphs = PackedGraphs.from_data_list(X)
    channels = network.config.in_channels
    if graphs.x.dim() == 1 and graphs.in_channels < channels:
        return replace(graphs, in_channels=channels)  # the largest label does not occur
    return graphs


def _check_direction(
    graphs: PackedGraphs | StoredGraphs, network: Network, *, strict: bool
) -> None:
    if getattr(network.config, "directed", True) or not graphs.directed:
        return
    message = (
        "The graphs must be undirected, as all training graphs were. Got an edge whose two "
        "directions differ."
    )
    if strict:
        raise InvalidGraphError(f"{message} Train a new model on directed graphs.")
    warnings.warn(
        f"{message} Messages are passed in the given directions only. Use graphs with every edge "
        "in both directions.",
        stacklevel=2,
    )
