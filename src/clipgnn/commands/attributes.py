"""Options that choose which attributes of graphs are used."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class AttributeOptions:
    """Attributes to use, by name."""

    node_attributes: Annotated[
        str | None, typer.Option(help="Attributes of nodes to use: element,charge; all by default.")
    ] = None
    edge_attributes: Annotated[
        str | None, typer.Option(help="Attributes of edges to use; by default all.")
    ] = None
    graph_attributes: Annotated[
        str | None, typer.Option(help="Attributes of graphs to use; by default none.")
    ] = None

    def read(self, graphs: Any) -> "PackedGraphs":
        """Read graphs with these attributes.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if there are no such attributes.
        """
        from clipgnn.estimators.reading import read_training
        from clipgnn.graphs.packed import PackedGraphs

        found = read_training(
            graphs,
            {
                "node_attributes": names_of(self.node_attributes),
                "edge_attributes": names_of(self.edge_attributes),
                "graph_attributes": names_of(self.graph_attributes) or [],
                "kinds": None,
            },
        )
        assert isinstance(found, PackedGraphs)  # graphs on disk are encoded already
        return found


def names_of(text: str | None) -> list[str] | None:
    """Names that are separated by commas; None for none."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",") if name.strip()]
