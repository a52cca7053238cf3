"""Anonymous Walk Embeddings, the feature-based ones, as a kernel."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.anonymous_walks import LONGEST, walk_distributions
from clipgnn.baselines.checks import check_integers
from clipgnn.baselines.svm import Kernel
from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.graphs.packed import PackedGraphs

KERNELS = ("linear", "rbf", "polynomial")
SAMPLING = ("auto", "never", "always")


@dataclass(frozen=True)
class AWL(Kernel):
    """A kernel between distributions over anonymous walks.

    Ivanov and Burnaev, "Anonymous Walk Embeddings", https://arxiv.org/abs/1805.11921, the
    feature-based model.
    An anonymous walk says of a walk only where it came to a node again: a, b, c, b and b, d, a, d
    are both 0, 1, 2, 1. A graph is embedded as the probabilities of its anonymous walks of `length`
    steps, which begin at every node alike and go on to every neighbor alike. The kernel
    between two embeddings x and y is

    - "linear": ⟨x, y⟩,
    - "polynomial": (⟨x, y⟩ + offset)^degree,
    - "rbf": exp(−‖x − y‖² / 2σ²).

    Anonymous walks know nothing of labels and attributes of nodes: graphs are compared by their
    structure alone.

    A graph's walks are all taken, with their probabilities, where they are at most a million
    (`ALL_WALKS`) or not more than the samples that the paper's bound asks for (`walks_needed`).
    From other graphs this number of walks is sampled. `sampling` can be told otherwise.

    Differs from the paper: the paper's data-driven embeddings, trained like paragraph vectors, are
    not here. Loops are not walked, and a walk from a node without edges stays there, which is an
    anonymous walk of its own; the paper has neither. Where the authors' code writes ‖x − y‖² / σ,
    we keep to the usual 2σ².

    Args:
        length: steps of a walk, from 1 to 15.
        kernel: "linear", "rbf" or "polynomial".
        sigma: width σ of "rbf".
        degree: of "polynomial".
        offset: of "polynomial".
        epsilon: how much the sampled probabilities of a graph may be off, added up.
        delta: how likely they may be off by more.
        sampling: "auto", "never" or "always".
        seed: of the sampled walks.

    Raises:
        InvalidParameterError: if a parameter is not of its kind.
    """

    length: int = 5
    kernel: Literal["linear", "rbf", "polynomial"] = "rbf"
    sigma: float = 0.1
    degree: int = 2
    offset: float = 0.0
    epsilon: float = 0.1
    delta: float = 0.05
    sampling: Literal["auto", "never", "always"] = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        check_integers("AWL", length=self.length, degree=self.degree)
        check_integers("AWL", least=0, seed=self.seed)
        self._check("length", self.length <= LONGEST, f"at most {LONGEST}")
        self._check("kernel", self.kernel in KERNELS, _listed(KERNELS), KERNELS)
        self._check("sampling", self.sampling in SAMPLING, _listed(SAMPLING), SAMPLING)
        self._check("sigma", _number(self.sigma) and self.sigma > 0, "a positive number")
        self._check("epsilon", _number(self.epsilon) and self.epsilon > 0, "a positive number")
        self._check("offset", _number(self.offset) and self.offset >= 0, "a number of at least 0")
        between = _number(self.delta) and 0 < self.delta < 1
        self._check("delta", between, "a number between 0 and 1")

    def gram(self, graphs: PackedGraphs) -> NDArray[np.float64]:
        """The kernel between every two graphs.

        Args:
            graphs: undirected graphs; parallel edges are taken as often as they are there.

        Raises:
            InvalidParameterError: if there would be too many walks.
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

    def _check(self, name: str, holds: bool, rule: str, words: tuple[str, ...] = ()) -> None:
        if not holds:
            value = getattr(self, name)
            close = suggestion(value, words) if isinstance(value, str) else ""
            raise InvalidParameterError(
                f"The {name!r} parameter of AWL must be {rule}. Got {value!r} instead.{close}"
            )


def _listed(words: tuple[str, ...]) -> str:
    return " or ".join(f'"{word}"' for word in words)


def _number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
    )
