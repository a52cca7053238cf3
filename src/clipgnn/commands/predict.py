"""`clipgnn predict`."""

import csv
import io
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from clipgnn.commands.learning import Quiet
from clipgnn.commands.models import (
    Model,
    PredictionOptions,
    names_of_targets,
    read_for,
    task_of,
)
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.output import check_output
from clipgnn.commands.sources import Data, Selection, SourceOptions, select
from clipgnn.commands.targets import Task
from clipgnn.commands.terminal import terminal
from clipgnn.commands.warning_lines import warnings_as_lines
from clipgnn.errors import counted, one_line
from clipgnn.writing import write_file


@with_option_groups
def predict(
    model: Model,
    data: Data,
    source: SourceOptions,
    prediction: PredictionOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV file; by default the standard output."),
    ] = None,
    spread: Annotated[
        bool,
        typer.Option(
            "--spread", help="Add standard deviations over networks and draws of colorings."
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Predict the targets of graphs with a trained model.

    The CSV file has a row for each graph, in their order: where it is, its own columns, its
    predictions, and why there are none if it cannot be read; the exit status is then 1.

    Example: clipgnn predict model.safetensors molecules.csv -o predictions.csv
    """
    if output is not None:
        check_output(output)
    fitted = prediction.load(model)
    found = source.read(data)
    with warnings_as_lines():
        chosen = select(found, partial(read_for, fitted), {}, strict=source.strict)
        columns = predicted_columns(fitted, chosen, spread=spread)
    content = as_csv(chosen, columns)
    if output is None:
        typer.echo(content, nl=False)
    else:
        write_file(output, content.encode())
    if not quiet:
        predictions = counted(len(chosen.numbers), "prediction")
        where = "" if output is None else f" in {output}"
        terminal(stderr=True).print(one_line(f"{predictions}{where}."))
    raise typer.Exit(chosen.status)


def predicted_columns(fitted: Any, chosen: Selection, *, spread: bool) -> dict[str, list[Any]]:
    """Return the columns of predictions for the selected graphs."""
    names = names_of_targets(fitted)
    graphs = chosen.graphs
    if task_of(fitted) is Task.classification:
        probabilities = fitted.predict_proba(graphs)
        classes = fitted.classes_.tolist()
        best = probabilities.argmax(axis=1).tolist()
        columns = {f"predicted_{names[0]}": [classes[own] for own in best]}
        columns |= _columns("probability", classes, probabilities)
        return columns | (
            _columns("spread", classes, fitted.predict_spread(graphs)) if spread else {}
        )
    columns = _columns("predicted", names, fitted.predict(graphs))
    return columns | (_columns("spread", names, fitted.predict_spread(graphs)) if spread else {})


def _columns(prefix: str, names: list[Any], values: Any) -> dict[str, list[Any]]:
    table = values.reshape(len(values), -1)
    return {f"{prefix}_{name}": table[:, own].tolist() for own, name in enumerate(names)}


def as_csv(chosen: Selection, columns: Mapping[str, list[Any]]) -> str:
    """Return a table with a row for each graph of the source."""
    entries = chosen.source.entries
    before = {
        "graph": [own.place for own in entries],
        **{name: [own.given[name] for own in entries] for name in entries[0].given},
        **{name: [own.values.get(name, "") for own in entries] for name in chosen.source.columns},
    }
    place = {number: row for row, number in enumerate(chosen.numbers)}
    predicted = {
        name: [values[place[number]] if number in place else "" for number in range(len(entries))]
        for name, values in columns.items()
    }
    problems = [chosen.problems.get(number, "") for number in range(len(entries))]
    # Predictions come last, so that they replace columns of the same name.
    table = {**before, **predicted, **({"problem": problems} if chosen.problems else {})}
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))
    return file.getvalue()
