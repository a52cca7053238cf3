"""The page of `clipgnn compare` in a real browser: slider and buttons, narrow, dark, no script."""

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from tests.browser.chromium import CONTRAST, DESKTOP, PHONE, Browser

from clipgnn.comparison.compare import compare
from clipgnn.comparison.inputs import GivenGraph, read_graph
from clipgnn.report.comparison_page import render_comparison

pytestmark = [pytest.mark.browser, pytest.mark.needs("igraph")]

PAGES = ("small", "rounds", "large", "regular", "components", "long")

NARROW = (390, 844)

BOTH = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])

STATE = """
(() => {
  const player = document.getElementById("steps").closest("[data-player]");
  const texts = svg => Array.from(svg.querySelectorAll(".nodes text"), own => own.textContent);
  const fills = svg => Array.from(svg.querySelectorAll(".nodes circle"), own =>
    getComputedStyle(own).fill);
  const [first, second] = player.querySelectorAll("svg:not(.chart)");
  return {
    value: document.getElementById("steps").value,
    first: texts(first), second: texts(second), fills: fills(first),
    described: first.querySelector("desc").textContent,
    output: player.querySelector("output").textContent,
    marker: player.querySelector(".marker").getAttribute("cx"),
    disabled: Array.from(player.querySelectorAll("button"), own => own.disabled),
  };
})()
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("comparisons")
    pairs = {"small": ("hexagon", "two-triangles"), "rounds": ("decalin", "bicyclopentyl")}
    given = {name: tuple(map(read_graph, pair)) for name, pair in pairs.items()}
    given["large"] = read_graph("csl-199-2"), read_graph("csl-199-3")
    graphs = [nx.random_regular_graph(3, 60, seed=seed) for seed in (0, 1)]
    given["regular"] = GivenGraph("one", graphs[0]), GivenGraph("other", graphs[1])
    given["components"] = (
        GivenGraph("triangles", nx.disjoint_union_all([nx.cycle_graph(3)] * 40)),
        GivenGraph("path", nx.path_graph(120)),
    )
    hexagon, triangles = (read_graph(name).graph.copy() for name in pairs["small"])
    for graph in (hexagon, triangles):
        kinds = {node: ("carbon", "nitrogen", "oxygen")[node % 3] for node in graph}
        nx.set_node_attributes(graph, kinds, "element")
        graph.add_edge(0, 0)
    folders = "a_long_name_without_spaces" * 8
    given["long"] = (
        GivenGraph("x.gml", hexagon, f"one/{folders}/x.gml"),
        GivenGraph("x.gml", triangles, f"other/{folders}/x.gml"),
    )
    for name, (one, other) in given.items():
        found = compare(one, other)
        (folder / f"{name}.html").write_text(render_comparison(found), encoding="utf-8")
    return folder


@pytest.fixture
def without_scripts(browser: Browser) -> Iterator[Browser]:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    yield browser
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


@BOTH
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_the_script_runs_nothing_is_loaded_and_everything_fits(
    browser: Browser, pages: Path, size: tuple[int, int], dark: bool, name: str
) -> None:
    browser.open(pages / f"{name}.html", size, dark=dark)
    assert browser.problems == []
    assert browser.requests == [(pages / f"{name}.html").as_uri()]
    assert browser.evaluate("document.documentElement.scrollWidth") <= size[0]
    assert browser.evaluate("document.getElementById('steps').checkVisibility()")
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")


def test_keys_move_through_the_colorings(browser: Browser, pages: Path) -> None:
    browser.open(pages / "small.html")
    browser.call("Page.bringToFront")
    before = browser.evaluate(STATE)
    assert before["disabled"] == [True, False]
    assert sorted(before["first"]) == sorted(before["second"]) == list("123456")
    for _ in range(50):
        browser.press("Tab")
        if browser.evaluate("document.activeElement.id") == "steps":
            break
    assert browser.evaluate("document.activeElement.id") == "steps"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert browser.evaluate(outline) == "solid", "focus is visible"
    browser.press("ArrowRight")
    after = browser.evaluate(STATE)
    assert after["value"] == "2"
    assert after["output"].startswith("Coloring 2 of 32:")
    assert "The maxima over colorings 1 to 2 differ by" in after["output"]
    assert after["first"] != before["first"] or after["second"] != before["second"]
    assert after["described"].endswith(", ".join(after["first"]))
    assert float(after["marker"]) > float(before["marker"])
    assert len(set(after["fills"])) == 6
    valuetext = "document.activeElement.getAttribute('aria-valuetext')"
    assert browser.evaluate(valuetext) == "2 of 32"
    browser.press("End")
    assert browser.evaluate(STATE)["value"] == "32"
    assert browser.evaluate(STATE)["disabled"] == [False, True]
    browser.press("Home")
    assert browser.evaluate(STATE) == before


def test_a_button_has_the_same_effect(browser: Browser, pages: Path) -> None:
    browser.open(pages / "small.html", PHONE)
    browser.call("Page.bringToFront")
    browser.evaluate("document.querySelector('[data-player] button:last-of-type').focus()")
    browser.press("Enter")
    assert browser.evaluate(STATE)["value"] == "2"
    box = "Array.from(document.querySelectorAll('button, input'), own => own.offsetHeight)"
    assert min(browser.evaluate(box)) >= 40, "large enough for fingers"


def test_rounds_of_color_refinement(browser: Browser, pages: Path) -> None:
    browser.open(pages / "rounds.html")
    browser.call("Page.bringToFront")
    browser.evaluate("document.getElementById('rounds').focus()")
    browser.press("End")
    output = "document.querySelector('#message-passing output').textContent"
    assert browser.evaluate(output).startswith("Round 2 of 2: 3 colors.")
    texts = "Array.from(document.querySelectorAll('#message-passing text'), own => own.textContent)"
    assert set(browser.evaluate(texts)) == {"1", "2", "3"}


def test_the_page_without_scripts(without_scripts: Browser, pages: Path) -> None:
    browser = without_scripts
    browser.open(pages / "small.html", PHONE)
    assert not browser.evaluate("document.querySelector('.controls').checkVisibility()")
    state = browser.evaluate(STATE)
    assert sorted(state["first"]) == list("123456")
    assert state["output"].startswith("Coloring 1 of 32:")
    assert browser.evaluate("document.querySelectorAll('svg').length") == 7
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_numbers_can_be_read_on_a_phone(browser: Browser, pages: Path) -> None:
    for name in PAGES:
        browser.open(pages / f"{name}.html", PHONE)
        sizes = browser.evaluate(SIZES)
        assert min(sizes) >= 7.5, name


SIZES = """
Array.from(document.querySelectorAll("svg text")).filter(own => own.checkVisibility()).map(own =>
  parseFloat(getComputedStyle(own).fontSize) * own.getScreenCTM().a)
"""

BOXES = """
Array.from(document.querySelectorAll(".drawing"), drawing => {
  const box = drawing.getBoundingClientRect();
  const nodes = Array.from(drawing.querySelectorAll("circle"), own => own.getBoundingClientRect());
  return {
    scrolls: drawing.scrollWidth > drawing.clientWidth
      || drawing.scrollHeight > drawing.clientHeight,
    outside: nodes.filter(own => own.left < box.left || own.right > box.right
      || own.top < box.top || own.bottom > box.bottom).length,
    height: drawing.querySelector("svg").getBoundingClientRect().height,
    labels: drawing.querySelector("text").checkVisibility(),
    hint: drawing.querySelector(".hint").checkVisibility(),
    listed: drawing.querySelector("details").checkVisibility(),
  };
})
"""


OUTSIDE_CHART = """
(chart => Array.from(chart.querySelectorAll("text"), own => own.getBoundingClientRect())
  .filter(own => own.left < chart.getBoundingClientRect().left
    || own.right > chart.getBoundingClientRect().right).length)(document.querySelector(".chart"))
"""


@BOTH
@pytest.mark.parametrize("name", PAGES)
def test_drawings_are_not_cut_off(
    browser: Browser, pages: Path, size: tuple[int, int], name: str
) -> None:
    browser.open(pages / f"{name}.html", size)
    boxes = browser.evaluate(BOXES)
    assert len(boxes) == 6
    for box in boxes:
        assert not box["scrolls"]
        assert box["outside"] == 0
        assert box["height"] <= 561
        assert box["hint"] is not box["labels"]
        assert box["listed"] is box["hint"]
    assert browser.evaluate(OUTSIDE_CHART) == 0
    if name in ("small", "rounds", "long") or (name == "regular" and size == DESKTOP):
        assert all(box["labels"] for box in boxes)
    if name == "large":
        assert not any(box["labels"] for box in boxes)


def test_a_node_without_a_number_can_be_tapped(browser: Browser, pages: Path) -> None:
    browser.open(pages / "large.html", PHONE)
    player = "document.getElementById('steps').closest('[data-player]')"
    hint = f"{player}.querySelector('.hint p').textContent"
    assert "too small" in browser.evaluate(hint)
    node = f"{player}.querySelectorAll('.nodes > g')[17]"
    browser.evaluate(
        f"(box => {player}.querySelector('svg').dispatchEvent(new MouseEvent('click', "
        "{clientX: box.x + box.width / 2 + 1, clientY: box.y + box.height / 2})))"
        f"({node}.firstChild.getBoundingClientRect())"
    )
    label = f"{node}.querySelector('text').textContent"
    title = f"{node}.querySelector('title').textContent"
    before = browser.evaluate(label)
    assert browser.evaluate(hint) == f"Node 18: color {before}."
    browser.evaluate(f"{player}.querySelector('button:last-of-type').click()")
    assert browser.evaluate(label) != before
    assert browser.evaluate(title) == f"Node 18: color {browser.evaluate(label)}"
    assert browser.evaluate(hint) == f"{browser.evaluate(title)}."


def test_colors_of_small_nodes_can_be_read_as_text(browser: Browser, pages: Path) -> None:
    browser.open(pages / "large.html", PHONE)
    drawing = "document.getElementById('steps-b').parentElement"
    browser.evaluate(f"{drawing}.querySelector('summary').focus()")
    browser.call("Page.bringToFront")
    browser.press("Enter")
    assert browser.evaluate(f"{drawing}.querySelector('li').checkVisibility()")
    texts = f"Array.from({drawing}.querySelectorAll('li'), own => own.textContent)"
    titles = f"Array.from({drawing}.querySelectorAll('g title'), own => own.textContent)"
    before = browser.evaluate(texts)
    browser.evaluate("document.querySelector('#colorings button:last-of-type').click()")
    after = browser.evaluate(texts)
    assert len(before) == len(after) == 199
    assert before != after
    assert after == browser.evaluate(titles)


def test_shortened_attributes_stay_in_the_nodes(browser: Browser, pages: Path) -> None:
    browser.open(pages / "long.html")
    before = browser.evaluate(STATE)
    browser.evaluate("document.querySelector('#colorings button:last-of-type').click()")
    after = browser.evaluate(STATE)
    assert [own.split(",")[0] for own in before["first"]] == list("cnocno")
    assert [own.split(",")[0] for own in after["first"]] == list("cnocno")
    assert "c is carbon" in browser.evaluate("document.getElementById('colorings').textContent")


def test_the_tables_on_a_phone(browser: Browser, pages: Path) -> None:
    """Whether a round distinguishes the graphs can be read without scrolling sideways."""
    for name in ("rounds", "long"):
        browser.open(pages / f"{name}.html", NARROW)
        cells = (
            "Array.from(document.querySelector('#message-passing table')"
            ".querySelectorAll('tbody td:nth-child(2)'), "
            "own => [own.textContent, own.getBoundingClientRect().right])"
        )
        found = browser.evaluate(cells)
        assert {text for text, _ in found} <= {"equal", "different"}
        assert max(right for _, right in found) <= NARROW[0], name


@pytest.mark.parametrize("name", ["small", "rounds"])
def test_two_drawings_and_what_is_said_fit_on_a_phone(
    browser: Browser, pages: Path, name: str
) -> None:
    browser.open(pages / f"{name}.html", NARROW)
    one, other = browser.evaluate(
        "Array.from(document.querySelectorAll('#colorings figure'), own => own.offsetTop)"
        ".slice(0, 2)"
    )
    assert one == other
    browser.evaluate("document.querySelector('#colorings figure').scrollIntoView()")
    top = browser.evaluate(
        "document.querySelector('#colorings output').getBoundingClientRect().top"
    )
    assert 0 <= top < NARROW[1] / 3, "stays in view"


@pytest.mark.parametrize("name", PAGES)
def test_enlarged_text(browser: Browser, pages: Path, name: str) -> None:
    """With text of twice the size, nothing is cut off, and what stays in view leaves room."""
    browser.call("Page.setFontSizes", fontSizes={"standard": 32})
    try:
        browser.open(pages / f"{name}.html", NARROW)
        assert browser.evaluate("getComputedStyle(document.body).fontSize") == "32px"
        assert browser.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
        position = "getComputedStyle(document.querySelector('#colorings .bar')).position"
        assert browser.evaluate(position) == "static"
    finally:
        browser.call("Page.setFontSizes", fontSizes={"standard": 16})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_contrast(browser: Browser, pages: Path, dark: bool) -> None:
    browser.open(pages / "small.html", DESKTOP, dark=dark)
    outside = CONTRAST.replace("svg text", ".chart text, output, label, h1, h2")
    for ratio, text in browser.evaluate(outside):
        assert ratio >= 4.5, text


def test_the_printed_page(browser: Browser, pages: Path) -> None:
    browser.open(pages / "small.html", DESKTOP, dark=True)
    browser.media(dark=True, kind="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    assert not browser.evaluate("document.querySelector('.controls').checkVisibility()")
    browser.open(pages / "large.html")
    browser.media(kind="print")
    assert browser.evaluate("document.querySelector('.hint').checkVisibility()")
    assert not browser.evaluate("document.querySelector('.pointing').checkVisibility()")
    browser.media()
    assert browser.pdf().startswith(b"%PDF")
