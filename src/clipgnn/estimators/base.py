"""What the estimators have in common: reading of graphs, training, outputs for new graphs."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from clipgnn.coloring.schemes import Scheme, scheme_named
from clipgnn.coloring.suggestion import suggested_colorings
from clipgnn.datasets.folds import hold_out
from clipgnn.errors import DivergedError, InvalidParameterError, shown
from clipgnn.estimators import files
from clipgnn.estimators.progress import TrainingProgress
from clipgnn.estimators.reading import read_stored, read_training, read_with_encoding
from clipgnn.estimators.stored import validation_graphs
from clipgnn.graphs.columns import Kind
from clipgnn.graphs.encoding import AttributeEncoding, ChosenAttributes
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import CLIPParameters, PythonValues, Recipe, Rule
from clipgnn.training import History, ModelSpec, Split, TrainedModel, train
from clipgnn.training.loop import CHECKPOINT_SECONDS
from clipgnn.training.models import new_members
from clipgnn.training.workers import current_workers

_E = TypeVar("_E", bound="GraphEstimator")

Graphs = PackedGraphs | StoredGraphs | Iterable[Any]
"""A data set in memory or on disk, or a list of graphs of one of the supported libraries."""

SEEDS = 2**31
"""Number of seeds that are drawn from `random_state`."""

STEPS, SMALLEST_BATCH, LARGEST_BATCH = 16, 8, 64
"""Steps of an epoch for which batches are chosen, and the limits of their size."""

READ_GRAPHS = 2048
"""Number of graphs on disk that are read at the same time for predictions."""

AUTO = PythonValues('"auto"', lambda value: isinstance(value, str) and value == "auto", str)
"""Value of parameters that the training graphs decide."""


@dataclass(kw_only=True, eq=False, repr=False)
class GraphEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """Parameters and training of all estimators."""

    num_colorings: int | str = "auto"
    num_colors: int | str = "auto"
    num_layers: int = 3
    hidden_channels: int = 64
    dropout: float = 0.0
    coloring: str | Scheme = "random"
    epochs: int = 50
    batch_size: int | str = "auto"
    max_nodes: int | None = None
    learning_rate: float = 1e-3
    halve_every: int = 10
    validation_fraction: float | None = None
    patience: int | None = None
    n_ensemble: int = 1
    n_draws: int = 1
    node_attributes: Sequence[str] | None = None
    edge_attributes: Sequence[str] | None = None
    graph_attributes: Sequence[str] = ()
    kinds: Mapping[str, Kind] | None = None
    device: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    random_state: int | np.random.RandomState | None = None
    warm_start: bool = False
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        tags.non_deterministic = self.random_state is None
        return tags

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file, atomically.

        The file is a model file of `clipgnn.save` with everything that prediction needs: weights,
        vocabulary of attributes, classes or scaling of targets, parameters and history. It contains
        no pickle. An existing file is replaced.

        Raises:
            InvalidParameterError: if the coloring scheme is user-defined.
            OutputError: if the file cannot be written. An existing file is then unchanged.
        """
        check_is_fitted(self, "models_")
        files.save(self, path)

    @classmethod
    def load(cls: type[_E], path: str | os.PathLike[str]) -> _E:
        """Load an estimator that was written by `save`, on the CPU.

        Raises:
            ModelNotFoundError: if the file does not exist; a subclass of FileNotFoundError.
            ModelFileError: if the file is damaged, or is not that of such an estimator.
        """
        return cast(_E, files.load(cls, path))

    @abstractmethod
    def _learned(self) -> dict[str, Any]:
        """What was learned besides the networks, as values of JSON."""

    @abstractmethod
    def _restore(self, learned: Mapping[str, Any]) -> None:
        """Restore what `_learned` has returned."""

    def _read_training(self, X: Graphs) -> PackedGraphs | StoredGraphs:
        """Read the training graphs. The encoding is kept after the training, if it succeeds."""
        if self._continues():
            if isinstance(X, StoredGraphs):
                return read_stored(X, self.encoding_, self.models_[0])
            return read_with_encoding(X, self.encoding_, self.models_[0], strict=True)
        return read_training(X, self._chosen())

    def _chosen(self) -> ChosenAttributes:
        return {
            "node_attributes": self.node_attributes,
            "edge_attributes": self.edge_attributes,
            "graph_attributes": self.graph_attributes,
            "kinds": self.kinds,
        }

    def _read(self, X: Graphs) -> PackedGraphs:
        """Read graphs with the encoding of the training graphs."""
        check_is_fitted(self, "models_")
        return read_with_encoding(X, self.encoding_, self.models_[0], strict=False)

    def _continues(self) -> bool:
        return self.warm_start and hasattr(self, "models_")

    def _train(self, graphs: PackedGraphs | StoredGraphs, recipe: Recipe) -> None:
        """Train the members on graphs with targets."""
        if len(graphs) < 2:
            raise InvalidParameterError(
                "X must have at least two graphs, for batch statistics. Got one sample."
            )
        self._check_counts()
        if self.checkpoint is not None and not isinstance(self.random_state, int | np.integer):
            raise InvalidParameterError(
                "random_state must be an integer if there are checkpoints, so that another call "
                f"continues the same training. Got {shown(self.random_state)}."
            )
        random = _random(self.random_state)
        workers = current_workers()
        drawn = random.randint(SEEDS, size=2 * self.n_ensemble + 1).tolist()
        seeds = workers.from_first(drawn)
        of_members, of_splits = seeds[: self.n_ensemble], seeds[self.n_ensemble : -1]
        splits = [self._split(graphs, seed) for seed in of_splits]
        shown_here = self.verbose and workers.rank == 0
        with TrainingProgress(recipe, self.n_ensemble, shown=shown_here) as progress:
            trained = self._trained(graphs, recipe, splits, of_members, progress)
        diverged = [own.history.diverged for own in trained if own.history.diverged is not None]
        if diverged:
            raise DivergedError(
                f"The loss must stay finite. The training {diverged[0]}. Use a smaller "
                "learning_rate, or attributes of a smaller scale."
            )
        histories = [own.history for own in trained]
        if self._continues():
            pairs = zip(self.history_, histories, strict=True)
            histories = [before.continued(later) for before, later in pairs]
        self.encoding_: AttributeEncoding | None = graphs.encoding
        self.models_: list[Network] = [own.model.cpu() for own in trained]
        self.history_: list[History] = histories
        self.draw_seed_: int = seeds[-1]
        self.target_names_: list[str] | None = None

    def _draw(self, graphs: PackedGraphs) -> None:
        """Draw the members with random weights, without training."""
        self._check_counts()
        random = _random(self.random_state)
        *seeds, draw_seed = random.randint(SEEDS, size=self.n_ensemble + 1).tolist()
        members = new_members(self._spec(graphs), graphs, self._recipe(len(graphs)), seeds).eval()
        self.models_ = [members.member(number) for number in range(self.n_ensemble)]
        self.history_ = []
        self.encoding_ = graphs.encoding
        self.draw_seed_ = draw_seed
        self.target_names_ = None

    def _trained(
        self,
        graphs: PackedGraphs | StoredGraphs,
        recipe: Recipe,
        splits: Sequence[Split],
        seeds: Sequence[int],
        progress: TrainingProgress,
    ) -> list[TrainedModel]:
        device = _device_named(self.device)
        folder = None if self.checkpoint is None else Path(self.checkpoint)
        if not self._continues():
            spec = self._spec(graphs)
            return list(
                train(
                    graphs,
                    spec,
                    recipe,
                    splits,
                    seeds,
                    device,
                    callback=progress,
                    checkpoint=folder,
                    checkpoint_seconds=self.checkpoint_seconds,
                )
            )
        self._check_unchanged()
        trained: list[TrainedModel] = []
        for number, model in enumerate(self.models_):
            split, seed = [splits[number]], [seeds[number]]
            before = self.history_[number].curves.epochs
            trained += train(
                graphs,
                model,
                recipe,
                split,
                seed,
                device,
                callback=partial(progress, first=number),
                checkpoint=None if folder is None else folder / f"continued-{number}-{before}",
                checkpoint_seconds=self.checkpoint_seconds,
            )
        return trained

    def _check_unchanged(self) -> None:
        """Check that the parameters of the networks are those of the first call of fit."""
        config = asdict(self.models_[0].config)
        names = ("num_colorings", "num_colors", "num_layers", "hidden_channels", "dropout")
        before = {name: config.get(name) for name in names}
        for name, value in {**before, "n_ensemble": len(self.models_)}.items():
            given = getattr(self, name)
            if isinstance(given, int | float | np.number) and given != value:
                raise _changed(name, value, given)
        if scheme_named(self.coloring).name != self.models_[0].scheme.name:
            raise _changed("coloring", self.models_[0].scheme.name, self.coloring)

    def _spec(self, graphs: PackedGraphs | StoredGraphs) -> ModelSpec:
        parameters: dict[str, Any] = {
            "num_layers": self.num_layers,
            "hidden_channels": self.hidden_channels,
            "dropout": self.dropout,
            "coloring": self.coloring,
        }
        if self.num_colors != "auto":
            parameters["num_colors"] = self.num_colors
        if self.num_colorings != "auto":
            parameters["num_colorings"] = self.num_colorings
        elif scheme_named(self.coloring).any_number:
            parameters["num_colorings"] = suggested_colorings(_sample(graphs))
        elif (stored := graphs[:1].colorings) is not None:
            parameters["num_colorings"] = stored.shape[0]
        return ModelSpec("clip", parameters)

    def _check_parameters(self) -> None:
        """Check parameters that network and recipe have too; their errors would name these."""
        for name, rule in _rules().items():
            rule.check(type(self).__name__, name, getattr(self, name))

    def _check_counts(self) -> None:
        for name in ("n_ensemble", "n_draws"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InvalidParameterError(
                    f"{name} must be an integer of at least 1. Got {shown(value)}."
                )

    def _split(self, graphs: PackedGraphs | StoredGraphs, seed: int) -> Split:
        if isinstance(graphs, StoredGraphs):
            if self.validation_fraction is None:
                return Split.others()
            held_out = validation_graphs(len(graphs), self.validation_fraction, seed)
            return Split.others(validation=held_out)
        everything = torch.arange(len(graphs))
        if self.validation_fraction is None:
            return Split(everything)
        try:
            fraction = self.validation_fraction
            training, validation = hold_out(everything, graphs.targets, fraction, seed)
        except InvalidParameterError as error:
            raise InvalidParameterError(f"validation_fraction is not possible: {error}") from error
        return Split(training, validation=validation)

    def _recipe(self, num_graphs: int, **task: Any) -> Recipe:
        batch_size: Any = self.batch_size
        if batch_size == "auto":
            batch_size = min(max(-(-num_graphs // STEPS), SMALLEST_BATCH), LARGEST_BATCH)
        return Recipe(
            epochs=self.epochs,
            batch_size=batch_size,
            max_nodes=self.max_nodes,
            learning_rate=self.learning_rate,
            halve_every=self.halve_every,
            patience=self.patience,
            **task,
        )

    def _outputs(self, X: Graphs) -> Tensor:
        """Outputs of each member and draw of colorings, `[members * draws, graphs, channels]`."""
        if isinstance(X, StoredGraphs):
            return torch.cat([self._outputs(part) for part in X.parts(READ_GRAPHS)], dim=1)
        graphs = replace(self._read(X), y=None)
        return torch.stack(
            [
                model.predict(graphs, seed=seed, wrap_colors=True).cpu()
                for model in self.models_
                for seed in self._draw_seeds()
            ]
        )

    def _draw_seeds(self) -> list[int]:
        self._check_counts()
        return [(self.draw_seed_ + draw) % SEEDS for draw in range(self.n_draws)]


def with_targets(graphs: PackedGraphs, y: Tensor) -> PackedGraphs:
    """Return graphs with targets.

    Raises:
        InvalidParameterError: if there is not one row of targets for each graph.
    """
    if len(y) != len(graphs):
        raise InvalidParameterError(
            f"y must have a row for each of the {len(graphs)} graphs. Got {len(y)}."
        )
    return replace(graphs, y=y)


def _rules() -> dict[str, Rule]:
    """The rules of parameters that the network and the recipe have too."""
    rules = {**CLIPParameters.rules(), **Recipe.rules()}
    plain = ("num_layers", "hidden_channels", "dropout", "epochs", "learning_rate", "halve_every")
    return {name: rules[name] for name in (*plain, "patience", "max_nodes")} | {
        name: replace(rules[name], python=AUTO)
        for name in ("num_colorings", "num_colors", "batch_size")
    }


def _random(random_state: Any) -> np.random.RandomState:
    try:
        return check_random_state(random_state)
    except ValueError as error:
        raise InvalidParameterError(
            "random_state must be an integer from 0 to 2^32 - 1, a numpy.random.RandomState or "
            f"None. Got {shown(random_state)}."
        ) from error


def _changed(name: str, before: object, given: object) -> InvalidParameterError:
    return InvalidParameterError(
        f"{name} must be {before}, as in the first call of fit, if warm_start is true. Got "
        f"{shown(given)}."
    )


def _sample(graphs: PackedGraphs | StoredGraphs) -> PackedGraphs:
    """Some of the graphs on disk, or all graphs in memory."""
    if isinstance(graphs, PackedGraphs):
        return graphs
    count = min(len(graphs), READ_GRAPHS)
    # In integers: floats do not have all of the numbers above 2^24.
    return graphs[torch.arange(count) * (len(graphs) - 1) // max(1, count - 1)]


def _device_named(device: str) -> str:
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not current_workers().alone:
        return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"  # one GPU for each process of a machine
    return device
