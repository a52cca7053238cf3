"""What classifier and regressor have in common: the spread of their predictions."""

import warnings
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.estimators.base import GraphEstimator, Graphs

SPREADS = {"both": None, "networks": 0, "colorings": 1}
"""Axis over which a spread is taken, by its name."""


class GraphPredictor(GraphEstimator):
    """An estimator whose predictions are means over networks and draws of colorings."""

    @abstractmethod
    def _predictions(self, X: Graphs) -> NDArray[np.float64]:
        """Probabilities or targets of each network and draw, `[members * draws, graphs, ...]`."""

    def predict_spread(self, X: Graphs, over: str = "both") -> NDArray[np.float64]:
        """Standard deviation of the predictions over networks and draws of colorings.

        It has the shape of the mean: `predict_proba` of a classifier, `predict` of a regressor.

        Args:
            X: the graphs.
            over: "colorings" for the part that comes from draws of colorings, in each network,
                "networks" for the differences between networks, or "both" for all predictions. It
                is 0, with a warning, if there is only one of them.
        """
        if over not in SPREADS:
            raise InvalidParameterError(
                f"over must be one of {', '.join(map(repr, SPREADS))}. Got {shown(over)}."
            )
        predictions = self._predictions(X)
        of_both = predictions.reshape(len(self.models_), -1, *predictions.shape[1:])
        members, draws = of_both.shape[:2]
        if {"networks": members, "colorings": draws, "both": members * draws}[over] == 1:
            warnings.warn(
                f"The spread over {over} is 0, because there is one prediction. Use n_draws for "
                "several draws of random colorings, or n_ensemble for several networks.",
                stacklevel=2,
            )
        if over == "both":
            return np.asarray(predictions.std(axis=0))
        # The variance over one of them, averaged over the other.
        return np.asarray(np.sqrt(of_both.var(axis=SPREADS[over]).mean(axis=0)))
