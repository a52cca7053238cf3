"""Results of training: networks with their histories."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import torch
from torch import Tensor

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.encoding import AttributeEncoding, check_same_encoding
from clipgnn.graphs.packed import PackedGraphs, check_graph_set
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training import files
from clipgnn.training.history import History
from clipgnn.training.task import Task


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A trained network.

    Attributes:
        model: the network in evaluation mode, on the device of the training. With `patience` it has
            the weights of its best epoch, otherwise those of the last epoch.
        history: losses and scores of each epoch.
        recipe: the training recipe.
        task: the kind of targets.
        test_outputs: outputs for the test graphs, in the order of the split, after the last epoch:
            `[graphs, out_channels]`; no rows if the split has no test graphs.
        best_test_outputs: outputs after the epoch with the best validation score; None if the split
            has no validation or no test graphs.
        encoding: how the named attributes of the training graphs were encoded; None for graphs that
            were given as tensors.
    """

    model: Network
    history: History
    recipe: Recipe
    task: Task
    test_outputs: Tensor
    best_test_outputs: Tensor | None
    encoding: AttributeEncoding | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the trained model to a file, atomically.

        The file is a model file of `clipgnn.save` with everything that prediction needs: weights,
        kind of targets, vocabulary of attributes, recipe and history. It contains no pickle,
        neither a loss that is a function nor the outputs for test graphs. An existing file is
        replaced.

        Raises:
            InvalidParameterError: if the coloring scheme is user-defined.
            OutputError: if the file cannot be written. An existing file is then unchanged.
        """
        files.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "TrainedModel":
        """Load a model that was written by `save`, on the CPU and in evaluation mode.

        `test_outputs` has no rows, and `best_test_outputs` is None.

        Raises:
            ModelNotFoundError: if the file does not exist; a subclass of FileNotFoundError.
            ModelFileError: if the file is damaged, or is not that of a trained model.
        """
        return cls(**files.load(path))

    @property
    def score(self) -> float:
        """Test score of `model`; NaN if training diverged, or without test graphs."""
        scores = self.history.curves.test_score
        if self.history.diverged is not None or len(scores) == 0:
            return float("nan")
        restored = self.recipe.patience is not None and self.history.best_epoch
        return float(scores[restored - 1] if restored else scores[-1])

    def predict(self, graphs: PackedGraphs, *, seed: int = 0) -> Tensor:
        """Predict classes `[graphs]`, or binary or real targets `[graphs, targets]`.

        Args:
            graphs: the graphs; targets are not needed.
            seed: seed of random colorings.

        Raises:
            InvalidGraphError: if the network cannot read the graphs, or their attributes have
                another encoding than those of the training graphs.
        """
        outputs = self._outputs(graphs, seed)
        if self.task == "classes":
            return outputs.argmax(1)
        return (outputs > 0).long() if self.task == "binary" else outputs

    def predict_proba(self, graphs: PackedGraphs, *, seed: int = 0) -> Tensor:
        """Predict probabilities of classes, or of binary targets: `[graphs, out_channels]`.

        Args:
            graphs: the graphs; targets are not needed.
            seed: seed of random colorings.

        Raises:
            InvalidParameterError: if the targets are numbers.
            InvalidGraphError: as `predict`.
        """
        if self.task == "numbers":
            raise InvalidParameterError(
                "Probabilities can be predicted for classes and binary targets. Got a model for "
                "numbers. Use predict."
            )
        return self.as_predictions(self._outputs(graphs, seed))

    def as_predictions(self, outputs: Tensor) -> Tensor:
        """Convert outputs to probabilities; those for numbers are returned unchanged."""
        if self.task == "classes":
            return outputs.softmax(-1)
        return outputs.sigmoid() if self.task == "binary" else outputs

    def _outputs(self, graphs: PackedGraphs, seed: int) -> Tensor:
        check_graph_set(graphs)
        check_same_encoding(graphs.encoding, self.encoding)
        return self.model.predict(graphs, seed=seed)


@dataclass(frozen=True)
class Summary:
    """Test scores of several trained models.

    Attributes:
        metric: name of the score.
        scores: the score of each model whose training did not diverge.
        num_diverged: number of models whose training diverged.
    """

    metric: str
    scores: tuple[float, ...]
    num_diverged: int

    @property
    def mean(self) -> float:
        """Mean of the scores; NaN if there are none."""
        return float(np.mean(self.scores)) if self.scores else float("nan")

    @property
    def std(self) -> float:
        """Population standard deviation of the scores (divisor n); NaN if there are none."""
        return float(np.std(self.scores)) if self.scores else float("nan")

    def __str__(self) -> str:
        models = "model" if len(self.scores) == 1 else "models"
        text = f"{self.metric} {self.mean:.4f} ± {self.std:.4f} ({len(self.scores)} {models})"
        return text + (f", {self.num_diverged} diverged" if self.num_diverged else "")


class TrainedModels(Sequence[TrainedModel]):
    """Trained models, one for each split and seed, in the order of the splits."""

    def __init__(self, models: Sequence[TrainedModel]) -> None:
        self._models = tuple(models)

    @overload
    def __getitem__(self, index: int) -> TrainedModel: ...

    @overload
    def __getitem__(self, index: slice) -> "TrainedModels": ...

    def __getitem__(self, index: int | slice) -> "TrainedModel | TrainedModels":
        if isinstance(index, slice):
            return TrainedModels(self._models[index])
        return self._models[index]

    def __len__(self) -> int:
        return len(self._models)

    def __iter__(self) -> Iterator[TrainedModel]:
        return iter(self._models)

    @property
    def histories(self) -> list[History]:
        """The history of each model."""
        return [own.history for own in self._models]

    def summary(self) -> Summary:
        """Mean and spread of the test scores over splits and seeds."""
        kept = [own.score for own in self._models if own.history.diverged is None]
        metric = self._models[0].history.metric if self._models else "accuracy"
        return Summary(metric, tuple(kept), len(self._models) - len(kept))

    def __repr__(self) -> str:
        return f"TrainedModels({self.summary()})"


def split_members(
    network: Network,
    histories: Sequence[History],
    recipe: Recipe,
    task: Task,
    test_outputs: Sequence[Tensor],
    best_test_outputs: Sequence[Tensor | None],
    encoding: AttributeEncoding | None,
) -> list[TrainedModel]:
    """Convert the members of a trained network to separate models."""
    with torch.no_grad():
        return [
            TrainedModel(network.member(number).eval(), history, recipe, task, last, best, encoding)
            for number, (history, last, best) in enumerate(
                zip(histories, test_outputs, best_test_outputs, strict=True)
            )
        ]
