"""The page of a report in a real browser: visible on every screen, usable by keyboard, silent."""

from pathlib import Path

import pytest
from tests.browser.chromium import CONTRAST, DESKTOP, PHONE, Browser
from tests.report.kept import keep, keeping

from clipgnn.experiments.executors.in_process import InProcessExecutor
from clipgnn.experiments.run import run_experiment
from clipgnn.experiments.store import Store
from clipgnn.report import FORMATS, make_report

pytestmark = pytest.mark.browser

BOTH = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])

FIGURES = """
Array.from(document.querySelectorAll("figure"), figure => {
  const box = figure.querySelector("svg").getBoundingClientRect();
  const drawn = Array.from(figure.querySelectorAll("svg path, svg use"), own =>
    own.getBoundingClientRect()).filter(own => own.width + own.height > 0);
  const texts = Array.from(figure.querySelectorAll("svg text"), own =>
    own.getBoundingClientRect());
  return {
    id: figure.id, left: box.left, right: box.right, width: box.width, height: box.height,
    drawn: drawn.length,
    outside: texts.filter(own => own.left < box.left - 1 || own.right > box.right + 1).length,
    letters: Math.min(...texts.map(own => Math.min(own.height, own.width || own.height))),
    visible: figure.checkVisibility({opacityProperty: true, visibilityProperty: true}),
  };
})
"""

FOCUS = """
(() => {
  const own = document.activeElement;
  const box = own.getBoundingClientRect();
  const seen = box.bottom > 0 && box.top < innerHeight;
  return [own.tagName, (own.closest("figure") || {}).id || own.getAttribute("href"), seen];
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every kind of figure."""
    folder = tmp_path_factory.mktemp("report")
    grid = {"epochs": 40, "num_layers": [1, 2]}
    names = ["connectivity", "bipartiteness", "csl"]
    spec = keeping(datasets=names, grid=grid, title="A <small> table & more")
    with Store(folder / "small.sqlite", create=True) as store:
        run_experiment(spec, store, InProcessExecutor(keep))
        made = make_report(spec, store, "gin")
    path = folder / "report.html"
    path.write_text(FORMATS["html"].render(made))
    return path


KINDS = ("curves", "colorings", "time", "confusion-0-clip", "confusion-16-clip")
IDS = [f"{kind}-{name}" for kind in KINDS for name in ("connectivity", "bipartiteness", "csl")]


@BOTH
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_console_is_empty_and_nothing_is_loaded(
    browser: Browser, page: Path, size: tuple[int, int], dark: bool
) -> None:
    browser.open(page, size, dark=dark)
    assert browser.evaluate("document.title") == "A <small> table & more"
    assert browser.problems == []
    assert browser.requests == [page.as_uri()]


def test_problems_are_found(browser: Browser, tmp_path: Path) -> None:
    """What the other tests rely on: errors, requests and blocked scripts are recorded."""
    path = tmp_path / "bad.html"
    path.write_text("<script>console.error('no')</script><img src='http://example.org/a.png'>")
    browser.open(path)
    assert any(own.startswith("console: error") for own in browser.problems)
    assert "http://example.org/a.png" in browser.requests
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    path.write_text(policy + "<script>document.title = 'changed'</script>")
    browser.open(path)
    assert browser.evaluate("document.title") != "changed"
    assert any("Content Security Policy" in own for own in browser.problems)


@BOTH
def test_every_figure_is_visible(browser: Browser, page: Path, size: tuple[int, int]) -> None:
    browser.open(page, size)
    figures = browser.evaluate(FIGURES)
    assert set(IDS) <= {own["id"] for own in figures}
    for own in figures:
        assert own["visible"], own
        assert own["width"] >= 250, own
        assert own["height"] >= 150, own
        assert own["left"] >= 0, own
        assert own["right"] <= size[0], own
        assert own["drawn"] >= 5, own
        assert own["outside"] == 0, own
    # Nothing makes the page wider than the screen; wide tables scroll inside.
    assert browser.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_text_can_be_read_on_a_phone(browser: Browser, page: Path) -> None:
    browser.open(page, PHONE)
    sizes = browser.evaluate(
        "Array.from(document.querySelectorAll('svg text'), own =>"
        " parseFloat(getComputedStyle(own).fontSize) * own.getScreenCTM().a)"
    )
    assert min(own for own in sizes if own > 0) >= 8
    sizes = browser.evaluate(
        "Array.from(document.querySelectorAll('p, li, td, th, figcaption, summary'), own =>"
        " parseFloat(getComputedStyle(own).fontSize))"
    )
    assert min(sizes) >= 12


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_contrast(browser: Browser, page: Path, dark: bool) -> None:
    browser.open(page, DESKTOP, dark=dark)
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(21, 24, 28)" if dark else "rgb(255, 255, 255)")
    for ratio, text in browser.evaluate(CONTRAST):
        assert ratio >= 4.5, text


@BOTH
def test_everything_can_be_reached_by_keyboard(
    browser: Browser, page: Path, size: tuple[int, int]
) -> None:
    browser.open(page, size)
    browser.call("Page.bringToFront")
    found = []
    for _ in range(200):
        browser.press("Tab")
        kind, where, seen = browser.evaluate(FOCUS)
        if kind == "BODY":
            break
        assert seen, (kind, where)
        found.append((kind, where))
    links = [where for kind, where in found if kind == "A"]
    assert links[0] == "#results"
    assert links[-1] == "#provenance"
    # The numbers of every figure are in an element that a key opens.
    assert set(IDS) <= {where for kind, where in found if kind == "SUMMARY"}
    assert ("DIV", None) in found, "tables that scroll"


def test_a_key_opens_the_numbers_of_a_figure(browser: Browser, page: Path) -> None:
    browser.open(page, PHONE)
    browser.call("Page.bringToFront")
    browser.evaluate("document.querySelector('figure summary').focus()")
    shown = "document.querySelector('figure details table').checkVisibility()"
    assert not browser.evaluate(shown)
    browser.press("Enter")
    assert browser.evaluate(shown)
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_the_printed_page(browser: Browser, page: Path) -> None:
    browser.open(page, DESKTOP, dark=True)
    browser.media(dark=True, kind="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    tables = "Array.from(document.querySelectorAll('details table'), own => own.offsetHeight)"
    assert min(browser.evaluate(tables)) > 0, "what is closed on the screen is printed"
    assert not browser.evaluate("document.querySelector('nav').checkVisibility()")
    browser.media()
    assert browser.pdf().startswith(b"%PDF")
