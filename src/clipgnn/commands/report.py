"""`clipgnn report`: the results of a store as a page, a table or figures."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from clipgnn.commands import options
from clipgnn.commands.option_groups import with_option_groups
from clipgnn.commands.parts import PartOptions
from clipgnn.commands.report_output import check_folder, format_of, write_figures, write_report
from clipgnn.commands.stores import default_store, experiment_name, is_store_path, open_store
from clipgnn.commands.terminal import terminal
from clipgnn.errors import InvalidExperimentError, StoreError, counted, one_line
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.plans import (
    RUN_IN_PARTS,
    measured_experiment,
    stored_experiment,
    with_stored_data,
)
from clipgnn.experiments.protocol import check_protocol
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.store import Store
from clipgnn.report import FORMATS, make_report
from clipgnn.report.provenance import elsewhere


@with_option_groups
def report(
    store: Annotated[
        str,
        typer.Argument(
            metavar="STORE",
            help="File of results, or the name of an experiment: then runs/NAME.sqlite.",
        ),
    ],
    part: PartOptions,
    experiment: Annotated[
        str | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="Report this whole experiment, a name in experiments/, a TOML file or an "
            "experiment of the store, and not only what was run last; of expressivity and exp, "
            "what all commands asked for.",
        ),
    ] = None,
    protocol: options.Protocol = None,
    format_name: options.Format = None,
    output: options.Output = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="FOLDER",
            help="Also write the figures as PNG and SVG to this folder.",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Print all commands, values, versions and machines."),
    ] = False,
) -> None:
    """Print the results of a store as a table, or write a page with figures.

    Example: clipgnn report results/table1-gin.sqlite --experiment table1 -o report.html
    """
    chosen = format_of(format_name, output)
    # A whole experiment is that of the protocol: trials of "fair" have validation graphs.
    overrides = part.overrides(None if experiment is None else protocol)
    if protocol is not None:
        check_protocol(protocol)
    named = None if is_store_path(store) else experiment_name(store)
    path = Path(store) if named is None else default_store(store)
    with open_store(path, experiment or named or path.stem, "STORE") as opened:
        asked = overrides(_experiment(opened, experiment, named, overrides))
        _check_finished(asked, opened)
        if experiment is None and elsewhere(asked, opened):
            terminal(stderr=True).print(
                f"Other runs of {one_line(asked.name)} asked for more than this report has; "
                f"--experiment {shlex.quote(one_line(asked.name))} reports the whole experiment."
            )
        drawn = figures if asked.split != "pairs" else None
        if drawn is not None:
            check_folder(drawn)
        made = make_report(
            asked,
            opened,
            protocol or asked.protocol,
            full=full,
            figures=FORMATS[chosen].figures or drawn is not None,
        )
    if figures is not None:
        number = 0 if drawn is None else write_figures(made, figures)
        files = f"{counted(number, 'figure')} written to {figures}, each as PNG and SVG."
        terminal(stderr=True).print(one_line(files) if number else "This report has no figures.")
    write_report(made, chosen, output)
    if output is not None:
        terminal(stderr=True).print(one_line(f"Report: {output}"))


def _experiment(store: Store, given: str | None, named: str | None, part: Overrides) -> Experiment:
    """Return the experiment to report.

    Args:
        store: the store.
        given: name of a whole experiment, or the path of its file.
        named: name of the experiment whose last run is reported otherwise; None for that of the
            file, or the only one of the store.
        part: the part that is reported.
    """
    plans = {plan.name for plan in store.plans()}
    if given is None:
        if named is None and store.path.stem in plans:
            named = store.path.stem
        if named is None and len(plans) > 1:
            raise StoreError(
                f"--experiment must be given for a store with several experiments. {store.path} "
                f"has {', '.join(sorted(plans))}."
            )
        return stored_experiment(store, named)
    try:
        whole = read_experiment(find_experiment(given))
        if given in RUN_IN_PARTS and given in plans:
            return measured_experiment(whole, store, part)
        return with_stored_data(whole, store)
    except InvalidExperimentError:
        if experiment_name(given) not in plans:
            raise
        return stored_experiment(store, experiment_name(given))


def _check_finished(experiment: Experiment, store: Store) -> None:
    """Check that there is something to report.

    Raises:
        StoreError: if no trial is finished.
    """
    trials = {trial.identity for trial in experiment.trials()}
    if not trials & (store.finished() | store.diverged().keys()):
        raise StoreError(
            f"A report requires finished trials of {experiment.name}. Got none of "
            f"{counted(len(trials), 'trial')} in {store.path}. Run the experiment first, or choose "
            f"another part of it; --experiment {shlex.quote(experiment.name)} reports all of its "
            "runs."
        )
