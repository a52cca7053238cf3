"""Checks that a network can read the graphs of a data set."""

from clipgnn.errors import InvalidGraphError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import NetworkParameters


def check_supported(
    graphs: PackedGraphs, schema: type[NetworkParameters], *, reads_edge_weights: bool
) -> None:
    """Check that networks of a class support the attributes and weights of the graphs.

    Args:
        graphs: the data set.
        schema: the parameters of the network.
        reads_edge_weights: whether the network supports edge weights.

    Raises:
        InvalidGraphError: if they do not.
    """
    for attribute, readable in (
        ("edge_attr", "edge_channels" in schema.names()),
        ("graph_attr", "graph_channels" in schema.names()),
        ("edge_weight", reads_edge_weights),
    ):
        if getattr(graphs, attribute) is not None and not readable:
            raise InvalidGraphError(
                f"{schema.title} does not support {attribute}. Got {attribute} in "
                f"{graphs.name!r}. Leave it out: dataclasses.replace(graphs, {attribute}=None)."
            )


def check_channels(graphs: PackedGraphs, config: NetworkParameters, class_name: str) -> None:
    """Check that the graphs have the channels that a network was built for.

    Args:
        graphs: the data set.
        config: configuration of the network.
        class_name: name of the class of the network, for the message.

    Raises:
        InvalidGraphError: if they do not.
    """
    for name in ("in_channels", "edge_channels", "graph_channels"):
        expected, found = getattr(config, name, 0), getattr(graphs, name)
        if expected != found:
            raise InvalidGraphError(
                f"The graphs must have {name}={expected}, as the network was built. Got "
                f"{name}={found} in {graphs.name!r}. Build the network with {name}={found}, or "
                f"with {class_name}.from_graphs."
            )
