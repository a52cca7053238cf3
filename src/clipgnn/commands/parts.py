"""The part of an experiment that options such as `--models` and `--where` choose."""

from dataclasses import dataclass

from clipgnn.commands import options
from clipgnn.errors import InvalidParameterError
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.protocol import check_protocol
from clipgnn.parameters import Value


@dataclass(frozen=True)
class PartOptions:
    """Options that choose a part of an experiment, or change it."""

    models: options.Models = None
    datasets: options.Datasets = None
    epochs: options.Epochs = None
    folds: options.Folds = None
    where: options.Where = None
    seeds: options.Seeds = None
    groups: options.Groups = None

    def overrides(self, protocol: str | None = None) -> Overrides:
        """Return the part that the options choose, under a protocol.

        Raises:
            InvalidParameterError: if an option does not have the form that its help describes.
        """
        if protocol is not None:
            check_protocol(protocol)
        return Overrides(
            models=None if self.models is None else _split_list(self.models),
            datasets=None if self.datasets is None else _split_list(self.datasets),
            epochs=self.epochs,
            folds=self.folds,
            where=dict(_condition(text) for text in self.where or []),
            seeds=None if self.seeds is None else _integers(self.seeds),
            groups=self.groups,
            protocol=protocol,
        )


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _integers(text: str) -> list[int]:
    values = [_value(value) for value in _split_list(text)]
    if not all(type(value) is int for value in values):
        raise InvalidParameterError(f"--seeds must have the form 0,1,2. Got {text!r}.")
    return [int(value) for value in values]


def _condition(text: str) -> tuple[str, tuple[Value, ...]]:
    key, equals, values = text.partition("=")
    if not equals or not _split_list(values):
        raise InvalidParameterError(f"--where must have the form num_layers=3,5. Got {text!r}.")
    return key.strip(), tuple(_value(value) for value in _split_list(values))


def _value(text: str) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)
