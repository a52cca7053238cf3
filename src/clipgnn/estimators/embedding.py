"""Representations of graphs by CLIP, as a transformer of scikit-learn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from typing_extensions import override

from clipgnn.estimators.base import GraphEstimator, Graphs
from clipgnn.estimators.classifier import CLIPClassifier
from clipgnn.estimators.regressor import CLIPRegressor
from clipgnn.nn.clip import CLIP


@dataclass(kw_only=True, eq=False, repr=False)
class CLIPEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):  # type: ignore[misc]
    """Vectors of graphs: the representation of CLIP before its last MLP.

    With targets, CLIP is trained to predict them, as a classifier or, for numbers that are not
    classes, as a regressor. Without targets, its weights are random.

    Parameters are those of `CLIPClassifier`, except `class_weight`. Vectors of several networks
    (`n_ensemble`) are concatenated, and those of several draws (`n_draws`) averaged.

    Attributes:
        models_: the networks.
        history_: losses and scores of each epoch, for each network; empty without targets.
        encoding_: how named attributes are encoded; None for graphs that were given as tensors.

    Example:
        >>> import networkx
        >>> graphs = [networkx.cycle_graph(size) for size in range(3, 9)]
        >>> CLIPEmbedding(hidden_channels=16, random_state=0).fit_transform(graphs).shape
        (6, 16)
    """

    def fit(self, X: Graphs, y: Sequence[Any] | NDArray[Any] | None = None) -> "CLIPEmbedding":
        """Train on graphs and targets; without targets, draw random weights.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if a parameter has an invalid value.
            DivergedError: if the loss becomes infinite.
        """
        if y is None:
            graphs = self._read_training(X)
            self._draw(replace(graphs, y=torch.zeros(len(graphs), dtype=torch.int64)))
        else:
            numbers = type_of_target(y).startswith("continuous")
            kind = CLIPRegressor if numbers else CLIPClassifier
            fitted = kind(**self.get_params(deep=False)).fit(X, y)
            self.encoding_ = fitted.encoding_
            self.models_, self.history_ = fitted.models_, fitted.history_
            self.draw_seed_ = fitted.draw_seed_
        return self

    def transform(self, X: Graphs) -> NDArray[np.float64]:
        """Compute vectors, `[graphs, n_ensemble * hidden_channels]`."""
        graphs = replace(self._read(X), y=None)
        vectors = []
        for model in self.models_:
            drawn = [
                cast(CLIP, model).embed_graphs(graphs, seed=seed, wrap_colors=True)
                for seed in self._draw_seeds()
            ]
            vectors.append(torch.stack(drawn).double().mean(0))
        return np.asarray(torch.cat(vectors, dim=1).numpy())

    @override
    def _learned(self) -> dict[str, Any]:
        return {}

    @override
    def _restore(self, learned: Mapping[str, Any]) -> None:
        pass

    @property
    def _n_features_out(self) -> int:
        """Number of features, of which scikit-learn makes names."""
        return len(self.models_) * self.hidden_channels
