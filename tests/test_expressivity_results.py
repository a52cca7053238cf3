"""The tables of pairs in results/ are those of their stores."""

from pathlib import Path

import pytest
from tests.faults.command import report

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("page", "store", "part"),
    [
        ("expressivity", "expressivity", ()),
        ("expressivity-canonical", "expressivity", ("--models", "CLIP canonical")),
        ("expressivity-gpu", "expressivity-gpu", ()),
    ],
)
def test_a_page_is_the_report_of_its_store(
    page: str, store: str, part: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`clipgnn report STORE --experiment expressivity --format markdown > PAGE` writes it."""
    monkeypatch.chdir(ROOT)
    whole = ("--experiment", "expressivity", *part, "--format", "markdown")
    text = report(f"results/{store}.sqlite", *whole)
    assert text == (ROOT / "results" / f"{page}.md").read_text(encoding="utf-8")
