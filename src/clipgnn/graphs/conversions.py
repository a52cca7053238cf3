"""Conversion of data sets from and to the graphs of other libraries."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numpy.typing import ArrayLike
from torch import Tensor
from typing_extensions import Unpack

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.columns import GraphColumns
from clipgnn.graphs.data_list import flat_tensors
from clipgnn.graphs.encoding import AttributeEncoding, ChosenAttributes
from clipgnn.graphs.formats.records import records
from clipgnn.graphs.packed_checks import targets_of

if TYPE_CHECKING:  # importing them takes time
    import igraph
    import networkx
    import rdkit.Chem
    import scipy.sparse
    import torch_geometric.data

    from clipgnn.graphs.packed import PackedGraphs
    from clipgnn.graphs.storage.stored import StoredGraphs

_G = TypeVar("_G", bound="GraphConversions")


class ReadOptions(ChosenAttributes, total=False):
    """Options of the methods that read graphs; see `GraphConversions.from_columns`."""

    y: ArrayLike | Tensor | None
    name: str
    encoding: AttributeEncoding | None


class GraphConversions(ABC):
    """Methods of `PackedGraphs` that convert graphs."""

    @classmethod
    @abstractmethod
    def _from_fields(cls: type[_G], **values: Any) -> _G:
        """Create a data set from the values of its fields."""

    @property
    def _packed(self) -> "PackedGraphs":
        return cast("PackedGraphs", self)

    def save(self, folder: str | os.PathLike[str]) -> "StoredGraphs":
        """Write the graphs to a new folder, in shards that are mapped into memory when read.

        Raises:
            OutputError: if the folder has graphs already, or cannot be written.

        Example:
            >>> import tempfile
            >>> from clipgnn import PackedGraphs
            >>> from clipgnn.datasets import circular_skip_links
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     _ = circular_skip_links(0).save(folder)
            ...     len(PackedGraphs.open(folder))
            150
        """
        from clipgnn.graphs.storage.stored import save_graphs  # imports this module

        return save_graphs(self._packed, folder)

    @staticmethod
    def open(folder: str | os.PathLike[str]) -> "StoredGraphs":
        """Open a folder that was written by `save` or `clipgnn convert`. No graph is read.

        Raises:
            DatasetNotFoundError: if there is no such folder.
            DatasetFileError: if it has another version, or its description is damaged.
        """
        from clipgnn.graphs.storage.stored import open_graphs  # imports this module

        return open_graphs(folder)

    @classmethod
    def from_data_list(
        cls: type[_G], graphs: Iterable["torch_geometric.data.Data"], name: str = "graphs"
    ) -> _G:
        """Convert a list of PyG graphs.

        Only `x`, `edge_index`, `edge_attr`, `edge_weight`, `graph_attr` (`[1, channels]`) and `y`
        are read. Without `x`, all nodes get the same label. Duplicate edges and self-loops are
        kept; `simplify` removes them.

        Raises:
            InvalidGraphError: if there are no graphs, one is not a graph, or they do not have the
                same kinds of attributes and targets. The message names the graph.
        """
        return cls._from_fields(name=name, **flat_tensors(graphs))

    @classmethod
    def from_networkx(
        cls: type[_G], graphs: Iterable["networkx.Graph[Any]"], **options: Unpack[ReadOptions]
    ) -> _G:
        """Convert graphs of networkx, with the attributes of their nodes and edges.

        Nodes are numbered in the order of each graph. Options and errors are those of
        `from_columns`.

        Example:
            >>> import networkx
            >>> from clipgnn import PackedGraphs
            >>> ethanol = networkx.path_graph(3)
            >>> networkx.set_node_attributes(ethanol, {0: "C", 1: "C", 2: "O"}, "element")
            >>> graphs = PackedGraphs.from_networkx([ethanol], y=[1])
            >>> graphs.x, graphs.encoding.nodes
            (tensor([0, 0, 1]), (Categories(name='element', values=('C', 'O')),))
        """
        from clipgnn.graphs.formats import networkx_graphs

        return cls.from_columns(networkx_graphs.read(graphs), **options)

    @classmethod
    def from_igraph(
        cls: type[_G], graphs: Iterable["igraph.Graph"], **options: Unpack[ReadOptions]
    ) -> _G:
        """Convert graphs of igraph, with the attributes of their vertices and edges.

        Names of vertices, the attributes "name", "id" and "_nx_name", are used only if they are
        among the `node_attributes`. Options and errors are those of `from_columns`.
        """
        from clipgnn.graphs.formats import igraph_graphs

        return cls.from_columns(igraph_graphs.read(graphs), **options)

    @classmethod
    def from_scipy(cls: type[_G], graphs: Iterable[Any], **options: Unpack[ReadOptions]) -> _G:
        """Convert sparse adjacency matrices: an entry (i, j) is an edge from i to j.

        Values of the entries are weights of the edges, unless all are 1. Options and errors are
        those of `from_columns`.
        """
        from clipgnn.graphs.formats import adjacency

        return cls.from_columns(adjacency.read(graphs), **options)

    @classmethod
    def from_smiles(
        cls: type[_G], molecules: Iterable["str | rdkit.Chem.Mol"], **options: Unpack[ReadOptions]
    ) -> _G:
        """Convert molecules, given as SMILES or as molecules of RDKit.

        Atoms are nodes with the attributes "element", "charge", "hydrogens", "aromatic",
        "hybridization", "isotope" and "configuration" (R or S), and bonds are edges with "bond",
        "conjugated", "ring" and "configuration" (E or Z). Options and errors are those of
        `from_columns`. An invalid molecule is an InvalidGraphError that names it. Without RDKit,
        there is a MissingDependencyError.

        Example:
            >>> from clipgnn import PackedGraphs
            >>> graphs = PackedGraphs.from_smiles(["CCO", "C[C@H](N)C(=O)O"], y=[0, 1])
            >>> len(graphs), graphs.to_smiles()
            (2, ['CCO', 'C[C@H](N)C(=O)O'])
        """
        from clipgnn.graphs.formats import molecules as format_of_molecules

        return cls.from_columns(format_of_molecules.read(molecules), **options)

    @classmethod
    def from_columns(
        cls: type[_G],
        columns: GraphColumns,
        *,
        y: ArrayLike | Tensor | None = None,
        name: str = "graphs",
        encoding: AttributeEncoding | None = None,
        **chosen: Unpack[ChosenAttributes],
    ) -> _G:
        """Encode graphs with named attributes.

        Args:
            columns: the graphs.
            y: targets: classes as integers, or floats, with a row for each graph.
            name: name of the data set.
            encoding: the encoding of other graphs to use, such as that of the training graphs. By
                default it is determined from the graphs and `chosen`.
            **chosen: see `AttributeEncoding.of`.

        Raises:
            InvalidGraphError: if the graphs, their attributes or targets are not valid.
            InvalidParameterError: if an attribute is not known, or both `encoding` and `chosen` are
                given.
        """
        if not isinstance(encoding, AttributeEncoding | None):
            raise InvalidParameterError(
                "encoding must be that of a PackedGraphs, or None. Got "
                f"{type(encoding).__name__}. Use graphs.encoding."
            )
        if encoding is None:
            encoding = AttributeEncoding.of(columns, **chosen)
        elif chosen:
            raise InvalidParameterError(
                f"Either encoding or {', '.join(chosen)} must be given. Got both. Leave one out."
            )
        targets = None if y is None else targets_of(y)
        return cls._from_fields(name=name, y=targets, **encoding.tensors(columns))

    def to_networkx(self) -> list["networkx.Graph[Any]"]:
        """Convert to graphs of networkx, with decoded attributes.

        They are undirected if every edge is stored in both directions, in all graphs.
        """
        from clipgnn.graphs.formats import networkx_graphs

        return list(networkx_graphs.write(records(self._packed)))

    def to_igraph(self) -> list["igraph.Graph"]:
        """Convert to graphs of igraph, with decoded attributes; see `to_networkx`."""
        from clipgnn.graphs.formats import igraph_graphs

        return list(igraph_graphs.write(records(self._packed)))

    def to_scipy(self) -> list["scipy.sparse.csr_array"]:
        """Convert to sparse adjacency matrices, with the weights of edges, without attributes."""
        from clipgnn.graphs.formats import adjacency

        return list(adjacency.write(records(self._packed)))

    def to_rdkit(self) -> list["rdkit.Chem.Mol"]:
        """Convert to molecules of RDKit; the graphs need the attributes of `from_smiles`."""
        from clipgnn.graphs.formats import molecules

        return list(molecules.write(records(self._packed)))

    def to_smiles(self) -> list[str]:
        """Convert to canonical SMILES; see `to_rdkit`."""
        from clipgnn.graphs.formats import molecules

        return list(molecules.write_smiles(records(self._packed)))

    def to_data_list(self) -> list["torch_geometric.data.Data"]:
        """Convert to a list of PyG graphs; labels are converted to one-hot attributes."""
        from torch_geometric.data import Data

        graphs = self._packed
        x = graphs.attributes()
        nodes, edges = graphs.node_pointers.tolist(), graphs.edge_pointers.tolist()
        result = []
        for graph in range(len(graphs)):
            own = slice(edges[graph], edges[graph + 1])
            data = Data(x=x[nodes[graph] : nodes[graph + 1]], edge_index=graphs.edge_index[:, own])
            if graphs.y is not None:
                data.y = graphs.y[graph : graph + 1]
            if graphs.edge_attr is not None:
                data.edge_attr = graphs.edge_attr[own]
            if graphs.edge_weight is not None:
                data.edge_weight = graphs.edge_weight[own]
            if graphs.graph_attr is not None:
                data.graph_attr = graphs.graph_attr[graph : graph + 1]
            result.append(data)
        return result
