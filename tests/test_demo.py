"""`clipgnn demo`, with few epochs: what it shows, prints and draws."""

import sys
from pathlib import Path

import pytest

from clipgnn import cli
from clipgnn.demo import compare_pair, learn_circular_skip_links


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["clipgnn", "demo", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


def test_only_colors_tell_the_pair_apart() -> None:
    pair = compare_pair()
    assert pair.without_colors == 0.0
    assert pair.with_colors > 1e-3


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_it_prints_both_accuracies_and_draws(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    kind: str,
) -> None:
    picture = tmp_path / f"picture.{kind}"
    assert run(monkeypatch, "--epochs", "1", "--output", str(picture)) == 0
    printed = capsys.readouterr().out
    assert "0-CLIP:" in printed
    assert "16-CLIP:" in printed
    assert "clipgnn compare hexagon two-triangles -o page.html" in printed
    assert "its differences are other numbers" in printed
    assert picture.stat().st_size > 10_000


@pytest.mark.slow
def test_message_passing_stays_at_chance_and_colors_do_not() -> None:
    blind = list(learn_circular_skip_links(0, epochs=3))
    assert set(blind) <= {1 / 15, 2 / 15}
    colored = list(learn_circular_skip_links(4, epochs=24))
    assert max(colored) > 3 / 15


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--output", "picture.gif"), "must end in .png, .pdf or .svg"),
        (("--output", "nowhere/picture.png"), "Create its folder first"),
        (("--epochs", "0"), "--epochs"),
    ],
)
def test_bad_input(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    arguments: tuple[str, str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(monkeypatch, *arguments) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
