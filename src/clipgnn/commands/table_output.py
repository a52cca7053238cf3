"""Tables of results, printed to the terminal or written to a file."""

from pathlib import Path

from clipgnn.commands.output import check_output
from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.evaluation import evaluate
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.store import Store
from clipgnn.report import FORMATS, make_table, provenance, terminal_table
from clipgnn.writing import write_file


def format_of(name: str | None, output: Path | None) -> str:
    """Return the name of the format to write: the given one, or that of the file's ending.

    Raises:
        InvalidParameterError: if there is no such format, or neither the name nor the ending of
            the file determines one.
        OutputError: if the file cannot be written.
    """
    if name is not None and name not in FORMATS:
        raise InvalidParameterError(
            f"--format must be one of {', '.join(FORMATS)}. Got {name!r}."
            f"{suggestion(name, FORMATS)}"
        )
    if output is None:
        return name or "terminal"
    check_output(output)
    endings = {own.ending: format_name for format_name, own in FORMATS.items()}
    ending = output.suffix.lower()
    if name is None and ending not in endings:
        raise InvalidParameterError(
            f"--output must end in {', '.join(endings)}, or --format must be given. Got {output}."
        )
    return name or endings[ending]


def write_table(
    experiment: Experiment, store: Store, protocol: str, format_name: str, output: Path | None
) -> None:
    """Print the table of an experiment, or write it to a file atomically."""
    results = store.results()
    cells = evaluate(experiment, results, protocol, store.diverged())
    table = make_table(experiment, cells, protocol, provenance(experiment, store, results))
    if output is not None:
        write_file(output, FORMATS[format_name].render(table).encode())
    elif format_name == "terminal":
        terminal().print(terminal_table(table), soft_wrap=False)
    else:
        print(FORMATS[format_name].render(table), end="")
