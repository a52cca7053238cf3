"""Every measurement can be found by its name, and describes its rows."""

from dataclasses import is_dataclass

import pytest

from clipgnn.bench import MEASUREMENTS
from clipgnn.bench.measurement import Row, measurement_named


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_measurements_are_complete(name: str) -> None:
    found = measurement_named(name)
    assert found.title
    assert found.note.endswith(".")
    assert issubclass(found.row, Row)
    assert is_dataclass(found.row)
