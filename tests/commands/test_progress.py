"""Progress of a run: a bar on a terminal, plain lines elsewhere."""

import logging
from io import StringIO

from rich.console import Console
from rich.text import Text

from clipgnn.commands.progress import ProgressDisplay
from clipgnn.commands.terminal import terminal
from clipgnn.experiments.run import RunProgress


def test_a_bar_fits_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console = terminal()
    assert console.is_terminal
    with ProgressDisplay("a name of forty characters and some more", console) as display:
        display.show(RunProgress(total=10, finished=4, failed=0, reused=4))
    lines = Text.from_ansi(capsys.readouterr().out.replace("\r", "\n")).plain.splitlines()
    assert any("4/10" in line or "…" in line for line in lines)
    assert max(map(len, lines)) <= 40


def test_a_bar_on_a_terminal():
    console = Console(
        force_terminal=True, width=100, record=True, file=StringIO(), markup=False, emoji=False
    )
    with ProgressDisplay("small", console) as display:
        display.show(RunProgress(total=10, finished=4, failed=0, reused=4))
        display.show(RunProgress(10, 5, 1, 4, last_failure="[trial] went wrong"))
        display.show(RunProgress(10, 7, 1, 4, "[trial] went wrong", unsaved=2))
        logger = logging.getLogger("clipgnn.experiments.run")
        logger.info("[store] waits; %s helps", "take_over", extra={"parameter": "take_over"})
    logger.warning("not shown any more")
    text = console.export_text()
    assert "failed: [trial] went wrong" in text
    assert text.count("[store] waits; --take-over helps") == 1
    assert "not shown" not in text
    assert "small, 1 failed, 2 not written yet" in text
    assert "7/10 trials" in text


def test_plain_lines_at_intervals_elsewhere(monkeypatch, capsys):
    clock = iter([0.0, 0.0, 1.0, 60.0, 61.0, 62.0])
    monkeypatch.setattr("clipgnn.commands.progress.time.monotonic", lambda: next(clock))
    display = ProgressDisplay("small", Console(width=100))
    for finished in (4, 5, 6, 7):
        display.show(RunProgress(total=10, finished=finished, failed=0, reused=4))
    display.show(RunProgress(total=10, finished=10, failed=0, reused=4))
    assert capsys.readouterr().out.splitlines() == [
        "small: 4 of 10 trials",
        "small: 6 of 10 trials, about 2 min left",
        "small: 10 of 10 trials",
    ]


def test_only_failures_are_shown_if_it_is_quiet(capsys):
    with ProgressDisplay("small", Console(width=100), quiet=True) as display:
        display.show(RunProgress(total=10, finished=4, failed=1, reused=0, last_failure="wrong"))
        display.show(RunProgress(total=10, finished=10, failed=1, reused=0, last_failure="wrong"))
    assert capsys.readouterr().out.splitlines() == ["failed: wrong"]
