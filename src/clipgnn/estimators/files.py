"""Files of estimators: a model file whose description has everything that prediction needs."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clipgnn.coloring.schemes import Scheme
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
        "target_names": estimator.target_names_,
        "learned": estimator._learned(),
    }
    save_kind(path, type(estimator).__name__, _joined(estimator.models_), description)


def load(kind: type["GraphEstimator"], path: str | os.PathLike[str]) -> "GraphEstimator":
    """Load an estimator that `save` has written.

    Raises:
        ModelFileError: if the file is damaged, or is not that of such an estimator.
    """
    network, description = load_kind(path, kind.__name__)
    return restored(kind, network, description, path)


def restored(
    kind: type["GraphEstimator"],
    network: Network,
    description: Mapping[str, Any],
    path: str | os.PathLike[str],
) -> "GraphEstimator":
    """Restore an estimator from the network and the description of its file.

    Raises:
        ModelFileError: if the description is damaged.
    """
    with reading(path, kind.__name__):
        estimator = kind(**_parameters(kind, description["parameters"]))
        encoding = description["encoding"]
        estimator.encoding_ = None if encoding is None else AttributeEncoding.from_json(encoding)
        estimator.draw_seed_ = int(description["draw_seed"])
        estimator.history_ = [History.from_json(own) for own in description["history"]]
        names = description.get("target_names")  # files of older versions do not have it
        estimator.target_names_ = None if names is None else list(map(str, names))
        estimator.models_ = [network.member(own) for own in range(network.config.num_members)]
        estimator._restore(description["learned"])
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
    return {name: _plain(value) for name, value in parameters.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, np.random.RandomState):
        return None
    if isinstance(value, Scheme):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {"pairs": [[_plain(key), _plain(own)] for key, own in value.items()]}
    return [_plain(own) for own in value] if isinstance(value, Iterable) else str(value)


def _parameters(kind: type["GraphEstimator"], plain: Mapping[str, Any]) -> dict[str, Any]:
    known = kind().get_params(deep=False)
    if unknown := plain.keys() - known.keys():
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    return {name: _parameter(value) for name, value in plain.items()}


def _parameter(plain: Any) -> Any:
    if isinstance(plain, dict):
        return dict(map(tuple, plain["pairs"]))
    return tuple(plain) if isinstance(plain, list) else plain
