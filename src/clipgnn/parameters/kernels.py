"""Parameters of the graph kernels and of the support vector machine that is fitted to them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clipgnn.parameters.model import Model
from clipgnn.parameters.rules import POSITIVE, Rule
from clipgnn.parameters.schema import Parameters, parameter


@dataclass(frozen=True, kw_only=True)
class WLParameters(Parameters):
    """Parameters of the Weisfeiler-Lehman subtree kernel."""

    title: ClassVar[str] = "WL"

    height: int = parameter(
        5, Rule(int, 0, 1000), "number h of refinements; 0 counts the labels of the nodes"
    )
    normalize: bool = parameter(
        True, Rule(bool), "whether the kernel between a graph and itself is scaled to 1"
    )


@dataclass(frozen=True, kw_only=True)
class AWLParameters(Parameters):
    """Parameters of the anonymous-walk kernel."""

    title: ClassVar[str] = "AWL"

    # The identifiers of longer walks do not fit into 64 bits.
    length: int = parameter(5, Rule(int, 1, 15), "number of steps of a walk")
    kernel: str = parameter(
        "rbf",
        Rule(str, words=("linear", "rbf", "polynomial")),
        "kernel between the distributions of two graphs",
    )
    sigma: float = parameter(0.1, POSITIVE, 'width σ of the kernel "rbf"')
    degree: int = parameter(2, Rule(int, 1, 1000), 'degree of the kernel "polynomial"')
    offset: float = parameter(0.0, Rule(float, minimum=0), 'offset of the kernel "polynomial"')
    epsilon: float = parameter(
        0.1, POSITIVE, "bound on the sum of absolute errors of a graph's sampled probabilities"
    )
    delta: float = parameter(
        0.05, Rule(float, above=0, below=1), "probability of exceeding the bound epsilon"
    )
    sampling: str = parameter(
        "auto", Rule(str, words=("auto", "never", "always")), "whether walks are sampled"
    )
    seed: int = parameter(0, Rule(int, 0), "seed of the sampled walks")


@dataclass(frozen=True, kw_only=True)
class WalksParameters(Parameters):
    """Parameters of the numbers of walks."""

    title: ClassVar[str] = "numbers of walks"

    length: int = parameter(
        1, Rule(int, 1, 100), "largest number of steps of a walk; 1 counts edges only"
    )


@dataclass(frozen=True, kw_only=True)
class SVMParameters(Parameters):
    """Parameters of the support vector machine that is fitted to a kernel."""

    title: ClassVar[str] = "a support vector machine"

    C: float = parameter(1.0, POSITIVE, "weight of training errors relative to the margin")


GRAPH_KERNELS: Mapping[str, Model] = {
    "wl": Model("clipgnn.baselines.wl.WL", WLParameters, SVMParameters, folds_together=True),
    "awl": Model("clipgnn.baselines.awl.AWL", AWLParameters, SVMParameters, folds_together=True),
    "walks": Model(
        "clipgnn.baselines.walks.Walks", WalksParameters, SVMParameters, folds_together=True
    ),
}
"""Kernels by name."""
