"""Preparation of a run: whatever its trials need is loaded and checked once, before any of them.

Torch is imported inside the functions, so that the command line starts without it.
"""

from dataclasses import replace
from typing import Any

from clipgnn.errors import (
    ClipGNNError,
    InvalidColoringError,
    InvalidParameterError,
    TooManyColoringsError,
)
from clipgnn.experiments.data import check_folds, check_pairs, fingerprints
from clipgnn.experiments.experiment import Configuration, Experiment
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.own_models import check_parameters, source_of
from clipgnn.experiments.trial import canonical
from clipgnn.parameters import Recipe, is_import_path, model_named
from clipgnn.parameters.datasets import graphs_of_a_pair
from clipgnn.parameters.import_paths import described, search_in


def prepare_experiment(experiment: Experiment, options: RunOptions | None = None) -> Experiment:
    """Return an experiment with the fingerprints of its data and of the source of users' networks.

    Data sets and networks that are given by import paths are imported, which runs their code.
    Fingerprints in `experiment.data`, as those of `stored_experiment`, must not have changed.

    Args:
        experiment: the experiment.
        options: options of the run, of which the folders are used.

    Raises:
        DatasetNotFoundError: if data sets do not exist and could not be downloaded; it names all of
            them.
        DatasetFileError: if files are damaged, or a data set is not that of the experiment.
        InvalidParameterError: if an import path is invalid, the source of a network is not that of
            the experiment, its parameters are not valid, a data set of the user is too small for
            the folds, or a loss does not match the targets.
        InvalidColoringError: if a graph has too many colorings to be trained on.
        MissingDependencyError: if a network needs igraph, which is not installed.
    """
    options = options or RunOptions()
    if experiment.uses_own_code:
        search_in(options.search_path)
    sources = {path: source_of(path) for path in experiment.own_models}
    for path, source in sources.items():
        if experiment.data.get(path, source) != source:
            raise InvalidParameterError(
                f"The source of {path!r} must have the hash {experiment.data[path]} of this run. "
                f"Got {source}. Restore it, or start a new run, which trains all of its trials "
                "again."
            )
    for row in experiment.rows:
        if is_import_path(row.model):
            check_parameters(experiment, row)

    def check(dataset: str, graphs: Any) -> None:
        """Check whatever would otherwise be an error of the first trial."""
        if experiment.groups == "pairs":
            check_pairs(dataset, graphs)
        if experiment.split != "pairs" and dataset in experiment.datasets:
            check_folds(dataset, graphs, experiment.folds, experiment.groups)
        different = {
            canonical([own.model, dict(own.parameters), own.recipe.get("loss")]): (cell.row, own)
            for cell in experiment.cells
            for own in cell.configurations
            if cell.dataset == dataset
        }
        of_a_pair = graphs_of_a_pair(dataset) if experiment.split == "pairs" else None
        checked: set[str] = set()
        for row, configuration in different.values():
            try:
                if of_a_pair is None:
                    _check_targets(configuration, graphs)
                _check_colorings(configuration, graphs, of_a_pair, checked)
            except (InvalidParameterError, InvalidColoringError) as error:
                raise type(error)(f"{dataset}, {row}: {error}") from error
            if is_import_path(configuration.model):
                _build(configuration, graphs)

    names = [name for name in experiment.data_names if name not in sources]
    found = fingerprints(names, experiment.data, options.root, check)
    return replace(experiment, data={**found, **sources})


def _check_targets(configuration: Configuration, graphs: Any) -> None:
    """Check that loss and metric match the targets."""
    if model_named(configuration.model).trained:
        from clipgnn.training.losses import check_targets

        check_targets(Recipe.from_dict(Recipe.from_toml(configuration.recipe)), graphs)


def _check_colorings(
    configuration: Configuration, graphs: Any, of_a_pair: int | None, checked: set[str]
) -> None:
    """Check that a network has its packages, and can be trained with its coloring scheme.

    Args:
        configuration: the model.
        graphs: the graphs.
        of_a_pair: number of graphs of each pair; None if they are not pairs.
        checked: schemes that were checked before, to which this one is added.
    """
    if is_import_path(configuration.model) or not model_named(configuration.model).trained:
        return
    from clipgnn.coloring.schemes import scheme_named
    from clipgnn.training.models import network_named

    network_named(configuration.model).check_packages()
    coloring = configuration.parameters.get("coloring")
    if (
        not isinstance(coloring, str)
        or configuration.parameters.get("num_colorings") == 0
        or coloring in checked
    ):
        return
    if of_a_pair is None:
        scheme_named(coloring).check_training(graphs)
    else:
        _check_colorings_of_pairs(scheme_named(coloring), graphs, of_a_pair)
    checked.add(coloring)


def _check_colorings_of_pairs(scheme: Any, graphs: Any, of_a_pair: int) -> None:
    """Check the colorings of the two graphs of each pair, so that an error names the pair."""
    for number, first in enumerate(range(0, len(graphs), of_a_pair), start=1):
        try:
            scheme.check_training(graphs[first : first + 2])
        except TooManyColoringsError as error:
            raise TooManyColoringsError(f"In pair {number}: {error}") from error


def _build(configuration: Configuration, graphs: Any) -> None:
    from clipgnn.training.models import ModelSpec, network_named, new_members

    path = configuration.model
    parameters = network_named(path).schema.from_toml(configuration.parameters)
    recipe = Recipe.from_dict(Recipe.from_toml(configuration.recipe))
    try:
        network = new_members(ModelSpec(path, parameters), graphs, recipe, [0])
    except ClipGNNError as error:
        raise InvalidParameterError(
            f"{path!r} cannot be built for {graphs.name!r}. {error}"
        ) from error
    except Exception as error:
        raise InvalidParameterError(
            f"{path!r} must be built with in_channels, out_channels, num_members and its own "
            f"parameters. The constructor raised {described(error)}."
        ) from error
    try:
        network.eval().predict(graphs[:1])
    except Exception as error:
        raise InvalidParameterError(
            f"{path!r} must compute outputs for the graphs of {graphs.name!r}. For the first graph "
            f"it raised {described(error)}."
        ) from error
