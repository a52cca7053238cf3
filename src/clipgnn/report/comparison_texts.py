"""Sentences and numbers of the page of a comparison."""

from clipgnn.comparison.results import Comparison

_MOST_ATTRIBUTES = 24
"""Number of attributes of nodes that are listed."""


def value(comparison: Comparison, difference: float) -> str:
    """Return a difference with three digits, and 0 for one that is due to rounding."""
    return "0" if comparison.is_zero(difference) else f"{difference:.3g}"


def power(number: int) -> str:
    """Return a number that can be large.

    Example:
        >>> power(40320), power(10**30)
        ('40,320', '1.0e30')
    """
    if number < 10**12:
        return f"{number:,}"
    digits = str(number)
    return f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


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
            "The graphs are isomorphic. Their complete representations are equal: without "
            f"colors{over_all} and with canonical colorings, the difference is 0."
        )
    shown = (
        "CLIP distinguishes them."
        if _distinguished(comparison)
        else "These random weights do not show a difference; try another seed."
    )
    return f"The graphs are not isomorphic. {same} {shown}"


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
    rows = [
        ("color refinement (1-WL)", refined, "–"),
        row("0-CLIP, without colors", comparison.without_colors),
    ]
    if comparison.complete is None:
        rows.append((f"{k}-CLIP, random colorings", "depends on the draw", value(comparison, last)))
        rows.append(("∞-CLIP, all colorings", "not computed, too many colorings", "–"))
    else:
        rows.append(row("∞-CLIP, all colorings", comparison.complete))
    if comparison.canonical is None:
        rows.append(("canonical colorings", "not computed", "–"))
    else:
        rows.append(row("CLIP with canonical colorings", comparison.canonical.difference))
    return rows


def message_passing_text(comparison: Comparison) -> list[str]:
    """Explain the rounds of color refinement."""
    explained = (
        "Color refinement (1-WL) gives a node a new color by its color and the colors of its "
        "neighbors, in rounds, until the colors are stable. A message-passing network without "
        "colors distinguishes two graphs only if a round gives them different numbers of nodes of "
        "some color."
    )
    number = comparison.first_difference
    result = (
        "Here the numbers are equal in all rounds."
        if number is None
        else f"Here they are different from round {number} on."
    )
    return [explained, result, *_attributes_text(comparison)]


def _attributes_text(comparison: Comparison) -> list[str]:
    """Say which attributes the colors of round 0 are; nothing without attributes."""
    start = comparison.rounds[0]
    names = {
        color: name
        for graph, colors in ((comparison.first, start.first), (comparison.second, start.second))
        for name, color in zip(graph.names, colors, strict=True)
        if name
    }
    if not names:
        return []
    listed = [f"{color + 1} is {names[color]}" for color in sorted(names)]
    more = len(listed) - _MOST_ATTRIBUTES
    if more > 0:
        listed[_MOST_ATTRIBUTES:] = [f"{more} more"]
    one_or_more = f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
    return [f"The colors of round 0 are the attributes of the nodes: {one_or_more}."]


def colorings_text(comparison: Comparison) -> list[str]:
    """Explain the random colorings."""
    sentences = [
        "A coloring gives distinct colors to nodes with identical attributes. Each step has a "
        "random coloring of each graph. CLIP computes a representation for each coloring, and "
        "the maximum over colorings in each channel.",
        "With few colorings the difference also depends on which ones were drawn, even for "
        "isomorphic graphs; only the maxima over all colorings do not.",
    ]
    if len(comparison.steps) == 1:
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
            "The graphs are equal: they are isomorphic, nodes with the same number correspond to "
            f"each other, and the difference between the representations is {difference}.",
        ]
    return [
        explained,
        "The graphs are different: they are not isomorphic. The difference between the "
        f"representations is {difference}.",
    ]


def computation(comparison: Comparison) -> list[str]:
    """List what the numbers depend on."""
    return [
        f"Networks: CLIP with random weights (seed {comparison.seed}), "
        f"{comparison.layers} layers of {comparison.channels} channels, without normalization, in "
        "double precision. They are not trained.",
        "Representations are compared before the last map. A difference of less than 1e-9 of their "
        "largest value is due to rounding and shown as 0.",
        f"Colorings: {comparison.curve[-1][0]} distinct random ones of each graph (all of a graph "
        f"that has no more), of which {len(comparison.steps)} are shown.",
        f"All colorings (∞-CLIP) are used if both graphs have at most "
        f"{comparison.most_enumerated:,}.",
        *comparison.notes,
    ]
