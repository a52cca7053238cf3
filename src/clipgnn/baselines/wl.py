"""The Weisfeiler-Lehman subtree kernel."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.svm import Kernel
from clipgnn.coloring.groups import color_groups
from clipgnn.errors import InvalidGraphError, MissingDependencyError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import WLParameters, documented


@documented()
class WL(WLParameters, Kernel):
    r"""The Weisfeiler-Lehman subtree kernel, computed by GraKeL.

    From `"Weisfeiler-Lehman graph kernels"
    <https://jmlr.org/papers/v12/shervashidze11a.html>`_. The initial label :math:`l_0(v)` of a node
    is its attribute. Each of the h refinements maps the label of a node and the multiset of the
    labels of its neighbors to a new label. With :math:`c_i(G, l)` the number of nodes of G with the
    label l after i refinements,

    .. math::
        l_{i+1}(v) = \mathrm{id}\big(l_i(v), \{\!\{ l_i(u) : u \in N(v) \}\!\}\big), \qquad
        k(G, H) = \sum_{i=0}^{h} \sum_l c_i(G, l)\, c_i(H, l).

    Integer attributes are labels. Graphs without attributes have one label for all nodes. Nodes
    with identical float attributes have the same label. Float attributes that are all distinct
    raise an error, because no two graphs would share a label.

    Differs from the paper: the kernel is divided by :math:`\sqrt{k(G, G)\, k(H, H)}` unless
    `normalize` is false. Without normalization the values grow with the size of the graphs, and
    support vector machines with a large C converge slowly.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.
    """

    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """Kernel between every two graphs, `[graphs, graphs]`; 0 for graphs without nodes.

        Args:
            graphs: undirected graphs. Duplicate edges count once.

        Raises:
            InvalidGraphError: if no two nodes have the same float attributes.
            MissingDependencyError: if GraKeL is not installed.
        """
        try:
            from grakel.kernels import VertexHistogram, WeisfeilerLehman
        except ImportError as error:
            raise MissingDependencyError(
                "The kernel WL requires GraKeL. It is not installed. Use pip install "
                "'clipgnn[baselines]'."
            ) from error
        if self.height == 0:
            # GraKeL's n_iter counts refinements and must be at least 1.
            kernel = VertexHistogram(normalize=self.normalize)
        else:
            kernel = WeisfeilerLehman(
                n_iter=self.height,
                normalize=self.normalize,
                base_graph_kernel=(VertexHistogram, {"sparse": True}),
            )
        present = np.flatnonzero(graphs.node_pointers.diff().cpu().numpy())
        gram = np.zeros((len(graphs), len(graphs)))
        gram[np.ix_(present, present)] = kernel.fit_transform(_for_grakel(graphs, present))
        return gram


def _for_grakel(graphs: PackedGraphs, present: NDArray[np.int64]) -> list[list[Any]]:
    """Convert graphs to the input of GraKeL: neighbors and labels of the nodes as dictionaries."""
    labels = color_groups(graphs.x).tolist()
    if graphs.x.dim() > 1 and len(graphs) > 1 and max(labels) + 1 == len(labels):
        raise InvalidGraphError(
            "The kernel WL needs nodes with identical attributes, which it uses as labels. "
            f"Got {len(labels)} nodes whose attributes are all distinct. Remove or round the "
            "attributes."
        )
    pointers = graphs.node_pointers.cpu().numpy()
    target = graphs.global_edge_index[1].cpu().numpy()
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
