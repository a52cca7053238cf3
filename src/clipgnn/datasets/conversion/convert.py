"""Conversion of files of graphs to folders of shards, in bounded memory."""

import csv
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from clipgnn import __version__
from clipgnn.datasets.conversion.all_chunks import store_chunks
from clipgnn.datasets.conversion.chunk_targets import NOT_A_TARGET
from clipgnn.datasets.conversion.folder import REJECTED, ConversionFolder
from clipgnn.datasets.conversion.inputs import (
    CHUNK_CHARACTERS,
    CHUNK_GRAPHS,
    StreamedFile,
    hash_of,
    open_input,
)
from clipgnn.datasets.conversion.options import (
    Converted,
    ConvertOptions,
    Rejected,
    RejectedGraphError,
)
from clipgnn.datasets.conversion.parsing import ParseTask, chunk_of_entries, parse_chunk
from clipgnn.datasets.conversion.pool import Run, workers
from clipgnn.datasets.conversion.whole import store_packed
from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.datasets.targets import task_of_columns, usual_name
from clipgnn.errors import DatasetFileError, suggestion
from clipgnn.graphs.storage.stored import open_graphs, shard_path
from clipgnn.parameters.targets import Task

Report = Callable[[str, int, int | None], None]
"""Function that shows progress: what is done, how many graphs, and of how many."""


def convert(
    data: str,
    folder: str | Path,
    options: ConvertOptions | None = None,
    report: Report = lambda *_: None,
) -> Converted:
    """Convert graphs to a folder that `PackedGraphs.open` opens.

    CSV files and .smi files of SMILES, JSON lines and graph6 are read in chunks. A conversion that
    was interrupted is continued by the same call.

    Args:
        data: a file, a folder or the name of a data set, as for `open_source`.
        folder: a new folder, or that of the same conversion.
        options: what is read, and how.
        report: function that shows progress.

    Raises:
        ClipGNNError: if the input or an option is not valid, no graph can be used, the folder has
            other content or cannot be written, or a worker was killed.
    """
    options = options or ConvertOptions()
    source = open_input(
        data,
        format=options.format,
        labels=options.labels,
        smiles_column=options.smiles_column,
        root=options.root,
    )
    identity, lines = _identity(data, source, options)
    target = ConversionFolder(Path(folder), identity, _versions(source.format))
    finished = target.finished
    if finished is not None:
        return _before(target.path, finished, strict=options.strict)
    if isinstance(source, GraphFile) and source.packed is not None:
        target.begin()
        converted = store_packed(source, target, options)
    else:
        names = _targets(source, options)
        target.begin()
        with workers(min(options.workers, _most_workers(source, lines))) as run:
            if isinstance(source, StreamedFile):
                count = _parse(source, target, names, options, run, report, lines)
                name = source.path.name
            else:
                count, name = _keep(source, target, names, options), source.name
            converted = store_chunks(
                target, name, source.format, count, options, names, run, report
            )
    target.finish()
    return converted


def _most_workers(source: StreamedFile | GraphFile, lines: int) -> int:
    """Number of workers that a source has work for; they take seconds to start."""
    if not isinstance(source, StreamedFile):
        return max(1, len(source.entries) // CHUNK_GRAPHS)
    return max(1, lines // CHUNK_GRAPHS, source.path.stat().st_size // CHUNK_CHARACTERS)


def _parse(
    source: StreamedFile,
    target: ConversionFolder,
    names: list[str] | None,
    options: ConvertOptions,
    run: Run,
    report: Report,
    lines: int,
) -> int:
    """Parse the chunks that are not finished; return the number of all."""
    sizes: list[int] = []
    done = 0

    def tasks() -> Iterator[ParseTask]:
        nonlocal done
        for number, raw in enumerate(source.chunks()):
            sizes.append(len(raw))
            path = target.chunk(number)
            if path.exists():
                done += len(raw)
                continue
            kept = raw
            if names is not None:
                kept = [
                    own._replace(values={n: own.values[n] for n in names if n in own.values})
                    for own in raw
                ]
            yield ParseTask(path, source.format, kept, names, options.chosen)

    for parsed in run(parse_chunk, tasks()):
        done += parsed
        report("read", done, max(lines, done))
    return len(sizes)


def _keep(
    source: GraphFile, target: ConversionFolder, names: list[str] | None, options: ConvertOptions
) -> int:
    """Write graphs in memory to chunks; return their number."""
    starts = range(0, len(source.entries), CHUNK_GRAPHS)
    for number, start in enumerate(starts):
        entries = source.entries[start : start + CHUNK_GRAPHS]
        chunk_of_entries(entries, names, options.chosen).save(target.chunk(number))
    return len(starts)


def _targets(source: StreamedFile | GraphFile, options: ConvertOptions) -> list[str] | None:
    """The columns to keep, where they are known before graphs are parsed; otherwise None.

    Raises:
        DatasetFileError: if there is no such column.
        InvalidParameterError: if the column must be given.
    """
    if options.targets is not None:
        task_of_columns(options.targets, options.task)
    columns = source.columns
    if columns is None or (options.targets is not None and not options.targets):
        return None if options.targets is None else list(options.targets)
    name = source.path.name if isinstance(source, StreamedFile) else source.name
    if options.targets is None:
        usable = [own for own in columns if own != NOT_A_TARGET]
        return [usual_name(name, usable)] if usable else []
    for own in options.targets:
        if own not in columns:
            raise DatasetFileError(
                f"{name} must have the column {own!r}. Got "
                f"{', '.join(map(repr, columns)) or 'none'}.{suggestion(own, columns)}"
            )
    return list(dict.fromkeys(options.targets))


def _identity(
    data: str, source: StreamedFile | GraphFile, options: ConvertOptions
) -> tuple[dict[str, Any], int]:
    """Input and options, and the number of lines of a file."""
    path = Path(data)
    lines = 0
    if path.exists():
        content, lines = hash_of(path)
    else:
        assert isinstance(source, GraphFile)
        assert source.packed is not None
        content = source.packed.fingerprint
    labels = None if options.labels is None else hash_of(options.labels)[0]
    identity = {"input": content, "format of the input": source.format, "labels": labels}
    return {**identity, **options.as_json()}, lines


def _versions(format: str) -> dict[str, str]:
    versions = {"clipgnn": __version__}
    if format == "smiles":
        try:
            versions["rdkit"] = version("rdkit")
        except PackageNotFoundError:  # an import says how to install it
            versions["rdkit"] = "none"
    return versions


def _before(path: Path, record: Any, *, strict: bool) -> Converted:
    """The conversion that was finished before, as it was reported then."""
    stored = open_graphs(path)
    for number, own in enumerate(stored.records):
        shard = shard_path(path, number)
        if not shard.is_file() or shard.stat().st_size != own.bytes:
            raise DatasetFileError(
                f"{shard} must have {own.bytes:,} bytes. It is missing or has another size. Remove "
                "the folder, and convert again."
            )
    try:
        result = record["result"]
        task = None if result["task"] is None else Task(result["task"])
        source, given = str(result["source"]), int(result["graphs"])
        with (path / REJECTED).open(newline="", encoding="utf-8") as file:
            rejected = [
                Rejected(int(own["row"]) - 1, own["place"], own["problem"])
                for own in csv.DictReader(file)
            ]
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise DatasetFileError(
            f"{path} must have the record of a conversion. It is damaged: {error!r}. Remove the "
            "folder, and convert again."
        ) from error
    if rejected and strict:
        raise RejectedGraphError(f"{source}, {rejected[0].place}: {rejected[0].problem}")
    return Converted(stored, source, given, rejected, task, before=True)
