"""One suite for all formats of reports."""

import pytest
from tests.report.examples import PARTLY, WHOLE

from clipgnn.commands.report_output import format_of
from clipgnn.report import FORMATS, Format, Report


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_renders_every_table(name):
    for table in (WHOLE, PARTLY):
        text = FORMATS[name].render(Report(table))
        assert text.endswith("\n")
        for row in table.rows:
            assert row.name in text


def test_endings_differ():
    endings = [own.ending for own in FORMATS.values()]
    assert len(set(endings)) == len(endings)
    assert all(ending.startswith(".") for ending in endings)


def test_a_new_format_is_known_to_the_command_line(monkeypatch, tmp_path):
    monkeypatch.setitem(FORMATS, "titles", Format(lambda report: report.table.title, ".title"))
    assert format_of(None, tmp_path / "table.title") == "titles"
    assert format_of("titles", None) == "titles"
