"""Numbers of a benchmark with how they were measured, as a JSON file."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from clipgnn.bench.measurement import Plan, Row, measurement_named
from clipgnn.bench.setting import SEED, Setting
from clipgnn.experiments.machine import installed_versions, this_machine

_PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "cuda", "torch-geometric", "numpy")


@dataclass(frozen=True)
class Record:
    """The numbers of a benchmark.

    Attributes:
        command: the command that was run.
        date: day of the measurement.
        plan: what was measured; the folder of the data sets is not recorded.
        seed: seed of graphs, weights and colorings.
        versions: versions of Python and of packages, and a hash of the source.
        load: load average of the machine in the minute before; other processes that use its cores
            falsify the rates, those of several threads most.
        machine: processor, cores, memory, system and accelerator.
        rows: the rows of each measurement by its name.
    """

    command: str
    date: str
    plan: Plan
    seed: int
    versions: Mapping[str, str]
    load: float
    machine: Mapping[str, str]
    rows: Mapping[str, Sequence[Row]]

    @classmethod
    def of(cls, plan: Plan, rows: Mapping[str, Sequence[Row]], command: str) -> "Record":
        """Return a record of rows that this process has measured on this day."""
        installed = installed_versions()
        return cls(
            command=command,
            date=datetime.now(UTC).date().isoformat(),
            plan=replace(plan, root=None),
            seed=SEED,
            versions={name: installed[name] for name in _PACKAGES if name in installed},
            load=round(os.getloadavg()[0], 2),
            machine=this_machine(plan.device),
            rows=rows,
        )

    @classmethod
    def from_json(cls, text: str) -> "Record":
        """Read a record from JSON."""
        content = json.loads(text)
        plan = {**content.pop("plan"), "root": None}
        rows = {
            name: [_row(measurement_named(name).row, values) for values in own]
            for name, own in content.pop("rows").items()
        }
        return cls(plan=Plan(**{**plan, "datasets": tuple(plan["datasets"])}), rows=rows, **content)

    def to_json(self) -> str:
        """Convert to JSON."""
        content = asdict(self)
        del content["plan"]["root"]
        return json.dumps(content, indent=1) + "\n"

    def provenance(self) -> str:
        """Describe settings, versions and machine in one line."""
        plan = self.plan
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        machine = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        deterministic = ", deterministic" if plan.deterministic else ""
        return (
            f"Medians of {plan.rounds} rounds of at least {plan.seconds:g} s, unless stated "
            f"otherwise; float32, seed {self.seed}, {plan.workers} workers, device {plan.device}"
            f"{deterministic}. {versions}. {machine}; load average before the run {self.load}."
        )


def _row(kind: type[Row], values: Mapping[str, Any]) -> Row:
    nested = {"setting": Setting(**values["setting"])} if "setting" in values else {}
    return kind(**{**values, **nested})
