"""Sentences and numbers of the page of a comparison."""

from decimal import Decimal

from clipgnn.comparison.results import Comparison
from clipgnn.errors import listed


def value(comparison: Comparison, difference: float) -> str:
    """Return a difference with three digits, and 0 for one that is due to rounding."""
    return "0" if comparison.is_zero(difference) else f"{difference:.3g}"


def power(number: int) -> str:
    """Return a number that can be large.

    Example:
        >>> power(40320), power(10**30)
        ('40,320', '1.0e30')
    """
    return f"{number:,}" if number < 10**12 else f"{Decimal(number):.1e}".replace("+", "")


def lead(comparison: Comparison) -> str:
    """Return the result in one or two sentences."""
    number = comparison.first_difference
    if number is not None:
        return (
            "The graphs are not isomorphic, and message passing can distinguish them: the colors "
            f"of color refinement differ from round {number} on."
        )
    same = "Message passing cannot distinguish the graphs: color refinement gives equal colors."
    if comparison.isomorphic is None:
        # A difference would have proved that they are not isomorphic; equality proves nothing.
        equal = (
            " The maxima over all colorings (∞-CLIP) are equal too, which does not prove that the "
            "graphs are isomorphic: the network has random weights."
            if comparison.complete is not None
            else ""
        )
        unknown = "Whether they are isomorphic was not computed."
        return f"{same}{equal} {unknown} {comparison.canonical_problem or ''}".rstrip()
    if comparison.isomorphic:
        over_all = ", over all colorings" if comparison.complete is not None else ""
        return (
            f"The graphs are isomorphic{_without(comparison)}. Their representations without "
            f"colors{over_all} and with canonical colorings are equal."
        )
    shown = (
        "CLIP distinguishes them."
        if _distinguished(comparison)
        else "These random weights do not show a difference; try another seed."
    )
    return f"The graphs are not isomorphic. {same} {shown}"


def _without(comparison: Comparison) -> str:
    """Name the attributes that were not compared; empty if there are none."""
    parts = [f"of {part} ({', '.join(names)})" for part, names in comparison.unused.items()]
    return f" without attributes {listed(parts)}" if parts else ""


def _distinguished(comparison: Comparison) -> bool:
    known = [comparison.complete]
    if comparison.canonical is not None:
        known.append(comparison.canonical.difference)
    return any(own is not None and not comparison.is_zero(own) for own in known)


def result_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return method, result and difference of each method."""

    def row(method: str, difference: float) -> tuple[str, str, str]:
        result = "equal representations" if comparison.is_zero(difference) else "different"
        return method, result, value(comparison, difference)

    number = comparison.first_difference
    refined = "equal colors in all rounds" if number is None else f"different from round {number}"
    k, last = comparison.curve[-1]
    method, result, difference = row("0-CLIP, without colors", comparison.without_colors)
    rows = [
        ("color refinement (1-WL)", refined, "–"),
        (method, result + _why_equal(comparison), difference),
    ]
    if comparison.complete is None:
        rows.append(
            (f"{k:,}-CLIP, random colorings", "depends on the draw", value(comparison, last))
        )
        rows.append(("∞-CLIP, all colorings", "not computed, too many colorings", "–"))
    else:
        rows.append(row("∞-CLIP, all colorings", comparison.complete))
    if comparison.canonical is None:
        rows.append(("canonical colorings", "not computed", "–"))
    else:
        rows.append(row("CLIP with canonical colorings", comparison.canonical.difference))
    return rows


def _why_equal(comparison: Comparison) -> str:
    """Say why 0-CLIP shows no difference although color refinement does; empty otherwise."""
    number = comparison.first_difference
    if number is None or not comparison.is_zero(comparison.without_colors):
        return ""
    if number > comparison.layers:
        return f": {comparison.layers} layers see {comparison.layers} rounds only"
    return " with these random weights; try another seed"


def difference_text(comparison: Comparison) -> str:
    """Say what the differences of the table of results mean."""
    random = ", except for random colorings" if comparison.complete is None else ""
    meaning = (
        f"It is 0 for isomorphic graphs{random}."
        if comparison.isomorphic
        else f"If it is not 0, the graphs are not isomorphic{random}. If it is 0, other weights or "
        "more layers may still distinguish the graphs."
    )
    return (
        "A difference is the largest one over the channels of the representations. Its size "
        f"depends on the random weights. {meaning}"
    )


def message_passing_text(comparison: Comparison) -> list[str]:
    """Explain the rounds of color refinement."""
    explained = (
        "Color refinement (1-WL) gives a node a new color by its color and the colors of its "
        "neighbors, in rounds, until the colors are stable. A message-passing network without "
        "colors distinguishes two graphs only if a round gives them different numbers of nodes of "
        "some color. The same number is the same color in both graphs, but not in another round."
    )
    number = comparison.first_difference
    result = (
        "Here the numbers of nodes are equal in all rounds."
        if number is None
        else f"Here the numbers of nodes are different from round {number} on."
    )
    return [explained, result]


def attribute_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Return headings, and number, name and attributes of each color of round 0.

    Nothing if all nodes have the same attributes.
    """
    start = comparison.rounds[0]
    known = {
        color: (name, values)
        for graph, colors in ((comparison.first, start.first), (comparison.second, start.second))
        for name, values, color in zip(
            graph.names, graph.attributes or [{}] * len(colors), colors, strict=True
        )
        if name
    }
    if not known:
        return []
    columns = list(next(iter(known.values()))[1])
    rows = [
        (str(color + 1), name, *(values[own] for own in columns))
        for color, (name, values) in sorted(known.items())
    ]
    return [("color of round 0", "name", *columns), *rows]


def colorings_text(comparison: Comparison) -> list[str]:
    """Explain the random colorings."""
    sentences = [
        "A coloring gives distinct colors to nodes with identical attributes. Each step has a "
        "random coloring of each graph. CLIP computes a representation for each coloring, and "
        "the maximum over colorings in each channel.",
        "With few colorings the difference also depends on which ones were drawn, even for "
        "isomorphic graphs; only the maxima over all colorings do not.",
    ]
    if comparison.first.num_colorings == comparison.second.num_colorings == 1:
        sentences.append("Both graphs have one coloring only.")
    return sentences


def level_text(comparison: Comparison) -> str:
    """Describe the curve, and the level over all colorings or why it is not known."""
    if comparison.complete is not None:
        return (
            "The dashed line is the difference between the maxima over all colorings (∞-CLIP): "
            f"{value(comparison, comparison.complete)}."
        )
    largest = max(comparison.first.num_colorings, comparison.second.num_colorings)
    return (
        f"The difference over all colorings (∞-CLIP) was not computed: a graph has "
        f"{power(largest)} colorings, and at most {comparison.most_enumerated:,} are enumerated."
    )


def canonical_text(comparison: Comparison) -> list[str]:
    """Describe what the canonical colorings say."""
    own = comparison.canonical
    if own is None:
        sentences = [f"Not computed. {comparison.canonical_problem}"]
        if comparison.isomorphic is False:
            sentences.append("The graphs are not isomorphic, as the results above show.")
        return sentences
    explained = (
        "A canonical coloring depends on the graph only, not on the order of its nodes. Isomorphic "
        "graphs are equal after their nodes are ordered by it, and other graphs are not."
    )
    difference = value(comparison, own.difference)
    if own.isomorphic:
        return [
            explained,
            f"The graphs are equal: they are isomorphic{_without(comparison)}, nodes with the same "
            "number correspond to each other, and the difference between the representations is "
            f"{difference}.",
        ]
    return [
        explained,
        "The graphs are different: they are not isomorphic. The difference between the "
        f"representations is {difference}.",
    ]


def computation(comparison: Comparison) -> list[str]:
    """List what the numbers depend on."""
    drawn, shown = comparison.curve[-1][0], len(comparison.steps)
    colorings = "one coloring" if drawn == 1 else f"{drawn:,} distinct random colorings"
    which = "One is" if shown == 1 else f"The first {shown} are"
    which = "All are" if 1 < shown == drawn else which
    return [
        f"Networks: CLIP with random weights (seed {comparison.seed}), "
        f"{comparison.layers} layers of {comparison.channels} channels, without normalization, in "
        "double precision. They are not trained.",
        "Representations are compared before the last map. A difference of less than 1e-9 of their "
        "largest value is due to rounding and shown as 0.",
        f"Colorings: {colorings} of each graph, or all of a graph that has fewer. {which} shown.",
        "All colorings (∞-CLIP) are used if both graphs have at most "
        f"{comparison.most_enumerated:,}.",
        "Nodes are numbered from 1, in the order in which the graphs or their files give them. "
        "Names of nodes in files are not used.",
    ]
