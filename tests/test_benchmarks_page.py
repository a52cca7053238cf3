"""The page of benchmarks: written from the saved numbers, with everything that falls short."""

import importlib.util
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from clipgnn.bench.growth import Growth
from clipgnn.bench.measurement import Plan, Row
from clipgnn.bench.memory import Memory
from clipgnn.bench.record import Record
from clipgnn.bench.setting import Setting
from clipgnn.bench.together import Folds
from clipgnn.bench.training import Training

RESULTS = Path(__file__).parents[1] / "results"
MUTAG = Setting("MUTAG")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks", RESULTS / "benchmarks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(**rows: Sequence[Row]) -> Record:
    plan = Plan(("MUTAG",), workers=2)
    return replace(Record.of(plan, rows, "clipgnn bench MUTAG"), load=0.0)


def test_the_page_is_up_to_date(script: ModuleType) -> None:
    assert (RESULTS / "benchmarks.md").read_text() == script.page(script.read_records())


def test_tables_and_provenance(script: ModuleType) -> None:
    row = Folds("MUTAG", "gin", [], [], skipped="a reason")
    own = record(training=[Training(MUTAG, [8.0], [2.0])], together=[row])
    text = script.page({"benchmarks-cpu.json": own})
    assert "| MUTAG | 8 | 3 | 64 | 8 | 2 | 4.0 | 4.0 to 4.0 |" in text
    assert "gin is skipped: a reason" in text
    assert "`clipgnn bench MUTAG`" in text
    assert "torch " in text


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (record(training=[Training(MUTAG, [4.0], [2.0])]), "2.0 times as fast"),
        (record(memory=[Memory(MUTAG, [2_000_000], [3_000_000])]), "(4 MB) than the one"),
        (record(growth=[Growth("k", "step, ms", [1, 2], [1.0, 4.0])]), "exponent 2.00"),
        (replace(record(), load=1.5), "not reliable"),
        (record(), "Nothing has been measured on a GPU"),
    ],
)
def test_shortcomings(script: ModuleType, own: Record, said: str) -> None:
    assert any(said in line for line in script.shortcomings({"file": own}))


def test_no_shortcoming_is_invented(script: ModuleType) -> None:
    own = record(
        training=[Training(MUTAG, [6.0], [2.0])],
        memory=[Memory(MUTAG, [1_000_000], [3_000_000])],
        growth=[Growth("k", "step, ms", [1, 2], [1.0, 2.0])],
    )
    on_gpu = replace(own, plan=replace(own.plan, device="cuda"), load=9.0, rows={})
    lines = list(script.shortcomings({"cpu": own, "gpu": on_gpu}))
    assert len(lines) == 1
    assert lines[0].startswith("On the CPU the two use the cores in different ways")


def test_the_plot(script: ModuleType) -> None:
    own = record(
        training=[Training(MUTAG, [6.0], [2.0])],
        memory=[Memory(MUTAG, [1_000_000], [3_000_000])],
        growth=[Growth("k", "step, ms", [1, 2], [1.0, 2.0])],
    )
    speed, memory, growth = script.plot({"cpu": own}).axes
    assert [bar.get_width() for bar in speed.patches] == [3]
    assert [bar.get_width() for bar in memory.patches] == [1, 3]
    assert len(growth.lines) == 2  # with the line of linear growth
