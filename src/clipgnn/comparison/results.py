"""The result of a comparison as plain numbers, without torch."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

ROUNDING = 1e-9
"""Largest difference, relative to the representations, that is attributed to rounding."""


@dataclass(frozen=True)
class GraphView:
    """A graph as it is drawn.

    Attributes:
        name: its name.
        names: name of the attribute of each node; empty if all nodes have the same attributes.
        edges: pairs of nodes, each edge once.
        num_colorings: number of its colorings, Eq. (6).
        attributes: attributes of each node as text; those that all nodes of both graphs have in
            common are left out.
    """

    name: str
    names: Sequence[str]
    edges: Sequence[tuple[int, int]]
    num_colorings: int
    attributes: Sequence[Mapping[str, str]] = ()


@dataclass(frozen=True)
class Round:
    """The colors after a round of color refinement, of the nodes of both graphs."""

    first: Sequence[int]
    second: Sequence[int]

    @property
    def equal(self) -> bool:
        """Whether both graphs have the same number of nodes of each color."""
        return Counter(self.first) == Counter(self.second)


@dataclass(frozen=True)
class Step:
    """A coloring of each of the two graphs.

    Attributes:
        first, second: colors of the nodes.
        difference: largest difference between the representations for these two colorings.
        maximum: largest difference between the maxima over this coloring and those before it.
    """

    first: Sequence[int]
    second: Sequence[int]
    difference: float
    maximum: float


@dataclass(frozen=True)
class CanonicalColorings:
    """The canonical colorings.

    Attributes:
        first, second: colors of the nodes.
        isomorphic: whether the graphs are isomorphic, attributes included.
        difference: largest difference between the representations for these colorings.
    """

    first: Sequence[int]
    second: Sequence[int]
    isomorphic: bool
    difference: float


@dataclass(frozen=True)
class Comparison:
    """What distinguishes two graphs.

    Attributes:
        first, second: the graphs.
        rounds: colors of color refinement, before the first round and after each.
        without_colors: difference between the representations by 0-CLIP.
        steps: the random colorings that are shown.
        curve: numbers k of random colorings, and the difference between the maxima over them.
        complete: difference between the maxima over all colorings (∞-CLIP); None if there are more
            than `most_enumerated`.
        canonical: the canonical colorings; None if `canonical_problem` prevents them.
        canonical_problem: why there are no canonical colorings.
        scale: largest absolute value of the representations that were compared.
        seed: seed of weights and colorings.
        channels, layers: size of the networks.
        most_enumerated: largest number of colorings that are enumerated.
        unused: names of the attributes of "edges" and "nodes" that were not compared.
        notes: sentences about what was not compared, or only in part.
    """

    first: GraphView
    second: GraphView
    rounds: Sequence[Round]
    without_colors: float
    steps: Sequence[Step]
    curve: Sequence[tuple[int, float]]
    complete: float | None
    canonical: CanonicalColorings | None
    canonical_problem: str | None
    scale: float
    seed: int
    channels: int
    layers: int
    most_enumerated: int
    unused: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def first_difference(self) -> int | None:
        """The first round whose colors differ; None if message passing cannot distinguish."""
        return next((number for number, own in enumerate(self.rounds) if not own.equal), None)

    @property
    def isomorphic(self) -> bool | None:
        """Whether the graphs are isomorphic; None if it is not known."""
        if self.first_difference is not None:
            return False
        if self.canonical is not None:
            return self.canonical.isomorphic
        differ = self.complete is not None and not self.is_zero(self.complete)
        return False if differ else None

    def is_zero(self, difference: float) -> bool:
        """Whether a difference is zero up to rounding."""
        return difference <= ROUNDING * max(self.scale, 1e-300)
