"""`clipgnn inspect`."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.attributes import AttributeOptions
from clipgnn.commands.library_messages import library_messages
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, Selection, SourceOptions, select
from clipgnn.commands.targets import TargetNames, TaskOption
from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidParameterError, counted, one_line
from clipgnn.parameters.targets import Task
from clipgnn.writing import write_file

if TYPE_CHECKING:
    from clipgnn.datasets.graph_files.entries import GraphFile
    from clipgnn.datasets.summary import Range, Summary

MOST_LISTED = 12
"""Number of classes that are listed."""


@with_option_groups
def inspect(
    data: Data,
    source: SourceOptions,
    attributes: AttributeOptions,
    target: TargetNames = None,
    task: TaskOption = Task.auto,
    isomorphism: Annotated[
        bool,
        typer.Option(
            "--isomorphism",
            help="Test which graphs that message passing confuses are isomorphic; this can take "
            "long for regular graphs.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="JSON file to write the numbers to.")
    ] = None,
) -> None:
    """Describe graphs: sizes, attributes, targets, color groups and the suggested k.

    Example: clipgnn inspect graphs.jsonl
    """
    from clipgnn.datasets.summary import summarize

    if output is not None:
        check_output(output)
    found = source.read(data)
    with library_messages():
        chosen = select(found, attributes.read, {}, strict=source.strict)
    summary = summarize(chosen.graphs, isomorphism=isomorphism)
    lines = {
        **_sizes(found, summary),
        **_attributes(chosen),
        **_targets(found, target, task),
        **_colors(summary),
    }
    width = max(map(len, lines))
    console = terminal()
    for name, text in lines.items():
        console.print(one_line(f"{name:<{width}}  {text}"))
    if output is not None:
        record = {"data": found.name, "format": found.format, **asdict(summary)}
        write_file(output, (json.dumps(record, indent=2) + "\n").encode())
    raise typer.Exit(chosen.status)


def _sizes(found: "GraphFile", summary: "Summary") -> dict[str, str]:
    kind = "directed" if summary.directed else "undirected"
    weights = ", with weights" if summary.weighted else ""
    return {
        "data": f"{found.name} ({found.format})",
        "graphs": f"{summary.num_graphs} of {len(found.entries)}, {kind}{weights}",
        "nodes": _range(summary.nodes),
        "edges": _range(summary.edges),
        "neighbors of a node": _range(summary.degrees),
    }


def _attributes(chosen: Selection) -> dict[str, str]:
    graphs = chosen.graphs
    if graphs.encoding is None:
        return {"node attributes": counted(graphs.in_channels, "channel")}
    kinds = {
        "node attributes": graphs.encoding.nodes,
        "edge attributes": graphs.encoding.edges,
        "graph attributes": graphs.encoding.graphs,
    }
    return {
        title: "; ".join(_attribute(own) for own in known) or "none"
        for title, known in kinds.items()
    }


def _attribute(attribute: Any) -> str:
    values = getattr(attribute, "values", None)
    if values is None:
        return f"{attribute.name} (number)"
    return f"{attribute.name} ({counted(len(values), 'value')})"


def _targets(found: "GraphFile", target: list[str] | None, task: Task) -> dict[str, str]:
    from clipgnn.datasets.targets import read_targets  # imports torch

    columns = ", ".join(found.columns) or "none"
    try:
        targets = read_targets(found, target, task)
    except (DatasetFileError, InvalidParameterError) as error:
        if target:
            raise
        undecided = getattr(error, "parameter", None) == "task"
        return {"columns": columns, **({"targets": str(error)} if undecided else {})}
    known = [targets.values[own] for own in found.valid if own not in targets.problems]
    absent = [own for own in found.valid if own in targets.problems]
    missing = f", missing for {len(absent)}" if absent else ""
    lines = {"columns": columns}
    if targets.task is Task.classification:
        return lines | {f"classes of {targets.names[0]}": _counts(Counter(known)) + missing}
    for number, name in enumerate(targets.names):
        values = [row[number] for row in known if row[number] == row[number]]
        if values:
            mean = sum(values) / len(values)
            lines[f"numbers in {name}"] = (
                f"{min(values):g} to {max(values):g}, mean {mean:g}, {len(values)} known"
            )
    return lines


def _counts(counts: Mapping[Any, int]) -> str:
    listed = sorted(counts.items(), key=lambda own: (-own[1], str(own[0])))
    texts = [f"{name}: {count}" for name, count in listed[:MOST_LISTED]]
    more = len(listed) - MOST_LISTED
    return ", ".join([*texts, *([f"{more} more"] if more > 0 else [])])


def _colors(summary: "Summary") -> dict[str, str]:
    confused = f"{summary.confused} of {counted(summary.num_graphs, 'graph')}"
    if summary.confused_others is not None:
        confused += f"; {summary.confused_others} with a graph that is not isomorphic"
    elif summary.confused:
        confused += ", isomorphic copies included (--isomorphism tests which)"
    return {
        "largest group of identical nodes": _range(summary.groups),
        "colorings of a graph": (
            f"{_power(summary.colorings.smallest)} to {_power(summary.colorings.largest)}; "
            f"{counted(summary.one_coloring, 'graph')} with one"
        ),
        "nodes that message passing identifies": f"{100 * summary.identified:.1f} %",
        "graphs that 1-WL cannot distinguish": confused,
        "suggested number of colorings k": str(summary.suggested),
    }


def _range(found: "Range") -> str:
    return f"{found.smallest:g} to {found.largest:g}, mean {found.mean:.2f}"


def _power(logarithm: float) -> str:
    """Return a number given by its decimal logarithm.

    Example:
        >>> _power(0.0), _power(2.079181), _power(23.4)
        ('1', '120', '2.5e23')
    """
    if logarithm < 6:
        return f"{10**logarithm:.0f}"
    whole = int(logarithm)
    return f"{10 ** (logarithm - whole):.1f}e{whole}"
