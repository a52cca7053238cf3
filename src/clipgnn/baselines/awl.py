"""Kernel on feature-based anonymous walk embeddings."""

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.anonymous_walks import walk_distributions
from clipgnn.baselines.svm import Kernel
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import AWLParameters, documented


@documented()
class AWL(AWLParameters, Kernel):
    r"""A kernel between distributions over anonymous walks.

    From `"Anonymous walk embeddings" <https://arxiv.org/abs/1805.11921>`_, the feature-based model.
    The anonymous walk of a walk replaces each node by the position of its first occurrence: a, b,
    c, b and b, d, a, d are both 0, 1, 2, 1. The embedding of a graph is the distribution over the
    anonymous walks a of l = `length` steps, for random walks w from a uniformly random node. The
    kernel between two embeddings x and y is one of

    .. math::
        x_a = \frac{1}{|V|} \sum_{w : \, \mathrm{anonymous}(w) = a} \;
        \prod_{t=0}^{l-1} \frac{1}{\deg(w_t)},

    .. math::
        k_\mathrm{linear} = \langle x, y \rangle, \qquad
        k_\mathrm{polynomial} = (\langle x, y \rangle + \mathrm{offset})^\mathrm{degree}, \qquad
        k_\mathrm{rbf} = \exp\Big(-\frac{\lVert x - y \rVert^2}{2 \sigma^2}\Big).

    Anonymous walks do not depend on the labels and attributes of nodes.

    With `sampling="auto"` the distribution of a graph is computed exactly if the number of its
    walks is at most `MAX_EXACT_WALKS` or at most `walks_needed`, the number of samples that the
    bound of the paper requires. Otherwise `walks_needed` walks are sampled.

    Differs from the paper: the data-driven embeddings, trained like paragraph vectors, are not
    implemented. Walks do not use self-loops, and a walk at an isolated node stays there, which is a
    separate anonymous walk; the paper excludes both cases. The exponent has the denominator
    :math:`2 \sigma^2`; the authors' code has :math:`\sigma`.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.
    """

    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """Kernel between every two graphs, `[graphs, graphs]`.

        Args:
            graphs: undirected graphs. Duplicate edges count with their multiplicity.

        Raises:
            InvalidParameterError: if there are more than `MAX_WALKS` walks.
        """
        embeddings = walk_distributions(
            graphs, self.length, self.epsilon, self.delta, self.sampling, self.seed
        )
        products: NDArray[np.float64] = (embeddings @ embeddings.T).toarray()
        if self.kernel == "linear":
            return products
        if self.kernel == "polynomial":
            return (products + self.offset) ** self.degree
        squares = products.diagonal()
        distances = np.maximum(squares[:, None] + squares[None, :] - 2 * products, 0.0)
        return np.exp(-distances / (2 * self.sigma**2))
