"""`clipgnn expressivity`: which graphs networks distinguish, in pairs or by their classes."""

from collections.abc import Sequence
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
from clipgnn.experiments.experiment import Experiment, ModelRow
from clipgnn.experiments.plans import RUN_IN_PARTS
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.parameters.datasets import (
    BREC_FAMILIES,
    FILE_PREFIX,
    PAIR_PREFIXES,
    PAIR_SETS,
    looks_like_a_path,
)

PAIRS, CLASSES = RUN_IN_PARTS
"""Names of the experiments on pairs of graphs, and on files of graphs with classes."""

SETS = {
    "brec": BREC_FAMILIES,
    "csl": ("csl-pairs",),
    "atlas": ("atlas-pairs",),
    "atlas-6": ("atlas-6-pairs",),
}
"""Sets of pairs by a short name."""

LINES = tuple(prefix.removesuffix(":") for prefix in PAIR_PREFIXES)
"""What lines of a file of graph6 can be."""


@with_option_groups
def expressivity(
    running: RunningOptions,
    part: PartOptions,
    sets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SET",
            help="Pairs: brec (from the folder of --root), one of its families such as brec-cfi, "
            "csl, atlas, atlas-6, or a file of graph6; by default csl and atlas. Or files of "
            "graphs with classes, such as GIN text (.txt).",
        ),
    ] = None,
    lines: Annotated[
        str | None,
        typer.Option(
            metavar="CONTENT",
            help="What the lines of a file of graph6 are: pairs (1 and 2, 3 and 4, …), the "
            "default; different: graphs that are all different, of which all pairs that 1-WL does "
            "not distinguish are compared; copies: 64 lines for each pair, 32 relabeled copies of "
            "its two graphs in turn, which are used instead of random ones. Files can then have "
            "any ending.",
        ),
    ] = None,
    store: options.Store = None,
    format_name: options.Format = None,
    output: options.Output = None,
) -> None:
    """Train a network for each pair of graphs, and count the pairs that are distinguished.

    The comparison is that of BREC. Files of graphs with classes, such as EXP, are learned instead,
    in a cross-validation of ten folds with the two graphs of each pair in one fold; --groups none
    is for files without pairs. Finished results are kept in the store, and the same command
    continues.

    Example: clipgnn expressivity brec --root BREC --models "CLIP canonical" --seeds 0,1,2
    """
    if lines is not None and lines not in LINES:
        raise InvalidParameterError(
            f"--lines must be one of {', '.join(LINES)}. Got {lines!r}.{suggestion(lines, LINES)}"
        )
    names = tuple(
        name for given in sets or ("csl", "atlas") for name in _names(given, lines, running.root)
    )
    if lines is not None and not any(name.startswith(PAIR_PREFIXES) for name in names):
        raise InvalidParameterError(
            f"--lines must be given for a file of graph6 only. Got it for {', '.join(names)}."
        )
    chosen = _experiment_for(names)
    whole = read_experiment(find_experiment(chosen))
    overrides = part.overrides()
    experiment = overrides(on_sets(whole, tuple(dict.fromkeys(names)), overrides.models or ()))
    run_and_report(
        experiment,
        store or default_store(chosen),
        running.run_options((str(Path.cwd()),)),
        format_name,
        output,
        quiet=running.quiet,
    )


def _names(given: str, lines: str | None, root: Path | None) -> tuple[str, ...]:
    if given in SETS:
        return SETS[given]
    if given in PAIR_SETS:
        return (given,)
    path = _path(given, root)
    if path.exists():
        if lines is None and _has_classes(path):
            return (f"{FILE_PREFIX}{given}",)
        if not path.is_file():
            raise InvalidParameterError(_no_file(given, path, lines))
        return (f"{lines or LINES[0]}:{given}",)
    if looks_like_a_path(given):
        in_root = "" if root is None else f", also not in {str(root)!r}, the folder of --root"
        raise InvalidParameterError(
            f"SET must be an existing file. There is no file {given!r}{in_root}."
        )
    known = [*SETS, *PAIR_SETS]
    raise InvalidParameterError(
        f"SET must be one of {', '.join(known)}, or a file of graph6 or of graphs with classes. "
        f"Got {given!r}.{suggestion(given, known)}"
    )


def _no_file(given: str, path: Path, lines: str | None) -> str:
    """Explain why a folder or a pipe is no set."""
    kind = "a folder" if path.is_dir() else "a pipe or a device"
    if lines is not None:
        return f"SET must be a regular file of graph6 with --lines. {given!r} is {kind}."
    kind += " without graphs of a known format" * path.is_dir()
    return (
        "SET must be a regular file, which every trial reads, or a folder of graphs with classes. "
        f"{given!r} is {kind}."
    )


def _path(given: str, root: Path | None) -> Path:
    if root is None:
        return Path(given)
    from clipgnn.datasets.graph_files import file_in  # imports torch

    return file_in(Path(given), root)


def _has_classes(path: Path) -> bool:
    """Return whether a file or folder is of a format other than graph6, by the ending of a file.

    Raises:
        InvalidParameterError: if a file with such an ending has graph6.
    """
    from clipgnn.datasets.graph_files import graph6, recognized_format  # imports torch
    from clipgnn.datasets.sources import is_graph_folder

    if path.is_dir():
        return is_graph_folder(path)
    try:
        name = recognized_format(path)
    except InvalidParameterError:
        return False  # files of graph6 can have any ending
    if name == "graph6" or not path.is_file():
        return False
    first = next(graph6.entries(path), None)
    if first is not None and first.problem is None:
        raise InvalidParameterError(
            f"SET must have graphs with classes if it has the ending of {name}. {str(path)!r} has "
            "graph6. Use --lines pairs, or another value of --lines, which any file of graph6 can "
            "have."
        )
    return True


def _experiment_for(names: tuple[str, ...]) -> str:
    """Return the name of the experiment that measures sets.

    Raises:
        InvalidParameterError: if some are pairs and others have classes.
    """
    classes = [name for name in names if name.startswith(FILE_PREFIX)]
    if not classes:
        return PAIRS
    file = classes[0].removeprefix(FILE_PREFIX)
    if len(classes) < len(names):
        raise InvalidParameterError(
            "SET must be pairs of graphs only, or files of graphs with classes only. Got both: "
            f"{file!r} has classes. Use two commands."
        )
    return CLASSES


def on_sets(experiment: Experiment, names: tuple[str, ...], models: Sequence[str]) -> Experiment:
    """Return the experiment on other sets.

    Rows that are not applicable to all sets of the experiment may fail on a file too. They are run
    on files only if they are named.

    Args:
        experiment: the experiment.
        names: names of the sets.
        models: names of rows that are given.
    """
    rows = (_row_on(row, experiment, names, named=row.name in models) for row in experiment.rows)
    return replace(experiment, datasets=names, rows=tuple(rows))


def _row_on(
    row: ModelRow, experiment: Experiment, names: tuple[str, ...], *, named: bool
) -> ModelRow:
    if not row.not_applicable:
        return replace(row, datasets=names)
    files = [name for name in names if name not in experiment.datasets]
    own = tuple(name for name in names if name in row.datasets or (named and name in files))
    reason = row.not_applicable
    if files and not named:
        # Without a reason, a row without sets is left out.
        some = len(files) < len(names)
        reason = f"Not run on files unless --models names it. Others: {reason}" if some else ""
    return replace(row, datasets=own, not_applicable=reason)
