"""A soak: everything is used at random for a long time by one process, which must not grow."""

import gc
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from tests.faults.campaign import runs
from tests.faults.command import experiment, numbers, report
from tests.reference.clip_reference import Graphs, Reference, colorings_of

from clipgnn import CLIP, load, save
from clipgnn.coloring import color_groups, num_colorings, sample_colorings

SAMPLES = 60
"""Times that the process is measured at least; once a minute at most."""

FORMATS = ("csv", "markdown", "latex", "terminal")
LITTLE = """
title = "A soak"
datasets = ["csl"]
folds = 2
[grid]
epochs = 1
num_layers = 1
hidden_channels = 4
[[models]]
model = "gin"
[[models]]
model = "clip"
num_colorings = 1
"""


@dataclass(frozen=True)
class Sample:
    """What this process holds at some moment."""

    memory: float  # MiB
    descriptors: int
    threads: int
    files: int

    @classmethod
    def now(cls, folder: Path) -> "Sample":
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            memory=pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            descriptors=len(os.listdir("/proc/self/fd")),
            threads=len(os.listdir("/proc/self/task")),
            files=sum(1 for _ in folder.rglob("*")),
        )


ALLOWED: Mapping[str, Callable[[float], float]] = {
    "memory": lambda before: max(64.0, 0.1 * before),
    "descriptors": lambda before: 3,
    "threads": lambda before: 2,
    "files": lambda before: 3,
}
"""How much the last quarter may be over the first: caches fill up, and samples are not alike."""


def growth(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """Medians of the first and of the last quarter."""
    quarter = max(1, len(samples) // 4)
    return {
        name: (
            statistics.median(getattr(sample, name) for sample in samples[:quarter]),
            statistics.median(getattr(sample, name) for sample in samples[-quarter:]),
        )
        for name in ALLOWED
    }


@dataclass
class Report:
    """What a soak did and found."""

    seed: int
    seconds: float = 0.0
    done: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    failures: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)

    @property
    def grown(self) -> list[str]:
        """What there is more of at the end than there may be."""
        return [
            name
            for name, (before, after) in growth(self.samples).items()
            if after - before > ALLOWED[name](before)
        ]

    @property
    def good(self) -> bool:
        return not self.failures and not self.grown

    def as_markdown(self) -> str:
        done = ", ".join(f"{number} × {name}" for name, number in sorted(self.done.items()))
        lines = [
            f"{self.seconds / 60:.1f} minutes, seed {self.seed}: {sum(self.done.values())} "
            f"iterations ({done}), {self.kills} kills, {len(self.failures)} failures.",
            "",
            f"| of {len(self.samples)} samples, medians | first quarter | last quarter | grown |",
            "| :--- | ---: | ---: | :--- |",
        ]
        lines += [
            f"| {name}{' (MiB)' if name == 'memory' else ''} | {before:.0f} | {after:.0f} "
            f"| {'yes' if name in self.grown else 'no'} |"
            for name, (before, after) in growth(self.samples).items()
        ]
        if self.failures:
            lines += ["", *(f"- {failure.splitlines()[0]}" for failure in self.failures)]
        return "\n".join(lines) + "\n"


class Soak:
    """One process that does everything, and remembers what it must find."""

    def __init__(self, folder: Path, seed: int, *, processes: bool = True) -> None:
        self.folder = folder
        self.processes = processes
        self.random = random.Random(seed)
        self.report = Report(seed)
        self.references: dict[str, runs.Reference] = {}
        self.tables: dict[str, str] = {}
        self.actions: dict[str, tuple[float, Callable[[], None]]] = {
            "model file": (3, self.model_file),
            "sampling": (5, self.sampling),
            "forward": (3, self.forward),
            "run in this process": (1, self.run_here),
            "report": (2, self.report_formats),
        }
        if processes:
            self.actions |= {
                "killed run": (1, self.killed_run),
                "two runs at once": (0.5, self.two_runs),
            }

    def run(self, seconds: float) -> Report:
        """Everything once, then at random for so long; only this time is measured."""
        if self.processes:
            for name in runs.SPECS:
                if runs.available("in-process", name):
                    self.references[name] = runs.reference(self.folder, name)
        for name in self.actions:
            self._do(name)
        began = time.monotonic()
        interval = min(60.0, seconds / SAMPLES)
        names = list(self.actions)
        weights = [self.actions[name][0] for name in names]
        while (passed := time.monotonic() - began) < seconds:
            if len(self.report.samples) * interval <= passed:
                self.report.samples.append(Sample.now(self.folder))
            self._do(self.random.choices(names, weights)[0])
        self.report.samples.append(Sample.now(self.folder))
        self.report.seconds = time.monotonic() - began
        return self.report

    def _do(self, name: str) -> None:
        try:
            self.actions[name][1]()
        except Exception as error:
            self.report.failures.append(f"{name}: {type(error).__name__}: {error}")
        self.report.done[name] += 1

    def killed_run(self) -> None:
        """A run on some executor, killed up to three times, then resumed to its end."""
        name, executor = self._some_run()
        right, store = self.references[name], self.folder / "killed.sqlite"
        store.unlink(missing_ok=True)
        for _ in range(self.random.randint(0, 3)):
            running = runs.begin(self.folder, name, store, executor)
            if running.ended_within(self.random.uniform(0, 1.5 * right.seconds)):
                continue
            workers = running.workers()
            if workers and self.random.random() < 0.3:
                runs.kill(self.random.choice(workers))
                self.report.kills += 1
                if running.ended_within(right.seconds):
                    continue
            running.kill()
            self.report.kills += 1
        runs.finish(self.folder, name, store, executor)
        runs.check(store, right.curves)

    def two_runs(self) -> None:
        """Two runs on one store; sometimes one of them is killed, and the other takes over."""
        name, _ = self._some_run()
        right, store = self.references[name], self.folder / "two.sqlite"
        store.unlink(missing_ok=True)
        both = [runs.begin(self.folder, name, store, "in-process") for _ in range(2)]
        if self.random.random() < 0.5 and not both[0].ended_within(
            self.random.uniform(0, right.seconds)
        ):
            both.pop(0).kill()
            self.report.kills += 1
        for running in both:
            if running.process.returncode is None and not running.ended_within(runs.LIMIT):
                running.kill()
                raise runs.DisturbedError("one of two runs does not end")
        runs.finish(self.folder, name, store, "in-process")
        runs.check(store, right.curves)

    def run_here(self) -> None:
        """A run inside this process, into a new store; always the same table."""
        spec, store = self.folder / "little.toml", self.folder / "little.sqlite"
        spec.write_text(LITTLE)
        store.unlink(missing_ok=True)
        where = ("--store", str(store), "--executor", "in-process", "--device", "cpu")
        self._same("run", numbers(experiment("run", str(spec), *where, "--format", "csv")))

    def report_formats(self) -> None:
        """The table in every format, to the screen and into files."""
        store = self.folder / "little.sqlite"
        if not store.exists():
            self.run_here()
        for name in FORMATS:
            words = (str(store), "--format", name)
            text = report(*words)
            assert text.strip()
            output = self.folder / "table"
            report(*words, "--output", str(output))
            if name == "csv":
                self._same("run", numbers(text))
            if name != "terminal":
                assert output.read_text() == text
            output.unlink()

    def model_file(self) -> None:
        """A random model, saved and loaded: the same weights and outputs."""
        parameters: dict[str, Any] = {
            "hidden_channels": self.random.randint(1, 32),
            "num_layers": self.random.randint(1, 4),
            "coloring": self.random.choice(["random", "all"]),
            "num_colorings": self.random.choice([0, 1, 5]),
            "directed": self.random.random() < 0.5,
            "num_members": self.random.choice([1, 1, 3]),
        }
        model = CLIP(2, 3, **parameters).eval()
        path = self.folder / "model.safetensors"
        save(model, path)
        loaded = load(path).eval()
        path.unlink()
        assert asdict(loaded.config) == asdict(model.config)
        x, edges = torch.eye(2)[torch.tensor([0, 1, 1])], torch.tensor([[0, 1], [1, 2]])
        outputs = [
            one(x, edges, generator=torch.Generator().manual_seed(1)) for one in (model, loaded)
        ]
        assert torch.equal(*outputs)

    def sampling(self) -> None:
        """Colorings of random graphs: valid, distinct, and all of them where they are few."""
        nodes, k = self.random.randint(1, 200), self.random.randint(1, 64)
        x = torch.randint(self.random.randint(1, 20), (nodes,))
        batch = torch.randint(self.random.randint(1, 10), (nodes,)).sort().values
        groups = color_groups(x, batch)
        counts = num_colorings(groups, batch)
        colorings = sample_colorings(groups, k, batch)
        for graph in batch.unique().tolist():
            own = colorings[:, batch == graph].tolist()
            members = groups[batch == graph].tolist()
            assert len(set(map(tuple, own))) == min(k, counts[graph])
            for group in set(members):
                wanted = list(range(members.count(group)))
                for coloring in own:
                    found = [c for c, g in zip(coloring, members, strict=True) if g == group]
                    assert sorted(found) == wanted

    def forward(self) -> None:
        """CLIP on a random graph, against the equations in plain loops."""
        nodes, layers = self.random.randint(1, 5), self.random.randint(1, 2)
        model = CLIP(2, 3, hidden_channels=4, num_layers=layers, coloring="all", num_colors=8)
        model = model.double().eval()
        labels = torch.randint(2, (nodes,))
        edges = (torch.rand(nodes, nodes) < 0.4).nonzero().t()
        right = Reference(
            weights={name: value.numpy() for name, value in model.state_dict().items()},
            in_channels=2,
            num_layers=layers,
            num_colors=8,
        )
        graph = Graphs(
            x=labels.numpy(),
            edges=[(int(source), int(target)) for source, target in edges.t()],
            batch=torch.zeros(nodes, dtype=torch.int64).numpy(),
        )
        assert sum(1 for _ in colorings_of(graph.x)) == num_colorings(color_groups(labels))[0]
        with torch.no_grad():
            found = model(labels, edges)
        expected = torch.from_numpy(right.forward(graph, "all"))
        assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9), (found, expected)

    def _some_run(self) -> tuple[str, str]:
        pairs = [(one, other) for one in runs.SPECS for other in ("in-process", "processes")]
        if self.random.random() < 0.1:  # it takes long to begin
            pairs = [(one, "ray") for one in runs.SPECS]
        pairs = [pair for pair in pairs if runs.available(pair[1], pair[0])]
        return self.random.choice(pairs or [("alone", "in-process")])

    def _same(self, key: str, text: str) -> None:
        assert text == self.tables.setdefault(key, text), "the table has changed"


def soak(folder: Path, seconds: float, seed: int, *, processes: bool = True) -> Report:
    """Use everything for this many seconds; temporary files of this process go into the folder."""
    before = tempfile.tempdir
    tempfile.tempdir = str(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    try:
        return Soak(folder, seed, processes=processes).run(seconds)
    finally:
        torch.set_num_threads(threads)
        tempfile.tempdir = before
