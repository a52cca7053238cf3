"""The Weisfeiler-Lehman subtree kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.checks import check_integers
from clipgnn.baselines.svm import Kernel
from clipgnn.coloring.groups import color_groups
from clipgnn.errors import InvalidGraphError, InvalidParameterError, MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs


@dataclass(frozen=True)
class WL(Kernel):
    """The Weisfeiler-Lehman subtree kernel, computed by GraKeL.

    Shervashidze et al., "Weisfeiler-Lehman Graph Kernels",
    https://jmlr.org/papers/v12/shervashidze11a.html, the subtree kernel. Nodes begin with
    their labels. In each of h refinements a node's new label stands for its label and the
    sorted labels of its neighbors. The kernel between two graphs is the sum, over the first labels
    and all refinements, of how often each label occurs in the one times how often in the other.

    Integer labels are taken as they are; graphs without labels have one for all nodes. Float
    attributes are labels too: rows that are identical are one label. Attributes that never repeat
    would tell every node from every other, and are refused.

    Differs from the paper: the kernel is divided by its value between each graph and itself,
    k(G, H) / √(k(G, G) k(H, H)), unless `normalize` is false. Without it graphs of many nodes have
    the largest values, and support vector machines with a large C take very long.

    Args:
        height: refinements h; 0 counts the labels of the nodes.
        normalize: whether every graph has a kernel of 1 with itself.

    Raises:
        InvalidParameterError: if a parameter is not of its kind.
    """

    height: int = 5
    normalize: bool = True

    def __post_init__(self) -> None:
        check_integers("WL", least=0, height=self.height)
        if not isinstance(self.normalize, bool):
            raise InvalidParameterError(
                "The 'normalize' parameter of WL must be true or false. "
                f"Got {self.normalize!r} instead."
            )

    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """The kernel between every two graphs; a graph without nodes has 0 with all.

        Args:
            graphs: undirected graphs; parallel edges count once.

        Raises:
            InvalidGraphError: if no two nodes have the same float attributes.
            MissingDependencyError: if GraKeL is not installed.
        """
        try:
            from grakel.kernels import VertexHistogram, WeisfeilerLehman
        except ImportError as error:
            raise MissingDependencyError(
                "The kernel WL needs GraKeL, which is not installed: pip install "
                "'clipgnn[baselines]'."
            ) from error
        if self.height == 0:
            # GraKeL's n_iter counts refinements, and it wants at least one.
            kernel = VertexHistogram(normalize=self.normalize)
        else:
            kernel = WeisfeilerLehman(
                n_iter=int(self.height),
                normalize=self.normalize,
                base_graph_kernel=(VertexHistogram, {"sparse": True}),
            )
        present = np.flatnonzero(graphs.node_pointers.diff().cpu().numpy())
        gram = np.zeros((len(graphs), len(graphs)))
        gram[np.ix_(present, present)] = kernel.fit_transform(_for_grakel(graphs, present))
        return gram


def _for_grakel(graphs: PackedGraphs, present: NDArray[np.int64]) -> list[list[Any]]:
    """Neighbors of each node and labels of the nodes, as dictionaries, of the graphs present."""
    labels = color_groups(graphs.x).tolist()
    if graphs.x.dim() > 1 and len(graphs) > 1 and max(labels) + 1 == len(labels):
        raise InvalidGraphError(
            "The kernel WL compares labels, and nodes must share some: rows of identical "
            f"attributes are one label. Got {len(labels)} nodes with as many different rows; round "
            "the attributes, or leave them out."
        )
    pointers = graphs.node_pointers.cpu().numpy()
    target = graphs.edges_through[1].cpu().numpy()
    ends = np.cumsum(np.bincount(target, minlength=len(labels))).tolist()
    begins = [0, *ends[:-1]]
    neighbors = graphs.edge_index[0].cpu().numpy()[np.argsort(target, kind="stable")].tolist()
    result = []
    for begin, end in zip(pointers[present].tolist(), pointers[present + 1].tolist(), strict=True):
        structure = {
            node - begin: dict.fromkeys(neighbors[begins[node] : ends[node]], 1.0)
            for node in range(begin, end)
        }
        result.append([structure, dict(enumerate(labels[begin:end]))])
    return result
