"""The script behind `make figures`: which trials are shown, and what is missing."""

import dataclasses
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from tests.experiments.fake_training import fake, on_fake_data

from clipgnn.experiments import Experiment, Overrides, Store, evaluate
from clipgnn.experiments.evaluation import chosen_curves
from clipgnn.experiments.reading import find_experiment, read_experiment

ROOT = Path(__file__).parents[1]
FIGURES = ("colorings", "colorings-accuracy", "learning-curves")
SCREENSHOTS = {"compare.png", "draw.png", "report-desktop.png", "report-phone.png"}


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`tools/figures.py`, with a temporary folder."""
    spec = importlib.util.spec_from_file_location("figures", ROOT / "tools" / "figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


@pytest.fixture
def experiment() -> Experiment:
    """CLIP's rows of Table 1 with few epochs, folds and data sets."""
    rows = read_experiment(find_experiment("table1"))
    part = Overrides(models=["0-CLIP", "CLIP"], datasets=["PTC_MR", "MUTAG", "PROTEINS"], epochs=6)
    return dataclasses.replace(on_fake_data(part(rows)), folds=3, first_folds=3)


@pytest.fixture
def seeded() -> Experiment:
    """Table 4 with three seeds, as small as Table 1 above."""
    rows = Overrides(epochs=6)(read_experiment(find_experiment("table4-seeds")))
    return dataclasses.replace(on_fake_data(rows), folds=3, first_folds=3)


@pytest.fixture
def store(experiment: Experiment, tmp_path: Path) -> Iterator[Store]:
    """All trials on MUTAG; on PTC_MR all but one, of 4-CLIP."""
    trials = [trial for trial in experiment.trials() if trial.dataset != "PROTEINS"]
    trials.remove(
        next(
            own for own in trials if (own.dataset, own.parameters["num_colorings"]) == ("PTC_MR", 4)
        )
    )
    with Store(tmp_path / "store.sqlite", create=True) as opened:
        session = opened.begin(experiment.name, experiment.content(), "test", trials)
        opened.record(session, fake(trials))
        opened.end(session)
        yield opened


def test_accuracies_are_those_of_complete_cells(
    script: ModuleType,
    experiment: Experiment,
    seeded: Experiment,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = []
    monkeypatch.setattr(script, "add_note", lambda figure, text: drawn.append((figure, text)))
    script.score_figure(experiment, seeded, store)
    [(figure, note)] = drawn
    assert [axes.get_title() for axes in figure.axes] == ["PTC_MR", "MUTAG"]
    shown = [axes.containers[0][0].get_xdata().tolist() for axes in figure.axes]
    assert shown == [[0, 1, 2, 4, 5], [0, 1, 2, 3, 4, 5]]  # 4-CLIP on PTC_MR is incomplete
    best = Overrides(models=["CLIP"], datasets=["MUTAG"], where={"num_colorings": (8,)})(experiment)
    [cell] = evaluate(best, store.results(), "gin")
    height = figure.axes[1].containers[0][0].get_ydata()[4]
    assert height == pytest.approx(100 * cell.measurement.mean)
    assert "mean over 3 folds, one seed" in note
    assert "among 12 configurations" in note
    assert "Not measured yet: PROTEINS. Incomplete: PTC_MR (4-CLIP)." in note


def test_several_seeds_are_shown_where_all_are_there(
    script: ModuleType,
    experiment: Experiment,
    seeded: Experiment,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = store.results().keys()
    trials = [own for own in seeded.trials() if own.identity not in known]
    trials = [own for own in trials if own.dataset == "MUTAG" or own.seed == 1]
    session = store.begin(seeded.name, seeded.content(), "test", trials)
    store.record(session, fake(trials))
    store.end(session)
    drawn = []
    monkeypatch.setattr(script, "add_note", lambda figure, text: drawn.append((figure, text)))
    script.score_figure(experiment, seeded, store)
    [(figure, note)] = drawn
    assert [axes.get_title() for axes in figure.axes] == ["PTC_MR", "MUTAG, 3 seeds"]
    line = figure.axes[1].containers[0][0]
    assert line.get_xdata().tolist() == [0, 1, 3, 4, 5]  # k = 2 has one seed only
    cells = evaluate(seeded, store.results(), "gin")
    means = [100 * own.measurement.mean for own in cells if own.dataset == "MUTAG"]
    assert line.get_ydata().tolist() == pytest.approx(means)
    expected = "one seed (MUTAG: 3 folds, each the mean of 3 seeds, without 2-CLIP)."
    assert expected in note


def test_curves_are_those_of_the_chosen_configurations(
    script: ModuleType, experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []
    monkeypatch.setattr(script, "add_note", lambda figure, text: drawn.append((figure, text)))
    script.curve_figure(experiment, store)
    [(figure, note)] = drawn
    assert [axes.get_title() for axes in figure.axes[:2]] == ["PTC_MR", "MUTAG"]
    results = store.results()
    for cell in evaluate(experiment, results, "gin"):
        if cell.dataset == "MUTAG":
            curves = chosen_curves(experiment, cell, results)
            [choice] = cell.measurement.choices
            assert choice.epoch is not None
            found = {fold: own.test_score_at(choice.epoch - 1) for fold, own in curves.items()}
            assert found == cell.measurement.values
    assert "the best of 12 for 0-CLIP and of 60 for CLIP" in note


def test_all_files_are_drawn(script: ModuleType, tmp_path: Path) -> None:
    script.coloring_figure()
    assert {path.name for path in tmp_path.glob("colorings.*")} == {
        "colorings.png",
        "colorings.svg",
    }
    kept = {path.name for path in (ROOT / "docs" / "figures").iterdir()} - SCREENSHOTS
    assert kept == {f"{name}{ending}" for name in FIGURES for ending in (".png", ".svg")}
