"""What a CLIP network is made of: its parameters, checked."""

from dataclasses import dataclass, fields, replace
from numbers import Integral
from typing import Any, Literal

from clipgnn.coloring.codes import ColorCode, ColorCodeName
from clipgnn.coloring.sample import MOST_SAMPLED
from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.nn.activation import activation_named


@dataclass(frozen=True)
class CLIPConfig:
    """The parameters of `CLIP`, which documents them.

    Raises:
        InvalidParameterError: if one has a value it cannot have.
    """

    in_channels: int
    out_channels: int
    hidden_channels: int = 64
    num_layers: int = 3
    num_colorings: int | Literal["all"] = 16
    num_colors: int = 64
    color_code: ColorCodeName = "one-hot"
    activation: str = "relu"
    norm: Literal["batch"] | None = "batch"
    dropout: float = 0.0
    directed: bool = False
    edge_channels: int = 0
    graph_channels: int = 0
    num_members: int = 1
    colorings_at_once: int | None = None

    def __post_init__(self) -> None:
        for name in ("in_channels", "out_channels", "hidden_channels", "num_layers"):
            self._check_integer(name, least=1)
        for name in ("edge_channels", "graph_channels"):
            self._check_integer(name, least=0)
        for name in ("num_colors", "num_members"):
            self._check_integer(name, least=1)
        # A comparison with an array has no truth value, so types come first.
        if not (isinstance(self.num_colorings, str) and self.num_colorings == "all"):
            self._check_integer("num_colorings", least=0, or_else='or "all"')
            if self.num_colorings > MOST_SAMPLED:
                raise self._error("num_colorings", f'at most {MOST_SAMPLED:,} or "all"')
        if self.colorings_at_once is not None:
            self._check_integer("colorings_at_once", least=1, or_else="or None")
        if self.norm is not None and not (isinstance(self.norm, str) and self.norm == "batch"):
            raise self._error("norm", '"batch" or None')
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise self._error("dropout", "a number from 0 to under 1")
        if not isinstance(self.directed, bool):
            raise self._error("directed", "True or False")
        activation_named(self.activation)
        ColorCode(self.color_code, self.num_colors)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "CLIPConfig":
        """The configuration with these values; an unknown key is an error."""
        known = [field.name for field in fields(cls)]
        for key in values:
            if key not in known:
                raise InvalidParameterError(
                    f"CLIP has no parameter {shown(key)}.{suggestion(key, known)}"
                )
        missing = [name for name in ("in_channels", "out_channels") if name not in values]
        if missing:
            raise InvalidParameterError(f"CLIP needs the parameter {missing[0]!r}.")
        return cls(**values)

    def with_colorings(self, num_colorings: int | Literal["all"]) -> "CLIPConfig":
        """The configuration with another number of colorings, for the same weights.

        Raises:
            InvalidParameterError: if the weights are for a model with colors and the new number is
                0, or the other way around.
        """
        changed = replace(self, num_colorings=num_colorings)
        if (changed.num_colorings == 0) != (self.num_colorings == 0):
            rule = "be 0: the model was built without colors"
            if self.num_colorings != 0:
                rule = 'be at least 1 or "all": the model was built with colors'
            raise InvalidParameterError(
                f"num_colorings must {rule}. Got {shown(num_colorings)}. Build another model with "
                f"num_colorings={shown(num_colorings)}."
            )
        return changed

    @property
    def input_channels(self) -> int:
        """Channels of the first layer: attributes and the code of the color."""
        if self.num_colorings == 0:
            return self.in_channels
        return self.in_channels + ColorCode(self.color_code, self.num_colors).width

    def _check_integer(self, name: str, *, least: int, or_else: str = "") -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise self._error(name, f"an integer of at least {least} {or_else}".rstrip())
        object.__setattr__(self, name, int(value))  # NumPy has integers of its own

    def _error(self, name: str, rule: str) -> InvalidParameterError:
        return InvalidParameterError(
            f"The {name!r} parameter of CLIP must be {rule}. Got {shown(getattr(self, name))} "
            "instead."
        )
