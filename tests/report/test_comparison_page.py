"""The page of a comparison: one script, well-formed, escaped, useful without the script."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.report.color_vision import SIMULATIONS, smallest_difference

from clipgnn.comparison.results import CanonicalColorings, Comparison, GraphView, Round, Step
from clipgnn.report.comparison_page import render_comparison
from clipgnn.report.comparison_texts import (
    attribute_rows,
    difference_text,
    lead,
    power,
    result_rows,
)
from clipgnn.report.difference_svg import DifferenceCurve, ticks
from clipgnn.report.graph_svg import PALETTE, drawings, fills
from clipgnn.report.node_labels import Labels

PATH = [(0, 1), (1, 2)]
EVIL = "</script><script>alert(1)</script>"


def some(**changes: object) -> Comparison:
    base = Comparison(
        first=GraphView(EVIL, ["", "", ""], PATH, 6),
        second=GraphView("b & c", ["", "", ""], [*PATH, (0, 0)], 6),
        rounds=[Round([0, 0, 0], [0, 0, 0]), Round([0, 1, 0], [1, 1, 0])],
        without_colors=0.0,
        steps=[Step([0, 1, 2], [2, 1, 0], 0.5, 0.5), Step([1, 0, 2], [0, 1, 2], 0.25, 0.4)],
        curve=[(1, 0.5), (2, 0.4), (6, 0.3)],
        complete=0.3,
        canonical=CanonicalColorings([0, 1, 2], [0, 1, 2], False, 0.2),
        canonical_problem=None,
        scale=1.0,
        seed=0,
        channels=16,
        layers=2,
        most_enumerated=50_000,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


class Reader(HTMLParser):
    """Checks that elements are closed in order; collects identifiers and references."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.used: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        self.used += [values["for"]] if tag == "label" else []
        self.used += (values.get("aria-labelledby") or "").split()
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_well_formed() -> None:
    page = Reader(render_comparison(some()))
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.used) <= set(page.ids)


def test_only_the_script_of_the_page_can_run() -> None:
    page = render_comparison(some())
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|url\(|@import|\son\w+=", page)
    assert "alert(1)</script>" not in page
    steps = [json.loads(own) for own in re.findall(r'json">(.*?)</script>', page)]
    assert [len(own["texts"]) for own in steps] == [2, 2]
    assert steps[1]["first"] == [[0, 1, 2], [1, 0, 2]]


def test_the_first_state_needs_no_script() -> None:
    page = render_comparison(some())
    assert page.count('<div class="controls" hidden>') == 2
    assert "Coloring 1 of 2" in page
    assert "for these two colorings differ by 0.5.</output>" in page
    assert "<td>different</td>" in page
    one = render_comparison(some(rounds=[Round([0] * 3, [0] * 3)], steps=some().steps[:1]))
    assert "data-player" not in one.replace("[data-player]", "")
    assert "one coloring only" not in one, "each graph has six"
    assert (
        "6 distinct random colorings of each graph, or all of a graph that has fewer. One is" in one
    )
    view = GraphView("a", [""] * 3, PATH, 1)
    single = render_comparison(
        some(first=view, second=view, steps=some().steps[:1], curve=[(1, 0.5)])
    )
    assert "Both graphs have one coloring only" in single
    assert "Colorings: one coloring of each graph" in single


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "message passing can distinguish them: the colors of color refinement differ from"),
        ({"rounds": [Round([0], [0])]}, "gives equal colors. CLIP distinguishes them."),
        (
            {"rounds": [Round([0], [0])], "canonical": CanonicalColorings([0], [0], True, 1e-12)},
            "isomorphic. Their representations without colors, over all colorings and with "
            "canonical colorings are equal.",
        ),
        (
            {
                "rounds": [Round([0], [0])],
                "canonical": CanonicalColorings([0], [0], True, 0.0),
                "unused": {"edges": ["bond"], "nodes": ["charge", "mass"]},
            },
            "isomorphic without attributes of edges (bond) and of nodes (charge, mass). Their",
        ),
        (
            {
                "rounds": [Round([0], [0])],
                "canonical": CanonicalColorings([0], [0], True, 0.0),
                "complete": None,
            },
            "isomorphic. Their representations without colors and with canonical colorings are",
        ),
        (
            {
                "rounds": [Round([0], [0])],
                "canonical": None,
                "canonical_problem": "No igraph.",
                "complete": None,
            },
            "Whether they are isomorphic was not computed.",
        ),
        (
            {
                "rounds": [Round([0], [0])],
                "canonical": None,
                "canonical_problem": "No igraph.",
                "complete": 1e-12,
            },
            "does not prove that the graphs are isomorphic: the network has random weights. "
            "Whether they are isomorphic was not computed. No igraph.",
        ),
        (
            {"rounds": [Round([0], [0])], "canonical": None, "canonical_problem": "No igraph."},
            "The graphs are not isomorphic.",
        ),
        (
            {
                "rounds": [Round([0], [0])],
                "canonical": CanonicalColorings([0], [0], False, 0.0),
                "complete": None,
            },
            "These random weights do not show a difference",
        ),
    ],
)
def test_the_result_in_a_sentence(changes: dict[str, object], sentence: str) -> None:
    assert sentence in lead(some(**changes))


def test_what_a_difference_means() -> None:
    isomorphic = CanonicalColorings([0], [0], True, 0.0)
    same = some(rounds=[Round([0], [0])], canonical=isomorphic, complete=None)
    assert difference_text(same).endswith("0 for isomorphic graphs, except for random colorings.")
    assert difference_text(some()).endswith("more layers may still distinguish the graphs.")


def test_what_was_not_computed_is_explained() -> None:
    found = some(complete=None, canonical=None, canonical_problem="No igraph.", notes=["A note."])
    page = render_comparison(replace(found, most_enumerated=5))
    assert "a graph has 6 colorings, and at most 5 are enumerated" in page
    assert "Not computed. No igraph. The graphs are not isomorphic, as" in page
    assert '<p class="note">A note.</p>' in page.split("<nav")[0]
    assert "not computed, too many colorings" in page


def test_a_round_has_a_palette_of_its_own() -> None:
    """Few colors can be distinguished, also if a later round has many."""
    many = Round(list(range(12)), [0] * 12)
    views = [GraphView(name, [""] * 12, [], 1) for name in "ab"]
    page = render_comparison(
        some(
            first=views[0],
            second=views[1],
            rounds=[Round([0, 1, 2] * 4, [2, 0, 1] * 4), many],
            steps=[Step(range(12), range(12), 0.0, 0.0)],
            canonical=None,
        )
    )
    before, _ = page.split("<script type=", 1)
    assert set(re.findall(r'<circle[^>]* fill="([^"]+)"', before)) == set(PALETTE[:3])
    [data] = [json.loads(own) for own in re.findall(r'json">(.*?)</script>', page)]
    assert data["numbers"] == [3, 12]
    assert [fill for fill, _ in data["fills"]["3"]] == list(PALETTE[:3])
    assert len({fill for fill, _ in data["fills"]["12"]}) == 12


def test_the_attributes_of_round_0_are_named() -> None:
    carbon, nitrogen = {"element": "C", "charge": "0"}, {"element": "N", "charge": "1"}
    first = GraphView("a", ["C", "N", "C"], PATH, 2, [carbon, nitrogen, carbon])
    second = GraphView("b", ["C", "C", "C"], PATH, 2, [carbon] * 3)
    found = some(first=first, second=second, rounds=[Round([0, 1, 0], [0, 0, 0])])
    assert attribute_rows(found) == [
        ("color of round 0", "name", "element", "charge"),
        ("1", "C", "C", "0"),
        ("2", "N", "N", "1"),
    ]
    assert "The colors of round 0 are the attributes of the nodes:" in render_comparison(found)
    assert attribute_rows(some()) == []
    names = [f"A{number + 1}" for number in range(40)]
    many = GraphView("a", names, [], 1), GraphView("b", names, [], 1)
    start = Round(range(40), range(40))
    found = some(
        first=many[0], second=many[1], rounds=[start], steps=[Step(range(40), range(40), 0, 0)]
    )
    page = render_comparison(replace(found, canonical=None))
    assert "<summary>Attributes of each color</summary>" in page


@pytest.mark.parametrize(
    ("names", "shown", "key"),
    [
        (["C1", "N"], ["C1", "N"], ""),
        (["carbon", "nitrogen"], ["c", "n"], "In the nodes, c is carbon, n is nitrogen."),
        (["Cl", "carbon"], ["Cl", "c"], "In the nodes, c is carbon."),
        (["C", "Chlorine"], ["C", "Ch"], "In the nodes, Ch is Chlorine."),
        (
            ["carbon1", "carbon2"],
            ["", ""],
            "The nodes are too small for the names of their attributes",
        ),
    ],
)
def test_long_attributes_are_shortened(names: list[str], shown: list[str], key: str) -> None:
    drawn = drawings(*(GraphView(own, names, [(0, 1)], 1) for own in "ab"))
    labels = Labels.of(drawn, 1, names=True)
    assert labels.first == labels.second == shown
    assert labels.key.startswith(key)
    assert bool(labels.key) == bool(key)
    assert Labels.of(drawn, 1, names=False).first == ["", ""]


@pytest.mark.parametrize(
    ("differing", "text"),
    [
        (1, "equal representations with these random weights; try another seed"),
        (3, "equal representations: 2 layers see 2 rounds only"),
    ],
)
def test_why_0_clip_is_equal_where_color_refinement_is_not(differing: int, text: str) -> None:
    rounds = [Round([0], [0])] * differing + [Round([0], [1])]
    assert result_rows(some(rounds=rounds))[1] == ("0-CLIP, without colors", text, "0")
    assert result_rows(some(rounds=rounds[:1]))[1][1] == "equal representations"
    assert result_rows(some(rounds=rounds, without_colors=0.5))[1][1] == "different"


def test_large_numbers_are_rounded() -> None:
    assert power(math.factorial(200)) == "7.9e374"
    assert power(10**12 - 1) == "999,999,999,999"
    assert power(99 * 10**12) == "9.9e13"
    assert power(9_960_000_000_000) == "1.0e13"


def test_rounding_errors_are_not_drawn() -> None:
    page = render_comparison(
        some(
            curve=[(1, 1e-16), (2, 4e-16)],
            complete=2e-16,
            steps=[Step([0] * 3, [0] * 3, 1e-16, 1e-16), Step([0] * 3, [0] * 3, 4e-16, 4e-16)],
        )
    )
    assert "from 0 for k = 1 to 0 for k = 2" in page
    assert "e-16" not in page


def test_text_can_be_read_on_every_fill() -> None:
    def light(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for number in (1, 7, 8, 200):
        found = fills(number)
        assert len({fill for fill, _ in found}) == number
        for fill, ink in found:
            one, other = sorted([light(fill), light(ink)])
            assert (other + 0.05) / (one + 0.05) >= 4.5


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_fills_can_be_distinguished_with_color_blindness(simulation: str) -> None:
    """A difference of 2 is just noticeable. All colors of the palette are those of seven colors."""
    assert smallest_difference([fill for fill, _ in fills(7)], simulation) > 15
    assert smallest_difference(["#e69f00", "#b8a800"], "protanopia") < 1


def test_drawings_have_one_size_and_nodes_do_not_overlap() -> None:
    ring = [(node, (node + 1) % 30) for node in range(30)]
    dense = [(one, other) for one in range(30) for other in range(one)]
    views = [GraphView(str(own), [""] * 30, own, 1) for own in (ring, dense)]
    one, other = drawings(*views)
    assert one.size == other.size
    for own in (one, other):
        for node in range(29):
            gap = ((own.places[node] - own.places[node + 1]) ** 2).sum() ** 0.5
            assert gap > 2 * own.radius
        assert own.places.min() >= own.radius
        assert (own.places.max(axis=0) + own.radius <= own.size).all()


def test_drawings_of_small_graphs() -> None:
    no_edges: list[tuple[int, int]] = []
    for edges in (no_edges, [(0, 0)]):
        [own] = drawings(GraphView("a", [""], edges, 1))
        svg = own.svg("x", [0], palette=1, most=1)
        assert svg.count("<circle") == 1, "a loop is no second node"
        assert ('class="edges"' in svg) is bool(edges)


def test_the_curve() -> None:
    curve = DifferenceCurve([(1, 0.0)], 0.0)
    assert "∞-CLIP" in curve.svg()
    assert ticks(0.0) == [0.0]
    assert ticks(4.4e-16) == [0.0, 1e-16, 2e-16, 3e-16, 4e-16]
    assert ticks(3e-13)[-1] == 3e-13
    assert ticks(1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert "∞-CLIP" not in DifferenceCurve([(1, 0.1), (9, 0.2)], None).svg()
