"""The page: valid, complete, without scripts and addresses, and with escaped names."""

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.report.color_vision import SIMULATIONS, smallest_difference
from tests.report.examples import PARTLY, WHOLE
from tests.report.kept import run_with_predictions
from tests.report.test_escaping import NASTY, TABLE
from tests.report.test_figures import some_curves

from clipgnn.errors import one_line
from clipgnn.experiments.store import Store
from clipgnn.report import Report, make_report
from clipgnn.report.drawings import drawings
from clipgnn.report.figures import PALETTE
from clipgnn.report.page import render_html
from clipgnn.report.predicted import summarize
from clipgnn.report.series import CurveLine, CurvePanel, ScorePanel, TimePanel, TimePoint
from clipgnn.report.table import Table

VOID = {"meta"}


class Page(HTMLParser):
    """Elements, identifiers and texts of a page; every element must be closed."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(content)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [own for name, own in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def whole(name: str = "csl", row: str = "16-CLIP", table: Table = WHOLE) -> Report:
    """A report with every kind of figure."""
    line = CurveLine(row, [some_curves(fold) for fold in range(3)], epoch=10)
    generator = np.random.default_rng(0)
    probabilities = generator.dirichlet(np.ones(2), 40)
    return Report(
        table,
        (CurvePanel(name, "accuracy", (line, line)),),
        (ScorePanel(name, {0: [50.0, 51.0], 4: [60.0, 70.0]}, {4: 66.0}),),
        (TimePanel(name, "accuracy", (TimePoint(row, 3.0, (50.0, 52.0), ("cpu",), 0),)),),
        (summarize(row, name, "after epoch 9", [(generator.integers(2, size=40), probabilities)]),),
    )


@cache
def plain_page() -> str:
    """The page of a report whose names are harmless."""
    return render_html(whole())


def test_every_figure_has_a_description_and_numbers():
    page = Page(plain_page())
    figures = page.all("figure")
    assert [own["id"] for own in figures] == [
        "curves-csl",
        "colorings-csl",
        "time-csl",
        "confusion-16-clip-csl",
        "calibration-16-clip-csl",
    ]
    images = page.all("svg")
    assert len(images) == len(figures)
    for image in images:
        assert image["role"] == "img"
        assert len(str(image["aria-label"])) > 40
        assert "width" not in image, "as wide as its parent"
    assert "Confusion matrix of 16-CLIP on csl, after epoch 9: " in page.text
    assert "expected calibration error 0." in page.text
    assert len(page.all("details")) >= len(figures)


def test_identifiers_are_unique_and_exist():
    text = plain_page()
    page = Page(text)
    names = Counter(own["id"] for _, own in page.elements if "id" in own)
    assert [name for name, count in names.items() if count > 1] == []
    used = re.findall(r"url\(#([^)]*)\)|href=\"#([^\"]*)\"", text)
    assert {first or second for first, second in used} <= names.keys()


def test_nothing_is_loaded_or_executed():
    text = plain_page()
    page = Page(text)
    kinds = {name for name, _ in page.elements}
    assert not kinds & {"script", "link", "img", "image", "iframe", "object", "embed", "base"}
    [policy] = [own["content"] for own in page.all("meta") if "http-equiv" in own]
    assert str(policy).startswith("default-src 'none';")
    for _, own in page.elements:
        assert not any(name.startswith("on") for name in own)
        for name in ("src", "href", "xlink:href"):
            assert str(own.get(name) or "#").startswith("#")
    assert re.findall(r"(?:https?:)?//[^\s\"<]*", re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)) == []


def test_colors_depend_on_the_mode():
    text = plain_page()
    styles = " ".join(re.findall(r'style="([^"]*)"', text)).lower()
    assert not any(color.lower() in styles for color in PALETTE)
    assert "#000000" not in styles
    assert "#ffffff" not in styles


def test_a_page_without_figures():
    page = Page(render_html(Report(PARTLY)))
    assert page.all("svg") == []
    assert "INCOMPLETE: some folds are missing." in page.text
    assert "keep_predictions = true" in page.text


@pytest.mark.parametrize("number", range(4))
def test_names_stay_text(number):
    """Several nasty names are one here, because it takes long to draw the figures of a page."""
    names = NASTY[number::4]
    joined = " ".join(names)
    page = Page(render_html(whole(joined, joined, TABLE)))
    assert {own for own, _ in page.elements} == {own for own, _ in Page(plain_page()).elements}
    text = " ".join(page.text.split())
    labels = [str(own["aria-label"]) for own in page.all("svg")]
    for name in names:
        wanted = one_line(name)
        assert " ".join(wanted.split()) in text
        assert all(wanted in label for label in labels)


def test_names_of_files_are_unique_and_harmless():
    first, second = whole("../a b"), whole("..\\a/b")
    both = Report(first.table, (*first.curves, *second.curves))
    assert [own.name for own in drawings(both)] == ["curves-a-b", "curves-a-b-2"]


def test_the_numbers_of_a_real_report(tmp_path):
    path = tmp_path / "a.sqlite"
    spec = run_with_predictions(path)
    with Store(path) as store:
        made = make_report(spec, store, "gin")
    text = render_html(made)
    assert render_html(made) == text, "the same in every run"
    shown = Page(text).text
    for row in made.table.rows:
        for entry in row.entries:
            assert entry.measurement is not None
            assert f"{100 * entry.measurement.mean:.1f}" in shown
            if entry.paired is not None:
                assert f"{entry.paired.p_value:.3g}" in shown
    assert 'Protocol "gin"' in shown
    assert "clipgnn experiment run small" in shown


@pytest.mark.parametrize("simulation", SIMULATIONS)
def test_lines_can_be_distinguished_with_color_blindness(simulation: str) -> None:
    """On light, dark and printed pages."""
    style = re.search(r"<style>(.*?)</style>", plain_page(), re.S)
    assert style is not None
    colors = re.findall(r"--color-\d: (#[0-9a-f]{6})", style[1])
    assert len(colors) == 3 * len(PALETTE)
    for start in range(0, len(colors), len(PALETTE)):
        assert smallest_difference(colors[start : start + len(PALETTE)], simulation) > 9
