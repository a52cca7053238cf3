"""Records: JSON keeps every number, and no path of the machine."""

import json
from collections.abc import Sequence
from pathlib import Path

from clipgnn.bench.growth import Growth
from clipgnn.bench.inference import Inference
from clipgnn.bench.measurement import Plan, Row
from clipgnn.bench.record import Record
from clipgnn.bench.setting import Setting

PLAN = Plan(("csl",), root=Path("folder of somebody"), rounds=2, seconds=0.5, workers=3)
ROWS: dict[str, Sequence[Row]] = {
    "inference": [Inference(Setting("csl", 16), [3.0, 4.0], [1.0, 2.0], 0.25, 0.5)],
    "growth": [Growth("graphs", "epoch, s", [1, 2], [0.1, 0.2])],
}


def test_json_keeps_everything() -> None:
    record = Record.of(PLAN, ROWS, "clipgnn bench csl")
    assert Record.from_json(record.to_json()) == record
    assert record.rows == ROWS


def test_what_is_recorded() -> None:
    text = Record.of(PLAN, ROWS, "clipgnn bench csl").to_json()
    assert "somebody" not in text
    content = json.loads(text)
    assert content["command"] == "clipgnn bench csl"
    assert content["seed"] == 0
    assert {"clipgnn", "clipgnn-source", "python", "torch"} <= content["versions"].keys()
    assert {"processor", "cores", "memory"} <= content["machine"].keys()


def test_provenance() -> None:
    line = Record.of(PLAN, ROWS, "clipgnn bench csl").provenance()
    assert line.startswith("Medians of 2 rounds of at least 0.5 s")
    assert "3 workers" in line
    assert "torch " in line
