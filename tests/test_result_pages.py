"""The tables in results/ are those of their stores."""

from pathlib import Path

import pytest
from tests.faults.command import report

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("page", "store", "part"),
    [
        ("expressivity", "expressivity", ("expressivity",)),
        ("expressivity-canonical", "expressivity", ("expressivity", "--models", "CLIP canonical")),
        ("expressivity-gpu", "expressivity-gpu", ("expressivity",)),
        ("substructures", "substructures", ("substructures",)),
        ("substructures-long", "substructures", ("substructures-long",)),
        ("schemes", "schemes", ("schemes",)),
        ("schemes-molecules", "schemes-molecules", ("schemes-molecules",)),
    ],
)
def test_a_page_is_the_report_of_its_store(
    page: str, store: str, part: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`clipgnn report STORE --experiment NAME --format markdown > PAGE` writes it."""
    monkeypatch.chdir(ROOT)
    text = report(f"results/{store}.sqlite", "--experiment", *part, "--format", "markdown")
    assert text == (ROOT / "results" / f"{page}.md").read_text(encoding="utf-8")
