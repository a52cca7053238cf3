"""Numbers of walks: what a classifier reaches that counts, and learns nothing about structure."""

import numpy as np
import torch
from numpy.typing import NDArray

from clipgnn.baselines.svm import Kernel
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import WalksParameters, documented


@documented()
class Walks(WalksParameters, Kernel):
    r"""A linear kernel between the numbers of walks of two graphs.

    With the adjacency matrix A, a graph has :math:`\mathbf{1}^\top A^t \mathbf{1}` walks of t
    steps; for t = 1 these are the edges, in both directions. Message passing can compute these
    numbers. Each is standardized over the data set, so that the kernel does not depend on targets.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.
    """

    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """Kernel between every two graphs, `[graphs, graphs]`.

        Args:
            graphs: undirected graphs; node attributes are not used.
        """
        source, target = graphs.global_edge_index.cpu()
        walks = torch.ones(graphs.x.shape[0], dtype=torch.float64)  # that end in each node
        graph_of_node = graphs.graph_of_node.cpu()
        counts = []
        for _ in range(self.length):
            walks = torch.zeros_like(walks).index_add_(0, target, walks[source])
            total = torch.zeros(len(graphs), dtype=torch.float64)
            counts.append(total.index_add_(0, graph_of_node, walks))
        features = torch.stack(counts, dim=1)  # [graphs, length]
        features -= features.mean(0)
        spread = features.square().mean(0).sqrt()
        features /= torch.where(spread > 0, spread, 1.0)
        gram: NDArray[np.float64] = (features @ features.t()).numpy()
        return gram
