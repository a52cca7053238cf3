"""CLIP as a regressor of scikit-learn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_consistent_length
from typing_extensions import override

from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.estimators.base import Graphs, with_targets
from clipgnn.estimators.predictor import GraphPredictor
from clipgnn.estimators.stored import check_no_targets, scaling_of, stored_names
from clipgnn.estimators.targets import Targets, as_numbers, check_known, names_of
from clipgnn.graphs.storage.stored import StoredGraphs

if TYPE_CHECKING:  # importing it takes time
    from torch_geometric.explain import Explanation

LOSSES = ("squared-error", "absolute-error")
"""Losses of numbers."""


@dataclass(kw_only=True, eq=False, repr=False)
class CLIPRegressor(RegressorMixin, GraphPredictor):  # type: ignore[misc]
    """Regression of one or several targets of graphs with CLIP.

    Targets are standardized for the training. NaN stands for a missing target, which the loss
    ignores.

    Args:
        loss: "squared-error" or "absolute-error".

    All other parameters are those of `CLIPClassifier`, except `class_weight`.

    Attributes:
        models_: the trained networks.
        history_: losses and scores of each epoch, of standardized targets, for each network.
        encoding_: how named attributes are encoded; None for graphs that were given as tensors.
        target_mean_, target_scale_: mean and standard deviation of each target in training.
        target_names_: names of the targets, if `y` was a table of pandas; otherwise None.

    Example:
        >>> import networkx
        >>> graphs = [networkx.path_graph(size) for size in range(2, 12)] * 4
        >>> model = CLIPRegressor(epochs=60, num_colorings=0, learning_rate=0.01, random_state=0)
        >>> _ = model.fit(graphs, [float(len(graph)) for graph in graphs])
        >>> bool(abs(model.predict([networkx.path_graph(8)])[0] - 8) < 1)
        True
    """

    loss: str = "squared-error"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Graphs, y: Targets | None = None) -> "CLIPRegressor":
        """Train on graphs and their targets, `[graphs]` or `[graphs, targets]`.

        Graphs on disk are trained with their own targets, without `y`.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if a parameter has an invalid value, or a target is not a number.
            DivergedError: if the loss becomes infinite.
        """
        self._check_parameters()
        self._check_loss()
        graphs = self._read_training(X)
        if isinstance(graphs, StoredGraphs):
            check_no_targets(y)
            mean, scale = self._earlier_scaling() or scaling_of(graphs)
            graphs = replace(graphs, scaling=(torch.as_tensor(mean), torch.as_tensor(scale)))
        else:
            targets = as_numbers(y)
            check_known(targets)
            mean, scale = self._earlier_scaling() or _scaling(targets)
            standardized = torch.from_numpy((targets - mean) / scale)
            graphs = with_targets(graphs, standardized.to(torch.get_default_dtype()))
        self._train(graphs, self._recipe(len(graphs), loss=self.loss))
        self.target_mean_ = np.asarray(mean)
        self.target_scale_ = np.asarray(scale)
        self.target_names_ = stored_names(graphs) if y is None else names_of(y)
        return self

    def predict(self, X: Graphs) -> NDArray[np.float64]:
        """Predict targets, `[graphs]` or `[graphs, targets]`: means over networks and draws."""
        return np.asarray(self._predictions(X).mean(axis=0))

    def explain(self, X: Graphs, target: int | None = None) -> "list[Explanation]":
        """Explain which nodes and edges the prediction for each graph depends on.

        `node_mask`, `[nodes, 1]`, and `edge_mask`, `[edges]`, are what the prediction loses without
        a node (and its edges), or without an edge, in units of the target. They are means over
        networks and draws. The result is an `Explanation` of PyTorch Geometric for each graph.

        Args:
            X: the graphs.
            target: number of the target to explain, from 0; None for the only one or, of several,
                for the sum of their standardized values.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if there is no such target.
        """
        from clipgnn.estimators.explanation import explanations

        graphs = self._read(X)
        scales = np.atleast_1d(self.target_scale_)
        if target is None:
            channel = 0 if len(scales) == 1 else None
        elif isinstance(target, int | np.integer) and 0 <= target < len(scales):
            channel = int(target)
        else:
            raise InvalidParameterError(
                f"target must be an integer from 0 to {len(scales) - 1}, or None. Got "
                f"{shown(target)}."
            )
        scale = 1.0 if channel is None else float(scales[channel])
        found = explanations(self.models_, graphs, self._draw_seeds(), channel=channel)
        for own in found:
            own.node_mask, own.edge_mask = own.node_mask * scale, own.edge_mask * scale
        return found

    def score(self, X: Graphs, y: Targets, sample_weight: Sequence[float] | None = None) -> float:
        """Coefficient of determination R², the mean over targets.

        Missing targets are left out, as are those that are missing for all of these graphs.

        Raises:
            InvalidParameterError: if y does not have the targets of the training, or none is known.
        """
        targets, predicted = as_numbers(y), self.predict(X)
        check_consistent_length(targets, predicted, sample_weight)
        # [graphs] as [graphs, 1]
        known, found = (own.reshape(len(predicted), -1) for own in (targets, predicted))
        if known.shape != found.shape:
            raise InvalidParameterError(
                f"y must have {found.shape[1]} targets for each graph, as in training. Got "
                f"{known.shape[1]}."
            )
        weights = np.ones(len(known)) if sample_weight is None else np.asarray(sample_weight)
        present = ~np.isnan(known)
        scores = [
            r2_score(known[rows, column], found[rows, column], sample_weight=weights[rows])
            for column, rows in enumerate(present.T)
            if rows.any()
        ]
        if not scores:
            raise InvalidParameterError("y must have a known target. Got only missing values.")
        return float(np.mean(scores))

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise InvalidParameterError(
                f"loss must be one of {', '.join(map(repr, LOSSES))}. Got {shown(self.loss)}."
                f"{suggestion(self.loss, LOSSES)}"
            )

    def _earlier_scaling(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Mean and scale of the first call of fit, if the training continues."""
        return (self.target_mean_, self.target_scale_) if self._continues() else None

    @override
    def _learned(self) -> dict[str, Any]:
        return {"mean": self.target_mean_.tolist(), "scale": self.target_scale_.tolist()}

    @override
    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.target_mean_ = np.array(learned["mean"], dtype=np.float64)
        self.target_scale_ = np.array(learned["scale"], dtype=np.float64)

    @override
    def _predictions(self, X: Graphs) -> NDArray[np.float64]:
        outputs = self._outputs(X).double().numpy()
        if self.target_mean_.ndim == 0:
            outputs = outputs[:, :, 0]
        return np.asarray(outputs * self.target_scale_ + self.target_mean_)


def _scaling(targets: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Mean and scale of the targets."""
    scale = np.nanstd(targets, axis=0)
    return np.asarray(np.nanmean(targets, axis=0)), np.where(scale > 0, scale, 1.0)
