"""Measure training on graph sets that are larger than memory, and on large graphs, on the CPU.

    python results/large.py FOLDER [--processes]

generates graph sets in a folder outside the repository (2 GB) and writes `large.json` and
`large.md`; with `--processes` only the throughput of several processes is measured. Every
measurement is a process of its own; the memory is the largest sum of RssAnon over
its processes, that is without pages of mapped files, sampled every 20 ms.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clipgnn.experiments.machine import installed_versions, this_machine
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs, append_graphs, is_stored, open_graphs
from clipgnn.parameters import Recipe
from clipgnn.training import ModelSpec, Split, train
from clipgnn.training.engine import Engine
from clipgnn.training.engines import engine_for
from clipgnn.training.models import new_members
from clipgnn.training.processes import process_group
from clipgnn.training.stream import Streamed

PAGE = Path(__file__).parent
SEED = 0
PACKAGES = ("clipgnn", "clipgnn-source", "python", "torch", "numpy", "safetensors")
NODES, LABELS, SHARD = 20, 4, 2**15
FEW = {"2e4": 2 * 10**4}
NUMBERS = {"1e5": 10**5, "1e6": 10**6, "4e6": 4 * 10**6}
WINDOWS = {"1e5": 12, "1e6": 10**6, "4e6": 12}
"""Largest number of windows that are trained on; a whole epoch of 10^6 graphs."""

MODEL = ModelSpec(
    "clip", {"num_colorings": 1, "num_colors": NODES, "hidden_channels": 32, "num_layers": 2}
)
RECIPE = Recipe(epochs=4, batch_size=128, loss="squared-error")
ROUNDS, STEPS = 5, 20
EDGES = (62_500, 125_000, 250_000, 500_000, 1_000_000)
LARGE_MODEL = ModelSpec("clip", {"num_colorings": 1, "hidden_channels": 32, "num_layers": 2})
LARGE_RECIPE = Recipe(epochs=2, max_nodes=4096, loss="squared-error")
PROCESSES = {"1 process": (1, False), "2 processes": (2, False), "2, local statistics": (2, True)}
"""Number of processes, and whether their batch statistics are their own."""
LARGE = {"num_colorings": 2, "hidden_channels": 64, "num_layers": 3}
SHARED = {
    "small network, batches of 128": ({}, 128),
    "small network, batches of 1,024": ({}, 1024),
    "large network, batches of 128": (LARGE, 128),
    "large network, batches of 1,024": (LARGE, 1024),
}
"""Parameters that differ from `MODEL`, and graphs of a batch of all processes."""


class Ended(Exception):
    """The end of a measurement in the middle of a training."""


def molecules(number: int, part: int) -> PackedGraphs:
    """Graphs of 20 nodes and 21 edges with labels, as many molecules are: trees with two cycles."""
    generator = torch.Generator().manual_seed(SEED * 2**20 + part)

    def random(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (number, 1), generator=generator)

    child = torch.arange(1, NODES).expand(number, -1)
    step = torch.randint(1, 4, child.shape, generator=generator)
    parent = (child - step).clamp(min=0)
    begin = torch.cat([random(0, 5), random(10, 13)], dim=1)
    end = begin + torch.cat([random(4, 7), random(4, 7)], dim=1)  # further than parents are
    one, other = torch.cat([child, begin], dim=1), torch.cat([parent, end], dim=1)
    # [2, graphs, 2 * edges]
    edges = torch.stack([torch.cat([one, other], dim=1), torch.cat([other, one], dim=1)])
    labels = torch.randint(LABELS, (number, NODES), generator=generator)
    return PackedGraphs(
        name="generated",
        x=labels.flatten(),
        in_channels=LABELS,
        edge_index=edges.flatten(1),
        node_pointers=torch.arange(number + 1) * NODES,
        edge_pointers=torch.arange(number + 1) * edges.shape[2],
        y=(labels == 0).float().mean(1) + step.float().mean(1),
    )


def generate(folder: Path, number: int) -> StoredGraphs:
    """Write graphs shard by shard; an interrupted generation continues."""
    first = len(open_graphs(folder)) if is_stored(folder) else 0
    for start in range(first, number, SHARD):
        append_graphs(folder, molecules(min(SHARD, number - start), start // SHARD))
    return open_graphs(folder)


def large_graph(num_edges: int) -> PackedGraphs:
    """A random graph of mean degree 10, with 255 graphs of 20 nodes; attributes are random."""
    generator = torch.Generator().manual_seed(SEED)
    nodes = num_edges // 10
    half = torch.randint(nodes, (2, num_edges // 2), generator=generator)
    small = molecules(255, 0)
    x = torch.rand(nodes + small.x.numel(), 4, generator=generator)
    edge_index = torch.cat([half, half.flip(0), small.edge_index], dim=1)
    return PackedGraphs(
        name="one large graph",
        x=x,
        in_channels=4,
        edge_index=edge_index,
        node_pointers=torch.cat([torch.zeros(1).long(), nodes + small.node_pointers]),
        edge_pointers=torch.cat([torch.zeros(1).long(), half.numel() + small.edge_pointers]),
        y=torch.cat([torch.zeros(1), small.targets]),
    )


def train_windows(folder: Path, name: str) -> dict[str, Any]:
    """Train on a graph set on disk for a number of windows."""
    stored = open_graphs(folder / name)
    windows: list[float] = []
    of_epoch = 0
    finish = Engine.finish_portion

    def counted(self: Engine) -> None:
        nonlocal of_epoch
        finish(self)
        assert isinstance(self.feed, Streamed)
        of_epoch = self.feed.num_portions
        windows.append(time.perf_counter())
        if len(windows) == WINDOWS[name]:
            raise Ended

    Engine.finish_portion = counted  # type: ignore[method-assign]
    number = len(stored)
    epochs = 1 if WINDOWS[name] > 1000 else RECIPE.epochs
    recipe = replace(RECIPE, epochs=epochs)
    split = Split.others(test=range(0, number, number // 1000))
    start = time.perf_counter()
    with suppress(Ended):
        train(stored, MODEL, recipe, [split], [SEED])
    return {
        "graphs": number,
        "windows": len(windows),
        "windows of an epoch": of_epoch,
        "seconds": round(time.perf_counter() - start, 1),
        "seconds to the end of the first window": round(windows[0] - start, 1),
    }


def compare(folder: Path, name: str) -> dict[str, Any]:
    """Alternate epochs of training on disk and in memory: graphs a second, without evaluation."""
    stored = open_graphs(folder / name)
    split, recipe = Split.others(), replace(RECIPE, epochs=ROUNDS + 1)
    cpu = torch.device("cpu")
    engines: dict[str, Engine] = {}
    sets: dict[str, PackedGraphs | StoredGraphs] = {"disk": stored, "memory": stored.load()}
    for kind, graphs in sets.items():
        network = new_members(MODEL, graphs, recipe, [SEED])
        engines[kind] = engine_for(graphs, network, recipe, [split], [SEED], cpu)
    walls: dict[str, list[float]] = {kind: [] for kind in engines}
    busy: dict[str, list[float]] = {kind: [] for kind in engines}
    for epoch in range(ROUNDS + 1):
        for kind, engine in engines.items():
            wall, cpu_time = time.perf_counter(), time.process_time()
            engine.network.train()
            engine.begin(epoch)
            for _ in engine.portions(epoch):
                for _ in range(engine.steps):
                    engine.step(engine.loss())
            if epoch:  # the first one maps files and allocates memory
                walls[kind].append(time.perf_counter() - wall)
                busy[kind].append(time.process_time() - cpu_time)
    ratios = [one / two for one, two in zip(walls["memory"], walls["disk"], strict=True)]
    return {
        "graphs": len(stored),
        "rounds": ROUNDS,
        "graphs/s": {kind: round(len(stored) / median(own)) for kind, own in walls.items()},
        "CPU seconds an epoch": {kind: round(median(own), 2) for kind, own in busy.items()},
        "disk to memory, by round": [round(ratio, 3) for ratio in ratios],
        "disk to memory": round(median(ratios), 3),
    }


def train_large(_: Path, name: str) -> dict[str, Any]:
    """Train on a graph set with one large graph."""
    graphs = large_graph(int(name))
    start = time.perf_counter()
    split = Split.others(test=range(1, 9))
    [trained] = train(graphs, LARGE_MODEL, LARGE_RECIPE, [split], [SEED])
    assert trained.history.diverged is None
    seconds = time.perf_counter() - start
    return {"edges": int(name), "seconds": round(seconds, 2)}


def step_large(_: Path, name: str) -> dict[str, Any]:
    """Measure training steps on a large graph and a small one: the minimum of several."""
    graphs = large_graph(int(name)).subset(torch.tensor([0, 1]))
    recipe = LARGE_RECIPE
    network = new_members(LARGE_MODEL, graphs, recipe, [SEED])
    engine = engine_for(graphs, network, recipe, [Split.others()], [SEED], torch.device("cpu"))
    engine.network.train()
    times = []
    for epoch in range(STEPS):
        engine.begin(epoch)
        for _portion in engine.portions(epoch):
            start = time.perf_counter()
            engine.step(engine.loss())
            times.append(time.perf_counter() - start)
    return {"edges": int(name), "step, s": round(min(times), 4)}


def train_together(folder: Path, name: str) -> dict[str, Any]:
    """Train in processes of `torchrun`; return what the first of them has measured."""
    processes, case = name.split(":")
    number, _ = PROCESSES[processes]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={number}", __file__, str(folder), "part", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(next(own for own in done.stdout.splitlines() if own.startswith("{")))
    return {"processes": processes, "case": case, "graphs/s": found["graphs/s"]}


def train_part(folder: Path, name: str) -> dict[str, Any]:
    """Train as one of several processes: graphs a second, without the first epoch."""
    processes, case = name.split(":")
    _, local = PROCESSES[processes]
    parameters, batch_size = SHARED[case]
    stored = open_graphs(folder / next(iter(FEW)))
    model = replace(MODEL, parameters={**MODEL.parameters, **parameters})
    seconds = {}
    with process_group("cpu"):
        for epochs in (1, 1 + ROUNDS):
            recipe = replace(RECIPE, epochs=epochs, batch_size=batch_size)
            start = time.perf_counter()
            train(stored, model, recipe, [Split.others()], [SEED], local_statistics=local)
            seconds[epochs] = time.perf_counter() - start
    rate = ROUNDS * len(stored) / (seconds[1 + ROUNDS] - seconds[1])
    return {"graphs/s": round(rate)}


TASKS: dict[str, Callable[[Path, str], dict[str, Any]]] = {
    "windows": train_windows,
    "compare": compare,
    "large": train_large,
    "step": step_large,
    "together": train_together,
    "part": train_part,
}


def measured(folder: Path, task: str, name: str) -> dict[str, Any]:
    """Run a task in a process of its own, and add its peak memory and the load before."""
    load = os.getloadavg()[0]
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder), task, name],
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        text=True,
    )
    peak = 0
    while process.poll() is None:
        own = sum(_anonymous_bytes(pid) for pid in _family(process.pid))
        peak = max(peak, own)
        time.sleep(0.02)
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    if process.returncode:
        raise SystemExit(f"{task} {name} failed")
    found = json.loads(lines[-1])
    before = found.pop("bytes before")
    found |= {
        "peak, MB": round(peak / 1e6),
        "peak beyond imports, MB": round((peak - before) / 1e6),
    }
    print(task, name, found, flush=True)
    return {**found, "load": round(load, 1)}


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *[own for child in children for own in _family(int(child))]]


def _anonymous_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def exponent(rows: Sequence[dict[str, Any]], cost: str) -> float:
    """Slope of a line that is fitted to the logarithms."""
    sizes, costs = [row["edges"] for row in rows], [row[cost] for row in rows]
    return round(float(np.polyfit(np.log(sizes), np.log(costs), 1)[0]), 2)


def commit() -> str:
    """The commit of the code, with a mark if files were changed."""
    command = ["git", "-C", str(PAGE), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def processes(folder: Path) -> dict[str, Any]:
    """Measure the throughput of several processes."""
    for name, number in FEW.items():
        generate(folder / name, number)
    cases = [f"{own}:{case}" for case in SHARED for own in PROCESSES]
    return {
        "commit": commit(),
        "rows": [measured(folder, "together", case) for case in cases],
    }


def measure(folder: Path) -> dict[str, Any]:
    """Run all measurements."""
    installed = installed_versions()
    content: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "seed": SEED,
        "versions": {name: installed[name] for name in PACKAGES if name in installed},
        "machine": dict(this_machine()),
        "model": MODEL.parameters,
        "batch_size": RECIPE.batch_size,
    }
    for name, number in NUMBERS.items():
        stored = generate(folder / name, number)
        content.setdefault("bytes on disk", {})[name] = sum(own.bytes for own in stored.records)
    content["together"] = processes(folder)
    content["windows"] = [measured(folder, "windows", name) for name in NUMBERS]
    content["compare"] = measured(folder, "compare", "1e5")
    content["compare"]["commit"] = content["commit"]
    content["large"] = measured(folder, "large", str(EDGES[-1]))
    steps = [measured(folder, "step", str(edges)) for edges in EDGES]
    content["growth"] = {
        "rows": steps,
        "exponents": {
            cost: exponent(steps, cost) for cost in ("step, s", "peak beyond imports, MB")
        },
    }
    return content


def page(content: dict[str, Any]) -> str:
    """Return the text of large.md."""
    versions = ", ".join(f"{name} {own}" for name, own in content["versions"].items())
    machine = ", ".join(f"{name} {own}" for name, own in content["machine"].items())
    windows, compared = content["windows"], content["compare"]
    large, growth = content["large"], content["growth"]
    peaks = [row["peak, MB"] for row in windows]
    rows = [
        f"| {row['graphs']:,} | {content['bytes on disk'][name] / 1e6:,.0f} | {row['windows']} | "
        f"{row['seconds']:,.0f} | {row['peak, MB']:,} | {row['load']} |"
        for name, row in zip(NUMBERS, windows, strict=True)
    ]
    steps = [
        f"| {row['edges']:,} | {row['step, s']:.3f} | {row['peak beyond imports, MB']:,} |"
        for row in growth["rows"]
    ]
    together_of = content["together"]
    rates_of = {(row["case"], row["processes"]): row["graphs/s"] for row in together_of["rows"]}
    together = "\n".join(
        f"| {case} | "
        + " | ".join(
            f"{rates_of[case, own]:,} ({rates_of[case, own] / rates_of[case, '1 process']:.2f})"
            for own in PROCESSES
        )
        + " |"
        for case in SHARED
    )
    runs = [*content.get("earlier comparisons", ()), compared]
    ratios = [run["disk to memory"] for run in runs]
    compared_table = "\n".join(
        f"| {run['commit']} | {run['load']} | {run['disk to memory']:.2f} | "
        f"{' '.join(f'{own:.2f}' for own in run['disk to memory, by round'])} |"
        for run in runs
    )
    rates, busy = compared["graphs/s"], compared["CPU seconds an epoch"]
    table, large_table = "\n".join(rows), "\n".join(steps)
    return f"""# Graph sets larger than memory, and large graphs

Written by `large.py` on {content["date"]} at commit {content["commit"]}; seed {content["seed"]}.
{versions}. {machine}; one thread for training and one that reads ahead. Memory is the largest sum
of RssAnon over all processes: without pages of mapped files, with Python and torch. "Load" is the
load average of the machine before a measurement, to which the measurements before it contribute up
to 2: above that, other processes used its two cores, and times are longer than on a free machine.

## Memory by the number of graphs

Graphs of {NODES} nodes and 21 edges with {LABELS} labels, one target; CLIP with k = 1, hidden 32,
T = 2, batches of {content["batch_size"]}, 1,000 test graphs. Of 4,000,000 graphs, an epoch has
{windows[-1]["windows of an epoch"]} windows, of which the first {WINDOWS["4e6"]} are measured.

| graphs | on disk, MB | windows | seconds | peak, MB | load |
| ---: | ---: | ---: | ---: | ---: | ---: |
{table}

The largest and the smallest peak differ by {100 * (max(peaks) / min(peaks) - 1):.1f} %.

## Throughput on disk and in memory

The same network and {compared["graphs"]:,} graphs; epochs on disk and in memory alternate in one
process, {compared["rounds"]} rounds, without evaluation. Load average {compared["load"]}.

| | on disk | in memory |
| --- | ---: | ---: |
| graphs a second, median | {rates["disk"]:,} | {rates["memory"]:,} |
| CPU seconds an epoch, all threads, median | {busy["disk"]} | {busy["memory"]} |

All comparisons that were made, in their order; "disk to memory" is the median ratio of throughput:

| commit | load | disk to memory | by round |
| --- | ---: | ---: | --- |
{compared_table}

The medians are {min(ratios):.2f} to {max(ratios):.2f}. The target is 0.9. Where other processes use
the two cores (a load of 3 and more), training and reading compete for them, and rounds of one run
differ by more than what is measured.

## Several processes

`torchrun` on the two cores, one thread each, {FEW["2e4"]:,} graphs on disk, {ROUNDS} epochs after
the first one, without evaluation, at commit {together_of["commit"]}; graphs a second of all
processes, and their ratio to one process. Small network: that above. Large network: k = 2, hidden
64, T = 3. A process also has a thread that reads ahead, for which two processes leave no core.

| | {" | ".join(PROCESSES)} |
| --- | ---: | ---: | ---: |
{together}

With shared statistics, a step has two exchanges for each normalization (five in the small network),
and two more. An exchange between two processes took 0.2 to 0.7 ms in trial runs, and a step of the
small network on 128 graphs 3.4 ms in one process: there, several processes are slower than one.

More than two processes, and several machines, have not been measured: there are two cores.

## Large graphs

256 graphs, of which one has {large["edges"]:,} edges (both directions) and
{large["edges"] // 10:,} nodes, with `max_nodes={LARGE_RECIPE.max_nodes}`, k = 1, hidden 32, T = 2:
{LARGE_RECIPE.epochs} epochs with evaluation took {large["seconds"]:.1f} s and
{large["peak, MB"]:,} MB.

A training step on a large graph and one of 20 nodes; minimum of {STEPS}, and peak memory of the
process beyond that after its imports:

| edges | step, s | memory, MB |
| ---: | ---: | ---: |
{large_table}

Fitted exponents: time {growth["exponents"]["step, s"]:.2f}, memory
{growth["exponents"]["peak beyond imports, MB"]:.2f}.
"""


def main() -> None:
    """Run one task, or all of them, or only write the page again."""
    if len(sys.argv) == 4:
        torch.set_num_threads(1)
        before = _anonymous_bytes(os.getpid())
        folder, task, name = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
        found = {**TASKS[task](folder, name), "bytes before": before}
        if os.environ.get("RANK", "0") == "0":  # one of the processes of torchrun
            print(json.dumps(found))
        return
    path = PAGE / "large.json"
    if sys.argv[2:] == ["--processes"]:
        content = json.loads(path.read_text())
        content["together"] = processes(Path(sys.argv[1]))
        path.write_text(json.dumps(content, indent=1) + "\n")
    if len(sys.argv) == 2:
        earlier = json.loads(path.read_text()) if path.exists() else {}
        content = measure(Path(sys.argv[1]))
        if earlier:  # no comparison is left out
            earlier_runs = [*earlier.get("earlier comparisons", ()), earlier["compare"]]
            content["earlier comparisons"] = earlier_runs
        path.write_text(json.dumps(content, indent=1) + "\n")
    (PAGE / "large.md").write_text(page(json.loads(path.read_text())))


if __name__ == "__main__":
    main()
