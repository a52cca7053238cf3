"""Representations of graphs by CLIP, as a transformer of scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from typing_extensions import override

from clipgnn.errors import InvalidParameterError
from clipgnn.estimators.base import READ_GRAPHS, GraphEstimator, Graphs
from clipgnn.estimators.classifier import CLIPClassifier
from clipgnn.estimators.reading import read_training
from clipgnn.estimators.regressor import CLIPRegressor
from clipgnn.estimators.targets import Targets, are_numbers
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.clip import CLIP

_PREDICTORS = {kind.__name__: kind for kind in (CLIPClassifier, CLIPRegressor)}


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
        predictor_: the classifier or regressor of the targets; None without targets.

    Example:
        >>> import networkx
        >>> graphs = [networkx.cycle_graph(size) for size in range(3, 9)]
        >>> CLIPEmbedding(hidden_channels=16, random_state=0).fit_transform(graphs).shape
        (6, 16)
    """

    def fit(self, X: Graphs, y: Targets | None = None) -> "CLIPEmbedding":
        """Train on graphs and targets; without targets, draw random weights.

        Graphs on disk are trained with their own targets, without `y`.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if a parameter has an invalid value.
            DivergedError: if the loss becomes infinite.
        """
        self._check_parameters()
        if y is None and not isinstance(X, StoredGraphs):
            graphs = read_training(X, self._chosen())
            assert isinstance(graphs, PackedGraphs)
            self._draw(replace(graphs, y=torch.zeros(len(graphs), dtype=torch.int64)))
            self.predictor_: CLIPClassifier | CLIPRegressor | None = None
            return self
        numbers = not X.has_classes if isinstance(X, StoredGraphs) else are_numbers(y)
        kind = CLIPRegressor if numbers else CLIPClassifier
        predictor = kind(**self.get_params(deep=False))
        if self._continues():
            self._check_kind(kind)
            _copy_fitted(self.predictor_, predictor)
        self.predictor_ = predictor.fit(X, y)
        _copy_fitted(predictor, self)
        return self

    def transform(self, X: Graphs) -> NDArray[np.float64]:
        """Compute vectors, `[graphs, n_ensemble * hidden_channels]`."""
        if isinstance(X, StoredGraphs):
            return np.concatenate([self.transform(part) for part in X.parts(READ_GRAPHS)])
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
        if self.predictor_ is None:
            return {"predictor": None}
        name = type(self.predictor_).__name__
        return {"predictor": name, "learned": self.predictor_._learned()}

    @override
    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.predictor_ = None
        if learned["predictor"] is not None:
            self.predictor_ = _PREDICTORS[learned["predictor"]](**self.get_params(deep=False))
            _copy_fitted(self, self.predictor_)
            self.predictor_._restore(learned["learned"])

    def _check_kind(self, kind: type[CLIPClassifier | CLIPRegressor]) -> None:
        if type(self.predictor_) is not kind:
            before = "none" if self.predictor_ is None else type(self.predictor_).__name__
            raise InvalidParameterError(
                "y must be classes or numbers as in the first call of fit if warm_start is true. "
                f"Got targets for a {kind.__name__}, but for {before} before."
            )

    @property
    def _n_features_out(self) -> int:
        """Number of features, of which scikit-learn makes names."""
        return sum(cast(CLIP, model).config.hidden_channels for model in self.models_)


def _copy_fitted(source: Any, target: Any) -> None:
    """Copy what was learned, which are the attributes whose names end in an underscore."""
    for name, value in vars(source).items():
        if name.endswith("_") and name != "predictor_":
            setattr(target, name, value)
