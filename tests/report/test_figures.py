"""Figures: what is drawn are the given numbers, texts are inside, files are the same every time."""

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from numpy.typing import NDArray

from clipgnn.curves import Curves
from clipgnn.errors import InvalidColoringError, InvalidParameterError, OutputError
from clipgnn.report.coloring_figure import SHAPES, draw_colorings
from clipgnn.report.curve_figure import draw_learning_curves
from clipgnn.report.figures import PALETTE, add_note, save_figure
from clipgnn.report.score_figure import draw_scores
from clipgnn.report.series import CurveLine, ScorePanel
from clipgnn.report.significance import confidence_interval

ATTRIBUTES = {0: "a", 1: "a", 2: "b", 3: "b", 4: "b"}
COLORINGS = {
    "first": {0: 0, 1: 1, 2: 0, 3: 1, 4: 2},
    "second": {0: 1, 1: 0, 2: 2, 3: 1, 4: 0},
}
SCORES = {0: [60.0, 62.0, 64.0], 4: [70.0, 72.0, 77.0], 16: [80.0, 80.0, 80.0]}


def colorings(changes: dict[int, int] | None = None) -> Figure:
    changed = COLORINGS["second"] | (changes or {})
    return draw_colorings(nx.path_graph(5), ATTRIBUTES, COLORINGS | {"second": changed})


def scores(number: int = 2) -> Figure:
    own = [ScorePanel(f"data set {place}", SCORES, {0: 61.0, 16: 79.0}) for place in range(number)]
    return draw_scores(own, parameter="k", score="accuracy (%)")


def some_curves(fold: int, epochs: int = 40) -> Curves:
    steps = np.arange(1, epochs + 1)
    return Curves((fold + 1) / steps, 0.5 + 0.01 * fold + 0.4 * steps / 40)


def learning_curves(number: int = 2, folds: tuple[int, ...] = (0, 1, 2, 3)) -> Figure:
    line = CurveLine("a model with parameters", [some_curves(fold) for fold in folds], epoch=10)
    lines = [line, CurveLine("another model", [some_curves(7)])]
    return draw_learning_curves({f"data set {place}": lines for place in range(number)})


def heights(line: Line2D) -> NDArray[np.float64]:
    """The vertical coordinates of a line."""
    return np.asarray(line.get_ydata(), dtype=np.float64)


every_figure = pytest.mark.parametrize("draw", [colorings, scores, learning_curves])


@every_figure
def test_files_are_the_same_every_time(draw: Callable[[], Figure], tmp_path: Path) -> None:
    first, second = (save_figure(draw(), tmp_path / name) for name in ("first", "second"))
    assert [path.name for path in first] == ["first.png", "first.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size > 5000
    assert b"dc:date" not in first[1].read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")


@every_figure
def test_texts_are_inside_and_titles_do_not_overlap(draw: Callable[[], Figure]) -> None:
    figure = draw()
    add_note(figure, "A note about what is shown.\nA second line of it.")
    figure.draw_without_rendering()
    frame = figure.bbox.padded(1)
    texts = [own for own in figure.findobj(Text) if own.get_visible() and own.get_text()]
    boxes = [own.get_window_extent() for own in texts]
    ticks = {
        label
        for axes in figure.axes
        for label in (*axes.get_xticklabels(), *axes.get_yticklabels())
    }
    for text, box in zip(texts, boxes, strict=True):
        # Labels of ticks outside the limits of an axis exist, but are not drawn.
        if text not in ticks:
            assert frame.contains(box.x0, box.y0), text.get_text()
            assert frame.contains(box.x1, box.y1), text.get_text()
    others = [box for text, box in zip(texts, boxes, strict=True) if text not in ticks]
    for number, box in enumerate(others):
        assert box.count_overlaps(others[:number]) == 0


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="Create its folder first"):
        save_figure(Figure(), tmp_path / "nowhere" / "figure")


@pytest.mark.parametrize("number", [1, 3, 5])
def test_every_data_set_has_its_axes(number: int) -> None:
    titles = [f"data set {place}" for place in range(number)]
    assert [axes.get_title() for axes in scores(number).axes] == titles
    drawn = [axes.get_title() for axes in learning_curves(number).axes if axes.get_title()]
    assert drawn == titles
    assert len(learning_curves(number).axes) == 2 * number


def test_nothing_to_draw() -> None:
    with pytest.raises(InvalidParameterError, match="at least one data set"):
        draw_scores([], parameter="k", score="accuracy")
    with pytest.raises(InvalidParameterError, match="at least one data set"):
        draw_learning_curves({})


def test_nodes_show_attribute_and_color() -> None:
    for axes, coloring in zip(colorings().axes, COLORINGS.values(), strict=True):
        texts = sorted(text.get_text() for text in axes.texts)
        assert texts == sorted(f"{ATTRIBUTES[node]}, {coloring[node] + 1}" for node in ATTRIBUTES)
        # One collection of points for each attribute, in the order of the nodes.
        fills = [np.asarray(own.get_facecolor()) for own in axes.collections[1:]]
        found = [to_hex(tuple(color)).upper() for color in np.concatenate(fills)]
        assert found == [PALETTE[coloring[node]] for node in ATTRIBUTES]


def test_an_invalid_coloring_is_not_drawn() -> None:
    with pytest.raises(InvalidColoringError, match=r"second: .* nodes 2 and 3, both .* 'b'"):
        colorings({3: 2})
    with pytest.raises(InvalidColoringError, match=r"negative. Got -1 for node 4"):
        colorings({4: -1})


def test_many_colors_and_attributes_are_drawn() -> None:
    graph = nx.cycle_graph(len(PALETTE) + 3)
    figure = draw_colorings(graph, dict.fromkeys(graph, ""), {"": {node: node for node in graph}})
    assert [text.get_text() for text in figure.axes[0].texts] == [str(own + 1) for own in graph]
    fills = np.asarray(figure.axes[0].collections[1].get_facecolor())
    assert len(np.unique(fills, axis=0)) == len(graph)
    names = {node: str(node) for node in graph}
    assert len(graph) > len(SHAPES)
    figure = draw_colorings(graph, names, {"": dict.fromkeys(graph, 0)})
    assert len(figure.axes[0].collections) == 1 + len(graph)


def test_scores_are_means_with_confidence_intervals() -> None:
    axes = scores(1).axes[0]
    line, _, (bars,) = axes.containers[0]
    assert heights(line) == pytest.approx([62.0, 73.0, 80.0])
    ends = [segment[:, 1] for segment in bars.get_segments()]
    for own, values in zip(ends, SCORES.values(), strict=True):
        assert own == pytest.approx(confidence_interval(values))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "4", "16"]
    assert [heights(own).tolist() for own in axes.lines if own.get_label() == "paper"] == [[61, 79]]


def test_confidence_interval() -> None:
    # The 97.5 % quantile of Student's t with 2 degrees of freedom is 4.3027.
    low, high = confidence_interval([60.0, 62.0, 64.0])
    assert (low, high) == pytest.approx(
        (62 - 4.3027 * 2 / 3**0.5, 62 + 4.3027 * 2 / 3**0.5), abs=1e-3
    )
    narrow = confidence_interval([60.0, 62.0, 64.0], level=0.5)
    assert low < narrow[0] < 62 < narrow[1] < high
    assert confidence_interval([7.0]) == (7.0, 7.0)


def test_learning_curves_are_means_with_percentiles() -> None:
    folds = (0, 1, 2, 9)
    upper, lower = learning_curves(1, folds).axes
    values = np.stack([100 * some_curves(fold).test_score for fold in folds])
    assert heights(upper.lines[0]) == pytest.approx(values.mean(axis=0))
    corners = np.asarray(upper.collections[0].get_paths()[0].vertices, dtype=np.float64)
    epoch = corners[corners[:, 0] == 10][:, 1]
    assert sorted(set(epoch.round(6))) == pytest.approx(np.percentile(values[:, 9], (10, 90)))
    [circle] = [own for own in upper.lines if own.get_marker() == "o"]
    assert np.asarray(circle.get_xydata())[0] == pytest.approx([10, values[:, 9].mean()])
    losses = np.stack([some_curves(fold).train_loss for fold in folds])
    assert heights(lower.lines[0]) == pytest.approx(losses.mean(axis=0))
    assert lower.get_yscale() == "log"


def test_curves_that_end_early_keep_their_last_value() -> None:
    line = CurveLine("model", [some_curves(0), some_curves(0, epochs=20)], epoch=30)
    upper, _ = draw_learning_curves({"data": [line]}).axes
    expected = (some_curves(0).test_score[29] + some_curves(0).test_score[19]) / 2
    assert heights(upper.lines[0])[29] == pytest.approx(100 * expected)
