"""CLIP as a classifier of scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from typing_extensions import override

from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.estimators.base import Graphs, with_targets
from clipgnn.estimators.predictor import GraphPredictor
from clipgnn.estimators.stored import check_no_targets, classes_of, stored_names
from clipgnn.estimators.targets import Targets, as_labels, names_of
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.parameters.rules import POSITIVE

if TYPE_CHECKING:  # importing it takes time
    from torch_geometric.explain import Explanation


@dataclass(kw_only=True, eq=False, repr=False)
class CLIPClassifier(ClassifierMixin, GraphPredictor):  # type: ignore[misc]
    """Classification of graphs with CLIP.

    Args:
        class_weight: factors of the classes in the loss: a dictionary by class, "balanced" for
            factors inversely proportional to the frequencies, or None.
        num_colorings: number k of random colorings of a graph, 0 for no colors, or "auto" for a
            number that depends on how many nodes of the graphs have the same neighborhoods.
        num_colors: number of colors; "auto" for the largest number of nodes with identical
            attributes in a training graph. If a graph has more of them in prediction, some of its
            nodes get the same color, with a warning.
        num_layers: number of local iterations.
        hidden_channels: channels of the hidden layers.
        dropout: dropout probability before the last linear map.
        coloring: coloring scheme, such as "canonical" for one coloring of each graph that does not
            depend on the order of its nodes.
        epochs: passes over the training graphs.
        batch_size: graphs in a step; "auto" for a sixteenth of the training graphs, but at least 8
            and at most 64.
        max_nodes: largest number of nodes in a step, instead of `batch_size`, for graphs of very
            different sizes; None for steps with `batch_size` graphs.
        learning_rate: learning rate of Adam in the first epoch.
        halve_every: epochs after which the learning rate is halved.
        validation_fraction: share of the graphs that is held out as validation graphs; None for
            none.
        patience: epochs without a better validation score (or training loss, if there are no
            validation graphs) after which training stops; the weights of the best epoch are kept.
            None to train for all epochs.
        n_ensemble: number of networks, whose probabilities are averaged.
        n_draws: number of draws of random colorings over which predictions are averaged.
        node_attributes: attributes of nodes to use; None for all, except names of vertices of
            igraph.
        edge_attributes: attributes of edges to use; None for all. Numbers with the name "weight"
            are factors in sums over neighbors.
        graph_attributes: attributes of graphs to use.
        kinds: "category" or "number" by attribute; by default strings, booleans and few integers
            are categories.
        device: "cpu", "cuda", or "auto" for a GPU if there is one.
        checkpoint: folder of checkpoints: `fit` continues a training that was interrupted, if data
            and parameters are the same. None for no checkpoints.
        checkpoint_seconds: smallest number of seconds between two checkpoints.
        random_state: seed of weights, batches, colorings and validation graphs.
        warm_start: whether another call of `fit` continues the training, for `epochs` further
            epochs, and its history.
        verbose: whether to show the progress of training.

    Attributes:
        classes_: the classes, sorted.
        models_: the trained networks.
        history_: losses and scores of each epoch, for each network.
        encoding_: how named attributes are encoded; None for graphs that were given as tensors.
        target_names_: name of the target, if `y` was a column of pandas; otherwise None.

    Example:
        >>> import networkx
        >>> graphs = [networkx.cycle_graph(6), networkx.path_graph(6)] * 10
        >>> model = CLIPClassifier(epochs=50, num_colorings=2, random_state=0)
        >>> model.fit(graphs, ["ring", "chain"] * 10).predict(graphs[:2]).tolist()
        ['ring', 'chain']
    """

    class_weight: Mapping[Any, float] | str | None = None

    def fit(self, X: Graphs, y: Targets | None = None) -> "CLIPClassifier":
        """Train on graphs and their classes, of any type.

        Graphs on disk are trained with their own targets, without `y`.

        Raises:
            InvalidGraphError: if the graphs cannot be read.
            InvalidParameterError: if a parameter has an invalid value, or there is only one class.
            DivergedError: if the loss becomes infinite.
        """
        self._check_parameters()
        graphs = self._read_training(X)
        if isinstance(graphs, StoredGraphs):
            check_no_targets(y)
            classes = classes_of(graphs)
        else:
            classes, numbers = np.unique(as_labels(y), return_inverse=True)
            if len(classes) < 2:
                raise InvalidParameterError(
                    "y must have at least two classes. Got one class, "
                    f"{shown(classes.tolist()[0])}."
                )
            graphs = with_targets(graphs, torch.from_numpy(numbers))
        if self._continues() and classes.tolist() != self.classes_.tolist():
            raise InvalidParameterError(
                "y must have the classes of the first call of fit if warm_start is true. Got "
                f"{shown(classes.tolist())}, but {shown(self.classes_.tolist())} before."
            )
        recipe = self._recipe(len(graphs), class_weights=self._class_weights(classes))
        self._train(graphs, recipe)
        self.classes_: NDArray[Any] = classes
        self.target_names_ = stored_names(graphs) if y is None else names_of(y)
        return self

    def predict_proba(self, X: Graphs) -> NDArray[np.float64]:
        """Probabilities of the classes, `[graphs, classes]`: means over networks and draws."""
        return np.asarray(self._predictions(X).mean(axis=0))

    def predict(self, X: Graphs) -> NDArray[Any]:
        """The most probable class of each graph."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def explain(self, X: Graphs) -> "list[Explanation]":
        """Explain which nodes and edges the predicted class of each graph depends on.

        `node_mask`, `[nodes, 1]`, and `edge_mask`, `[edges]`, are the probability that the
        predicted class loses without a node (and its edges), or without an edge: positive where it
        supports the prediction. They are means over networks and draws. The result is an
        `Explanation` of PyTorch Geometric for each graph.
        """
        from clipgnn.estimators.explanation import explanations

        graphs = self._read(X)
        chosen = self._predictions(graphs).mean(axis=0).argmax(axis=1).tolist()
        return explanations(self.models_, graphs, self._draw_seeds(), chosen)

    @override
    def _learned(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str}

    @override
    def _restore(self, learned: Mapping[str, Any]) -> None:
        self.classes_ = np.array(learned["classes"], dtype=learned["dtype"])

    @override
    def _predictions(self, X: Graphs) -> NDArray[np.float64]:
        return np.asarray(self._outputs(X).double().softmax(-1).numpy())

    def _class_weights(self, classes: NDArray[Any]) -> str | tuple[float, ...] | None:
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return "balanced"
        if not isinstance(self.class_weight, Mapping):
            raise InvalidParameterError(
                'class_weight must be a dictionary by class, "balanced" or None. Got '
                f"{shown(self.class_weight)}.{suggestion(self.class_weight, ['balanced'])}"
            )
        for own, weight in self.class_weight.items():
            if own not in classes.tolist():
                raise InvalidParameterError(
                    f"class_weight must have classes of y. Got {shown(own)}."
                )
            if not POSITIVE.accepts(weight):
                raise InvalidParameterError(
                    f"class_weight must have finite numbers above 0. Got {shown(weight)} for the "
                    f"class {shown(own)}."
                )
        return tuple(float(self.class_weight.get(own, 1.0)) for own in classes.tolist())
