"""The argument DATA of commands, and its options: graphs of a data set or of files."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clipgnn.commands.terminal import terminal
from clipgnn.errors import DatasetFileError, InvalidGraphError, counted, one_line
from clipgnn.parameters.datasets import DATA_FORMATS

if TYPE_CHECKING:  # importing them imports torch, which --help does not need
    from clipgnn.datasets.graph_files.entries import GraphFile
    from clipgnn.graphs.packed import PackedGraphs

REMOVED_SHARE = 0.1
"""Share of graphs that are left out because they do not fit to the others; more are an error."""

MOST_PROBLEMS = 10
"""Number of graphs with problems that are listed one by one."""

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Graphs: the name or folder of a TU data set, JSON lines of node-link graphs "
        "(.jsonl), graph6 or sparse6 (.g6, .s6), GraphML or GML files (a file or a folder), GIN "
        "text (.txt), or a CSV file of SMILES.",
    ),
]


@dataclass(frozen=True)
class SourceOptions:
    """Options of the commands that read graphs."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"Format of DATA: {', '.join(DATA_FORMATS)}; by default recognized.",
            autocompletion=lambda: list(DATA_FORMATS),
        ),
    ] = None
    labels: Annotated[
        Path | None,
        typer.Option(
            help="CSV file with columns for the graphs of DATA: with a column 'file' for a folder, "
            "otherwise with a row for each graph in their order."
        ),
    ] = None
    smiles_column: Annotated[
        str | None, typer.Option(help="Column of SMILES; by default 'smiles'.")
    ] = None
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the TU data sets; by default $CLIPGNN_DATA or the cache."),
    ] = None
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at a graph that cannot be used, instead of leaving it out."
        ),
    ] = False

    def read(self, data: str) -> "GraphFile":
        """Read the graphs of DATA.

        Raises:
            ClipGNNError: if there are no such graphs, or none can be read.
        """
        from clipgnn.datasets.sources import open_source

        source = open_source(
            data,
            format=self.format,
            labels=self.labels,
            smiles_column=self.smiles_column,
            root=self.root,
        )
        if not source.valid:
            first = source.entries[0]
            raise DatasetFileError(
                f"{source.name} must have graphs in the format {source.format}. None of its "
                f"{counted(len(source.entries), 'graph')} can be read; {first.place}: "
                f"{first.problem}"
            )
        return source


@dataclass(frozen=True)
class Selection:
    """The graphs of a source that can be used.

    Attributes:
        source: the source.
        numbers: numbers of the graphs that are used.
        graphs: these graphs.
        problems: why other graphs are not used, by their numbers.
    """

    source: "GraphFile"
    numbers: Sequence[int]
    graphs: "PackedGraphs"
    problems: Mapping[int, str]

    @property
    def status(self) -> int:
        """Exit status: 1 if there are graphs that are not used."""
        return 1 if self.problems else 0


def select(
    source: "GraphFile",
    encode: Callable[[Any], "PackedGraphs"],
    problems: Mapping[int, str],
    *,
    strict: bool,
) -> Selection:
    """Select the graphs of a source that can be read and encoded, and report all others.

    Args:
        source: the source.
        encode: function that reads graphs into a data set.
        problems: why graphs cannot be used for other reasons, such as missing targets.
        strict: whether the first problem is an error.

    Raises:
        DatasetFileError: if `strict` is true and there is a problem, or no graph is left.
        InvalidGraphError: if none of the graphs can be encoded, or not all of them together.
    """
    found = {
        number: own.problem for number, own in enumerate(source.entries) if own.problem is not None
    }
    found.update({number: own for number, own in problems.items() if number not in found})
    numbers = [number for number in source.valid if number not in found]
    if not numbers:
        raise DatasetFileError(
            f"{source.name} must have graphs that can be used. {_first(source, found)}"
        )
    graphs, invalid = _encoded(source, encode, numbers)
    found.update(invalid)
    numbers = [number for number in numbers if number not in invalid]
    if found and strict:
        raise DatasetFileError(f"{_first(source, found)} Leave out --strict to skip such graphs.")
    _report(source, found)
    return Selection(source, numbers, graphs, dict(sorted(found.items())))


def _encoded(
    source: "GraphFile", encode: Callable[[Any], "PackedGraphs"], numbers: Sequence[int]
) -> tuple["PackedGraphs", dict[int, str]]:
    """Encode the graphs that can be encoded together, and say why the others cannot.

    Raises:
        InvalidGraphError: if none can be encoded, or too many do not fit to the others.
    """
    try:
        return encode(source.graphs(numbers)), {}
    except InvalidGraphError:
        if source.packed is not None:
            raise
    invalid = {number: own for number in numbers if (own := _problem(source, encode, number))}
    left = [number for number in numbers if number not in invalid] or list(numbers)
    allowed = max(1, int(REMOVED_SHARE * len(left)))
    while True:
        try:
            return encode(source.graphs(left)), invalid
        except InvalidGraphError as error:
            named = re.search(r"graph ([0-9]+)", str(error))
            if len(invalid) == len(numbers) or named is None:
                raise
            number = left.pop(min(int(named[1]), len(left) - 1))
            message = str(error).replace(named[0], source.entries[number].place)
            if allowed == 0 or not left:
                raise InvalidGraphError(f"{source.name}: {message}") from error
            invalid[number] = message
            allowed -= 1


def _problem(source: "GraphFile", encode: Callable[[Any], Any], number: int) -> str | None:
    try:
        encode(source.graphs([number]))
    except InvalidGraphError as error:
        return str(error)
    return None


def _first(source: "GraphFile", problems: Mapping[int, str]) -> str:
    number = min(problems)
    return f"{source.name}, {source.entries[number].place}: {problems[number]}"


def _report(source: "GraphFile", problems: Mapping[int, str]) -> None:
    """Print the graphs that are left out to standard error."""
    found = [(source.entries[number].place, problems[number]) for number in sorted(problems)]
    report_left_out(source.name, found, len(source.entries))


def report_left_out(source: str, problems: Sequence[tuple[str, str]], given: int) -> None:
    """Print graphs that are left out to standard error, the first ones by their places.

    Args:
        source: name of the source.
        problems: places and reasons.
        given: number of all graphs.
    """
    if not problems:
        return
    console = terminal(stderr=True)
    for place, problem in problems[:MOST_PROBLEMS]:
        console.print(one_line(f"{source}, {place}: {problem}"), style="yellow")
    more = len(problems) - MOST_PROBLEMS
    rest = f"{more} more like these; " if more > 0 else ""
    console.print(
        f"{rest}{len(problems)} of {counted(given, 'graph')} left out.",
        style="yellow",
    )
