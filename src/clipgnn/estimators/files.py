"""Files of estimators: a model file whose description has everything that prediction needs."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from clipgnn.coloring.schemes import Scheme
from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.encoding import AttributeEncoding
from clipgnn.nn.descriptions import load_kind, reading, save_kind
from clipgnn.nn.network import Network
from clipgnn.training.history import History

if TYPE_CHECKING:
    from clipgnn.estimators.base import GraphEstimator


def save(estimator: "GraphEstimator", path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to a file, atomically."""
    description = {
        "parameters": _plain_parameters(estimator.get_params(deep=False)),
        "encoding": None if estimator.encoding_ is None else estimator.encoding_.as_json(),
        "draw_seed": estimator.draw_seed_,
        "history": [own.as_json() for own in estimator.history_],
        "learned": estimator._learned(),
    }
    save_kind(path, type(estimator).__name__, _joined(estimator.models_), description)


def load(kind: type["GraphEstimator"], path: str | os.PathLike[str]) -> "GraphEstimator":
    """Load an estimator that `save` has written.

    Raises:
        ModelFileError: if the file is damaged, or is not that of such an estimator.
    """
    network, description = load_kind(path, kind.__name__)
    with reading(path, kind.__name__):
        estimator = kind(**_parameters(kind, description["parameters"]))
        encoding = description["encoding"]
        estimator.encoding_ = None if encoding is None else AttributeEncoding.from_json(encoding)
        estimator.draw_seed_ = int(description["draw_seed"])
        estimator.history_ = [History.from_json(own) for own in description["history"]]
        estimator._restore(description["learned"])
    estimator.models_ = [network.member(own) for own in range(network.config.num_members)]
    return estimator


def _joined(models: list[Network]) -> Network:
    """Join networks of one configuration as members of one network."""
    with torch.random.fork_rng([]):
        joined = type(models[0]).from_config(replace(models[0].config, num_members=len(models)))
    joined.scheme = models[0].scheme
    states = [model.state_dict() for model in models]
    joined.to(next(models[0].parameters()).dtype).load_state_dict(
        {name: torch.cat([own[name] for own in states]) for name in states[0]}
    )
    return joined


def _plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as values of JSON; a generator as `random_state` is not kept."""
    plain: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, Scheme):
            value = value.name
        elif isinstance(value, np.random.RandomState):
            value = None
        elif isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, Mapping):
            value = {"pairs": [list(pair) for pair in value.items()]}
        elif value is not None and not isinstance(value, bool | int | float | str):
            value = list(value)
        plain[name] = value
    return plain


def _parameters(kind: type["GraphEstimator"], plain: Mapping[str, Any]) -> dict[str, Any]:
    known = kind().get_params(deep=False)
    if unknown := plain.keys() - known.keys():
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    return {name: _parameter(value) for name, value in plain.items()}


def _parameter(plain: Any) -> Any:
    if isinstance(plain, dict):
        return dict(map(tuple, plain["pairs"]))
    return tuple(plain) if isinstance(plain, list) else plain


def plain_classes(classes: NDArray[Any]) -> list[Any]:
    """Classes as values of JSON.

    Raises:
        InvalidParameterError: if they are not strings, booleans or numbers.
    """
    if classes.dtype.kind not in "Ubiuf":
        raise InvalidParameterError(
            "Classes must be strings, booleans or numbers to be saved. Got "
            f"{shown(classes.tolist()[0])}. Use strings."
        )
    return list(classes.tolist())
