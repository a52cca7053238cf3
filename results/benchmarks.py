"""Write benchmarks.md and benchmarks.svg from the numbers that `clipgnn bench` has saved.

    clipgnn bench --output results/benchmarks-cpu.json
    clipgnn bench --device cuda --seconds 1 --output results/benchmarks-gpu.json
    python results/benchmarks.py

Every file `benchmarks-*.json` of this folder is read; a device can have several of them, each with
other measurements.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from clipgnn.bench import MEASUREMENTS
from clipgnn.bench.comparison import Comparison
from clipgnn.bench.growth import Growth
from clipgnn.bench.measurement import Row, measurement_named
from clipgnn.bench.memory import Memory
from clipgnn.bench.record import Record

FOLDER = Path(__file__).parent
TARGETS = {
    ("training", "MUTAG"): 3,
    ("training", "IMDB-MULTI"): 4,
    ("training", "PROTEINS"): 4,
    ("inference", "MUTAG"): 4,
    ("inference", "IMDB-MULTI"): 4,
    ("inference", "PROTEINS"): 4,
}
"""Smallest ratio to the speed of PyTorch Geometric that we aim at on two CPU cores."""

QUIET = 0.3
"""Largest load average before a run on the CPU whose rates are not affected by other processes."""

SUPERLINEAR = 1.1
"""Smallest exponent that is called more than linear."""


def read_records() -> dict[str, Record]:
    """Read all saved numbers, by the name of their file."""
    paths = sorted(FOLDER.glob("benchmarks-*.json"))
    return {path.name: Record.from_json(path.read_text()) for path in paths}


def page(records: Mapping[str, Record]) -> str:
    """Return the text of benchmarks.md."""
    blocks = [
        "# Benchmarks",
        "Written by `benchmarks.py` from the numbers that `clipgnn bench --output` has saved; "
        "[commands, versions and machines](#runs) are below. PyG is the same network written with "
        "PyTorch Geometric (`src/clipgnn/bench/peer.py`), measured in the same run.",
        "![Speed, memory and growth](benchmarks.svg)",
        "## What falls short",
        "\n".join(f"- {line}" for line in shortcomings(records)),
    ]
    for name in MEASUREMENTS:
        found = [record for record in records.values() if record.rows.get(name)]
        if found:
            measurement = measurement_named(name)
            blocks += [f"## {measurement.title}", measurement.note]
        for record in found:
            rows = record.rows[name]
            blocks += [f"{machine(record)}:", table(rows)]
            blocks += [line for row in rows if (line := row.remark())]
    blocks += large_graphs()
    blocks.append("## Runs")
    for file, record in records.items():
        blocks.append(f"`{file}`, {record.date}: `{record.command}`. {record.provenance()}")
    return "\n\n".join(blocks) + "\n"


def large_graphs() -> list[str]:
    """Return the growth of the cost with the edges of one graph, which `large.py` measures."""
    path = FOLDER / "large.json"
    if not path.exists():
        return []
    content = json.loads(path.read_text())
    growth = content["growth"]
    lines = ["| edges | step, s | memory, MB |", "| ---: | ---: | ---: |"]
    lines += [
        f"| {row['edges']:,} | {row['step, s']:.3f} | {row['peak beyond imports, MB']:,} |"
        for row in growth["rows"]
    ]
    time, memory = growth["exponents"].values()
    machine = content["machine"]
    return [
        "## Growth with the edges of one graph",
        "A training step on the CPU with one large graph of mean degree 10 (edges in both "
        "directions) and one of 20 nodes; k = 1, T = 2, hidden 32, one thread. Minimum of 20 "
        "steps, and peak memory (RssAnon) of the process beyond that after its imports. "
        f"[large.md](large.md) has how it was measured. Fitted exponents: time {time:.2f}, memory "
        f"{memory:.2f}.",
        f"{machine['processor']}, {machine['cores']} cores:",
        "\n".join(lines),
    ]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    headings = list(rows[0].cells())
    lines = [headings, ["---", *["---:"] * (len(headings) - 1)]]
    lines += [list(row.cells().values()) for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def machine(record: Record) -> str:
    """Return the device of a record in words."""
    if record.plan.on_gpu:
        return record.machine.get("accelerator", "GPU")
    return f"{record.machine['processor']}, {record.plan.workers} cores"


def shortcomings(records: Mapping[str, Record]) -> Iterator[str]:
    """Return what the numbers do not reach, and what they do not show."""
    for file, record in records.items():
        if not record.plan.on_gpu and record.load > QUIET:
            yield (
                f"**The rates of `{file}` are not reliable.** The load average before the run was "
                f"{record.load}, so other processes used the cores. PyTorch Geometric, with its "
                "several threads, loses most by that, and ratios can be far too high."
            )
    for record in records.values():
        yield from _missed_targets(record)
        yield from _memory_of_all_cores(record)
        yield from _superlinear_growth(record)
    yield (
        "On the CPU the two use the cores in different ways: PyTorch Geometric with one process of "
        "several threads, as it does by default, and clipgnn with one process for each core. "
        "PyTorch Geometric with one process for each core is not measured."
    )
    if not any(record.plan.on_gpu for record in records.values()):
        yield "Nothing has been measured on a GPU yet."


def _missed_targets(record: Record) -> Iterator[str]:
    if record.plan.on_gpu or record.plan.workers != 2:
        return
    for (name, dataset), target in TARGETS.items():
        for row in record.rows.get(name, ()):
            own = isinstance(row, Comparison) and row.setting.dataset == dataset
            if own and row.ratio < target:
                yield (
                    f"{name.capitalize()} on {dataset} is {row.ratio:.1f} times as fast as PyTorch "
                    f"Geometric on two cores; the target is {target}."
                )


def _memory_of_all_cores(record: Record) -> Iterator[str]:
    if record.plan.on_gpu:
        return
    workers = record.plan.workers
    for row in record.rows.get("memory", ()):
        if isinstance(row, Memory) and workers * row.medians[0] > row.medians[1]:
            yield (
                f"On {row.setting.dataset}, the {workers} processes of clipgnn together need more "
                f"memory ({workers * row.medians[0]:,.0f} MB) than the one process of PyTorch "
                f"Geometric ({row.medians[1]:,.0f} MB)."
            )


def _superlinear_growth(record: Record) -> Iterator[str]:
    for row in record.rows.get("growth", ()):
        if isinstance(row, Growth) and row.exponent >= SUPERLINEAR:
            yield (
                f"The cost ({row.cost}) grows more than linearly with {row.quantity}: exponent "
                f"{row.exponent:.2f} on {machine(record)}."
            )


def plot(records: Mapping[str, Record]) -> Figure:
    """Draw ratios of speed, peak memory, and growth of cost, as far as they were measured."""
    figure = Figure(figsize=(15, 4.5), layout="constrained")
    speed, memory, growth = figure.subplots(1, 3)
    ratios, peaks = {}, {}
    for record in records.values():
        device = "GPU" if record.plan.on_gpu else "CPU"
        for name in ("training", "inference"):
            for row in record.rows.get(name, ()):
                if isinstance(row, Comparison):
                    ratios[f"{row.setting.dataset}\n{name}, {device}"] = [row.ratio]
        for row in record.rows.get("memory", ()):
            if isinstance(row, Memory):
                peaks[f"{row.setting.dataset}, {device}"] = list(row.medians)
        for row in record.rows.get("growth", ()):
            if isinstance(row, Growth):
                label = f"{row.quantity}, {row.cost.split(',')[0]}, {device}: {row.exponent:.2f}"
                costs = [cost / row.costs[0] for cost in row.costs]
                growth.plot([size / row.sizes[0] for size in row.sizes], costs, "o-", label=label)
    _bars(speed, ratios, ["clipgnn / PyG"], "Speed compared with PyTorch Geometric")
    speed.axvline(1, color="black", linewidth=1)
    _bars(memory, peaks, ["clipgnn", "PyG"], "Peak memory of training (MB)")
    growth.plot([1, 8], [1, 8], ":", color="black", label="linear")
    growth.set(
        title="Growth of cost (exponents)",
        xscale="log",
        yscale="log",
        xlabel="size / smallest size",
        ylabel="cost / cost of the smallest size",
    )
    for axis in (growth.xaxis, growth.yaxis):
        axis.set_major_locator(FixedLocator([1, 2, 4, 8, 16]))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    growth.legend(fontsize=8)
    measured = {name for record in records.values() for name, rows in record.rows.items() if rows}
    for axes, names in (
        (speed, {"training", "inference"}),
        (memory, {"memory"}),
        (growth, {"growth"}),
    ):
        if not names & measured:
            axes.remove()
    return figure


def _bars(
    axes: Axes, values: Mapping[str, Sequence[float]], labels: Sequence[str], title: str
) -> None:
    """Draw horizontal bars, one for each label, in groups."""
    height = 0.8 / len(labels)
    for number, label in enumerate(labels):
        places = [place + number * height for place in range(len(values))]
        lengths = [own[number] for own in values.values()]
        bars = axes.barh(places, lengths, height, label=label)
        axes.bar_label(bars, fmt="{:,.3g}", padding=2, fontsize=8)
    centers = [place + height * (len(labels) - 1) / 2 for place in range(len(values))]
    axes.set_yticks(centers, list(values), fontsize=8)
    axes.invert_yaxis()
    longest = max((max(own) for own in values.values()), default=1.0)
    shortest = min((min(own) for own in values.values()), default=1.0)
    axes.set(title=title, xscale="log", xlim=(min(1.0, shortest / 2), 2 * longest))
    axes.xaxis.set_major_formatter("{x:,.4g}")
    if len(labels) > 1:
        axes.legend(fontsize=8)


def main() -> None:
    """Write the page and the plot."""
    records = read_records()
    (FOLDER / "benchmarks.md").write_text(page(records))
    with mpl.rc_context({"svg.hashsalt": "benchmarks", "svg.fonttype": "none"}):
        plot(records).savefig(FOLDER / "benchmarks.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
