"""From the chunks of all graphs to shards: targets, encoding, graphs that do not fit."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from clipgnn.datasets.conversion.chunk_targets import FactsTask, TargetPlan, facts_of, plan_targets
from clipgnn.datasets.conversion.folder import REJECTED, ConversionFolder
from clipgnn.datasets.conversion.options import (
    Converted,
    ConvertOptions,
    Rejected,
    RejectedGraphError,
)
from clipgnn.datasets.conversion.pool import Run
from clipgnn.datasets.conversion.shards import ShardTask, shard_chunks, write_chunks
from clipgnn.datasets.conversion.vocabulary import (
    Summary,
    SummaryTask,
    encoding_of,
    needs_all_values,
    summary_of,
)
from clipgnn.errors import DatasetFileError, InvalidGraphError, counted
from clipgnn.graphs.storage.schema import Schema
from clipgnn.graphs.storage.shard import ShardRecord
from clipgnn.graphs.storage.stored import (
    StoredGraphs,
    TargetNames,
    record_shards,
    shard_path,
)
from clipgnn.parameters.targets import Task
from clipgnn.writing import write_file

REMOVED_SHARE = 0.1
"""Share of graphs that are left out because they do not fit to the others; more are an error."""


def store_chunks(
    target: ConversionFolder,
    source: str,
    format: str,
    count: int,
    options: ConvertOptions,
    names: Sequence[str] | None,
    run: Run,
    report: Callable[[str, int, int | None], None],
) -> Converted:
    """Encode the graphs of all chunks, and write shards and their description.

    Args:
        target: the folder.
        source: name of the input.
        format: format of the input.
        count: number of chunks.
        options: the options.
        names: the targets; empty for none, None if they are not known yet.
        run: function that computes tasks.
        report: function that shows progress.

    Raises:
        DatasetFileError: if no graph can be used, or `strict` is true and one cannot.
        InvalidGraphError: if too many graphs cannot be encoded together.
        OutputError: if the folder cannot be written.
    """
    paths = [target.chunk(number) for number in range(count)]
    plan = None
    if names is None or names:
        plan = plan_targets(
            source,
            names,
            options.task,
            lambda full: run(facts_of, [FactsTask(path, full) for path in paths]),
        )
    excluded: dict[int, str] = {}
    firsts: list[int] | None = None
    while True:
        summaries = _summaries(paths, plan, excluded, firsts, run)
        firsts = [0, *accumulate(own.given for own in summaries)]
        rejected = [
            Rejected(first + position, place, problem)
            for first, own in zip(firsts, summaries, strict=False)
            for position, place, problem in own.rejected
        ]
        _check_rejected(source, format, firsts[-1], rejected, strict=options.strict)
        encoding = encoding_of(source, summaries, options.chosen)
        classes = sorted({own for summary in summaries for own in summary.classes})
        tasks = [
            ShardTask(
                path=shard_path(target.path, number),
                name=source,
                chunks=[
                    (paths[own], firsts[own], _positions(excluded, firsts[own], firsts[own + 1]))
                    for own in chunks
                ],
                targets=plan,
                classes=classes,
                encoding=encoding,
            )
            for number, chunks in enumerate(shard_chunks(summaries))
        ]
        records: list[ShardRecord] = []
        schema: Schema | None = None
        failures: dict[int, str] = {}
        for written in run(write_chunks, tasks):
            failures |= written.failures
            if written.record is not None:
                records.append(written.record)
                schema = schema or written.schema
            report("written", sum(own.graphs for own in records), firsts[-1] - len(rejected))
        if not failures:
            break
        excluded |= failures
        _check_share(source, excluded, firsts[-1])
    assert schema is not None
    target_names = None if plan is None else _target_names(plan, classes)
    stored = StoredGraphs(target.path, source, schema, tuple(records), target_names)
    finish(target, stored, source, firsts[-1], rejected, None if plan is None else plan.task)
    return Converted(stored, source, firsts[-1], rejected, None if plan is None else plan.task)


def finish(
    target: ConversionFolder,
    stored: StoredGraphs,
    source: str,
    given: int,
    rejected: Sequence[Rejected],
    task: Task | None,
) -> None:
    """Write the list of rejected graphs, the record, and at last the description of the graphs."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "place", "problem"])
    # Rows are numbered from 1, as in predictions for the graphs of the folder.
    writer.writerows((own.row + 1, own.place, own.problem) for own in rejected)
    write_file(target.path / REJECTED, text.getvalue().encode(errors="backslashreplace"))
    target.record(
        {"source": source, "graphs": given, "rejected": len(rejected), "task": task and str(task)}
    )
    record_shards(stored)


def _summaries(
    paths: Sequence[Any],
    plan: TargetPlan | None,
    excluded: Mapping[int, str],
    firsts: Sequence[int] | None,
    run: Run,
) -> list[Summary]:
    def tasks(full: bool) -> Iterable[SummaryTask]:
        for number, path in enumerate(paths):
            own = {}
            if firsts is not None:
                own = _positions(excluded, firsts[number], firsts[number + 1])
            yield SummaryTask(path, plan, own, full)

    found = list(run(summary_of, tasks(False)))
    return list(run(summary_of, tasks(True))) if needs_all_values(found) else found


def _positions(excluded: Mapping[int, str], first: int, end: int) -> dict[int, str]:
    """Excluded graphs of a chunk, by their positions in it."""
    return {row - first: own for row, own in excluded.items() if first <= row < end}


def _target_names(plan: TargetPlan, classes: Sequence[Any]) -> TargetNames:
    named = plan.task is Task.classification
    return TargetNames(plan.names, tuple(classes) if named else None)


def _check_rejected(
    source: str, format: str, given: int, rejected: Sequence[Rejected], *, strict: bool
) -> None:
    if len(rejected) == given:
        first = rejected[0]
        raise DatasetFileError(
            f"{source} must have graphs in the format {format}. None of its "
            f"{counted(given, 'graph')} can be used; {first.place}: {first.problem}"
        )
    if rejected and strict:
        first = rejected[0]
        raise RejectedGraphError(f"{source}, {first.place}: {first.problem}")


def _check_share(source: str, excluded: Mapping[int, str], given: int) -> None:
    if len(excluded) > max(1, int(REMOVED_SHARE * given)):
        raise InvalidGraphError(f"{source}: {excluded[min(excluded)]}")
