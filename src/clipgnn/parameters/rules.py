"""Rules for the values of parameters: kinds, bounds, words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from numbers import Integral, Real
from typing import Any

from clipgnn.errors import InvalidParameterError, shown, suggestion

Value = int | float | str | bool
"""A value of a parameter in TOML and JSON."""

NONE = "none"
"""The spelling of None in TOML, which has no null."""

LARGEST_INTEGER = 2**63 - 1
"""Largest integer that tensors and stores can hold."""


@dataclass(frozen=True)
class PythonValues:
    """Values that Python code can pass and that a file cannot contain.

    Attributes:
        text: description for messages.
        accepts: whether a value is one of them.
        normal: the canonical form of an accepted value.
    """

    text: str
    accepts: Callable[[object], bool]
    normal: Callable[[Any], object]


@dataclass(frozen=True)
class Rule:
    """The values that a parameter can have.

    Attributes:
        kind: `int`, `float`, `str` or `bool`. A float can also be given as an integer.
        minimum: smallest number.
        maximum: largest number. Integers have at most 63 bits in any case.
        above: exclusive lower bound of a float.
        below: exclusive upper bound of a float.
        words: the accepted strings; any string if empty.
        any_case: whether words can be given in upper case; they are stored in lower case.
        refused: reasons for words that a user might expect to be accepted.
        optional: whether None is accepted.
        python: further values, which only Python code can pass.
    """

    kind: type
    minimum: int | float | None = None
    maximum: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    words: tuple[str, ...] = ()
    any_case: bool = False
    refused: Mapping[str, str] = field(default_factory=dict, hash=False)
    optional: bool = False
    python: PythonValues | None = None

    def accepts(self, value: object) -> bool:
        """Whether the rule allows this value; never raises."""
        if value is None:
            return self.optional
        if self.python is not None and self.python.accepts(value):
            return True
        if self.kind is bool:
            return isinstance(value, bool)
        if self.kind is str:
            return isinstance(value, str) and (not self.words or self._word(value) in self.words)
        number = self._number(value)
        return (
            number is not None
            and isfinite(number)
            and (self.minimum is None or number >= self.minimum)
            and (self.maximum is None or number <= self.maximum)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def normal(self, value: Any) -> Any:
        """The canonical form of an accepted value, of a built-in type.

        Example:
            >>> Rule(float).normal(1)
            1.0
        """
        if value is None or isinstance(value, bool):
            return value
        if self.python is not None and self.python.accepts(value):
            return self.python.normal(value)
        return self._word(value) if isinstance(value, str) else self.kind(value)

    def check(self, owner: str, name: str, value: object) -> Any:
        """Return the canonical form of a value.

        Args:
            owner: title of the model for the message.
            name: name of the parameter for the message.
            value: the value to check.

        Raises:
            InvalidParameterError: if the rule does not allow the value.
        """
        if not self.accepts(value):
            raise InvalidParameterError(
                f"The {name!r} parameter of {owner} must be {self}. Got {shown(value)} instead."
                f"{self.hint(value)}"
            )
        return self.normal(value)

    def hint(self, value: object) -> str:
        """The end of a message about a refused word: a reason, a suggestion, or nothing."""
        if isinstance(value, str) and value.lower() in self.refused:
            return f" {self.refused[value.lower()]}"
        return suggestion(value, self.words)

    def from_toml(self, value: Value) -> Value | None:
        """The Python value of a TOML value, in which "none" stands for None."""
        return None if self.optional and value == NONE else value

    def accepts_toml(self, value: object) -> bool:
        """Whether the rule allows this value of a TOML file."""
        return isinstance(value, int | float | str) and self.accepts(self.from_toml(value))

    def in_toml(self) -> str:
        """The rule in words, with the values spelled as in TOML."""
        return self._text("true or false", "", f'"{NONE}"')

    def __str__(self) -> str:
        return self._text("True or False", self.python.text if self.python else "", "None")

    def _word(self, value: str) -> str:
        return str(value.lower() if self.any_case else value)

    def _number(self, value: object) -> int | float | None:
        """The value as a Python number, or None if it is not a number of this kind."""
        if isinstance(value, bool):
            return None
        try:
            if self.kind is int and isinstance(value, Integral):
                number = int(value)
                return number if abs(number) <= LARGEST_INTEGER else None
            if self.kind is float and isinstance(value, Real):
                return float(value)
        except (ArithmeticError, TypeError, ValueError):  # integers of hundreds of digits
            pass
        return None

    def _text(self, booleans: str, further: str, none: str) -> str:
        if self.kind is bool:
            text = booleans
        elif self.kind is str:
            words = ", ".join(f'"{word}"' for word in self.words)
            text = f"one of {words}" if len(self.words) > 1 else words or "a string"
        else:
            text = self._interval()
        parts = [part for part in (text, further, none if self.optional else "") if part]
        return " or ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))

    def _interval(self) -> str:
        if self.kind is int and self.minimum is not None:
            last = LARGEST_INTEGER if self.maximum is None else self.maximum
            return f"an integer from {self.minimum} to {last}"
        bounds = [
            f"{words} {bound:g}"
            for words, bound in (
                ("of at least", self.minimum),
                ("above", self.above),
                ("at most", self.maximum),
                ("below", self.below),
            )
            if bound is not None
        ]
        bounded = self.maximum is not None or self.below is not None
        noun = "a number" if bounded else "a finite number"
        if self.kind is int:
            noun = "an integer"
        return f"{noun} {' and '.join(bounds)}".rstrip()


POSITIVE = Rule(float, above=0)
