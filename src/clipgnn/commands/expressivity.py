"""`clipgnn expressivity`: which pairs of graphs networks distinguish."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands import options
from clipgnn.commands.experiment import run_and_report
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.parts import PartOptions
from clipgnn.commands.running import RunningOptions
from clipgnn.commands.stores import default_store
from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.parameters.datasets import PAIR_SETS

EXPERIMENT = "expressivity"
"""Name of the experiment whose rows are compared."""

SETS = {
    "brec": tuple(name for name in PAIR_SETS if name.startswith("brec-")),
    "csl": ("csl-pairs",),
    "atlas": ("atlas-pairs",),
}
"""Sets of pairs by a short name."""


@with_option_groups
def expressivity(
    running: RunningOptions,
    part: PartOptions,
    sets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SET]...",
            help="brec (from the folder of --root), one of its families such as brec-cfi, csl, "
            "atlas, or a file of graph6; by default csl and atlas.",
        ),
    ] = None,
    different: Annotated[
        bool,
        typer.Option(
            "--different",
            help="The graphs of a file are all different, and all pairs that color refinement "
            "does not distinguish are compared; otherwise the lines of a file are pairs.",
        ),
    ] = False,
    store: options.Store = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Train a network for each pair of graphs, and count the pairs that are distinguished.

    The comparison is that of BREC. Finished results are kept in the store, and the same command
    continues.

    Example: clipgnn expressivity brec --root BREC --models "CLIP canonical" --seeds 0,1,2
    """
    whole = read_experiment(find_experiment(EXPERIMENT))
    names = tuple(
        name for given in sets or ("csl", "atlas") for name in _names(given, different=different)
    )
    experiment = part.overrides()(_on(whole, tuple(dict.fromkeys(names))))
    run_and_report(
        experiment,
        store or default_store(EXPERIMENT),
        running.run_options((str(Path.cwd()),)),
        format_name,
        output,
        quiet=running.quiet,
    )


def _names(given: str, *, different: bool) -> tuple[str, ...]:
    if given in SETS:
        return SETS[given]
    if given in PAIR_SETS:
        return (given,)
    if Path(given).exists():
        return (f"{'different' if different else 'pairs'}:{given}",)
    known = [*SETS, *PAIR_SETS]
    raise InvalidParameterError(
        f"SET must be one of {', '.join(known)}, or a file of graph6. Got {given!r}."
        f"{suggestion(given, known)}"
    )


def _on(experiment: Experiment, names: tuple[str, ...]) -> Experiment:
    """Return the experiment on other sets of pairs."""
    rows = tuple(replace(row, datasets=names) for row in experiment.rows)
    return replace(experiment, datasets=names, rows=rows)
