"""Targets that users pass to estimators: classes of any type, or numbers."""

from collections.abc import Sequence
from numbers import Number
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown


@runtime_checkable
class ConvertibleToArray(Protocol):
    """A column or a table of pandas, for example."""

    def __array__(self) -> NDArray[Any]:
        """Return the values as an array."""


Targets = Sequence[Any] | NDArray[Any] | Tensor | ConvertibleToArray
"""A class or a number for each graph, or several numbers."""


def as_labels(y: object) -> NDArray[Any]:
    """Return one label for each graph: strings, booleans or numbers.

    Raises:
        InvalidParameterError: if they are none, of several types, missing, or numbers to regress.
    """
    labels = _as_array(y)
    if labels.ndim == 0 or labels.size == 0:
        raise InvalidParameterError(
            "y must be a list of classes, one for each graph. Got "
            f"{'none' if labels.ndim else shown(y)}."
        )
    if labels.ndim > 2 or (labels.ndim == 2 and labels.shape[1] != 1):
        raise InvalidParameterError(
            "y must be one class for each graph. Got the shape "
            f"{list(labels.shape)}. Use CLIPRegressor for several numbers of a graph."
        )
    if labels.dtype.kind not in "UTObiuf":
        raise _no_class(labels.flat[0])
    labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind == "O":
        labels = _of_one_type(labels)
    if labels.dtype.kind == "f":
        _check_whole(labels)
    return np.array(labels.tolist()) if labels.dtype.kind == "T" else labels


def as_numbers(y: object) -> NDArray[np.float64]:
    """Return the targets of each graph, `[graphs]` or `[graphs, targets]`.

    Raises:
        InvalidParameterError: if they are not numbers.
    """
    requirement = (
        "y must be finite numbers, [graphs] or [graphs, targets], NaN where one is missing"
    )
    given = _as_array(y)
    if given.size and given.dtype.kind not in "Obiuf":
        raise InvalidParameterError(f"{requirement}. Got {_shown(given.flat[0])}.")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        wrong = next(own for own in given.flat if not isinstance(own, Number))
        raise InvalidParameterError(f"{requirement}. Got {_shown(wrong)}.") from error
    if numbers.ndim not in (1, 2) or numbers.size == 0:
        got = "None" if y is None else f"the shape {list(numbers.shape)}"
        raise InvalidParameterError(f"{requirement}. Got {got}.")
    if np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0) > np.finfo(np.float32).max:
        largest = numbers.flat[np.nanargmax(np.abs(numbers))]
        raise InvalidParameterError(f"{requirement}, at most 3.4e+38. Got {largest}.")
    return numbers


def names_of(y: object) -> list[str] | None:
    """Names of the columns of a table of pandas, or None for other targets.

    Example:
        >>> names_of([1.0, 2.0]) is None
        True
    """
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else None


def check_known(numbers: NDArray[np.float64]) -> None:
    """Check that every target is known for some graph.

    Raises:
        InvalidParameterError: if one is missing for every graph.
    """
    missing = np.flatnonzero(np.isnan(numbers).all(axis=0))
    if missing.size:
        which = f" in column {missing[0]}" if numbers.ndim == 2 else ""
        raise InvalidParameterError(
            f"Every target must be known for some graph. Got only missing values{which}."
        )


def are_numbers(y: object) -> bool:
    """Whether targets are numbers to regress, and not classes: fractions, or NaN."""
    given = _as_array(y)
    if given.dtype.kind != "f":
        return False
    return not bool((given == np.round(given)).all())


def _as_array(y: object) -> NDArray[Any]:
    if isinstance(y, Tensor):
        return np.asarray(y.detach().cpu().numpy())
    if isinstance(y, list | tuple) and any(isinstance(own, str) for own in y):
        return _of_objects(y)
    try:
        return np.asarray(y)
    except ValueError as error:  # rows of several lengths
        raise InvalidParameterError(
            f"y must have the same number of targets for each graph. Got {shown(y)}."
        ) from error


def _of_objects(y: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """Strings as an array of strings; other lists as objects, of which NumPy would make strings."""
    if all(isinstance(own, str) for own in y):
        return np.asarray(y)
    objects = np.empty(len(y), dtype=object)
    objects[:] = y
    return objects


def _of_one_type(labels: NDArray[Any]) -> NDArray[Any]:
    """Convert objects that are numbers or booleans; strings stay objects, as in scikit-learn."""
    missing = [number for number, own in enumerate(labels) if _is_missing(own)]
    if missing:
        raise _missing(labels[missing[0]], missing[0])
    kinds = {_kind(own): own for own in labels}
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise InvalidParameterError(
            f"y must have classes of one type. Got {_shown(one)} and {_shown(other)}. Use strings."
        )
    [(kind, example)] = kinds.items()
    if kind == "other":
        raise _no_class(example)
    if kind == "string":
        return labels
    numbers = np.array(labels.tolist())
    if numbers.dtype.kind == "O":
        raise InvalidParameterError(
            "y must have classes that fit 64 bits. Got a larger integer. Use strings."
        )
    return numbers


def _kind(label: object) -> str:
    if isinstance(label, str):
        return "string"
    if isinstance(label, bool | np.bool_):
        return "boolean"
    return "number" if isinstance(label, Number) else "other"


def _is_missing(label: object) -> bool:
    if isinstance(label, float | np.floating):
        return bool(np.isnan(label))
    return label is None or type(label).__name__ in ("NAType", "NaTType")  # of pandas


def _check_whole(labels: NDArray[Any]) -> None:
    if np.isnan(labels).any():
        place = int(np.isnan(labels).argmax())
        raise _missing(labels[place], place)
    fractions = labels[labels != np.round(labels)]
    if fractions.size or np.isinf(labels).any():
        example = fractions[0] if fractions.size else labels[np.isinf(labels)][0]
        raise InvalidParameterError(
            f"y must be one class for each graph. Unknown label type: the number {example}. Use "
            "CLIPRegressor for numbers."
        )


def _missing(label: object, graph: int) -> InvalidParameterError:
    return InvalidParameterError(
        f"y must have a class for each graph. Got {_shown(label)} for graph {graph}. Leave "
        "out graphs without a class."
    )


def _no_class(label: object) -> InvalidParameterError:
    return InvalidParameterError(
        f"y must be strings, booleans or numbers. Got {_shown(label)} of type "
        f"{type(label).__name__}. Use strings."
    )


def _shown(value: object) -> str:
    return shown(value.item() if isinstance(value, np.generic) else value)
