"""Checks of the values of experiment files, with messages that name the file and the key."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from clipgnn.errors import InvalidExperimentError, shown, suggestion
from clipgnn.parameters import LARGEST_INTEGER, Rule, Value

MAX_CHARACTERS = 200
"""Largest number of characters of a name or title."""


@dataclass(frozen=True)
class FileChecks:
    """Checks of values of one file. A method returns the value, in its canonical form.

    Attributes:
        file: name of the file, for messages.
    """

    file: str

    def boolean(self, key: str, given: Any) -> bool:
        """True or false."""
        return bool(self.value(key, given, Rule(bool)))

    def integer(self, key: str, given: Any, rule: Rule) -> int:
        """An integer that a rule allows."""
        return int(self.value(key, given, rule))

    def value(self, key: str, given: Any, *rules: Rule) -> Value:
        """The canonical form of a value that every rule allows; without rules, any scalar."""
        if not rules and not _is_scalar(given):
            problem = "must be a finite number, a printable string, or true or false"
            raise self.error(key, f"{problem}. Got {shown(given)}")
        for rule in rules:
            if not rule.accepts_toml(given):
                problem = f"must be {rule.in_toml()}. Got {shown(given)}"
                raise self.error(key, problem, rule.hint(given))
            given = rule.normal(given)
        return given

    def values(self, key: str, given: Any, *rules: Rule) -> tuple[Value, ...]:
        """Different values, or a single one, each as `value` returns it."""
        listed = given if isinstance(given, list | tuple) else [given]
        if not listed:
            raise self.error(key, "must have at least one value")
        values = tuple(self.value(key, value, *rules) for value in listed)
        if len(set(values)) < len(values):
            raise self.error(key, f"must not have a value twice. Got {shown(list(values))}")
        return values

    def names(self, key: str, given: Any, check: Callable[[str, Any], str]) -> tuple[str, ...]:
        """A list of different names, each of which is checked."""
        if not isinstance(given, list | tuple):
            raise self.error(key, f"must be a list of names. Got {shown(given)}")
        names = tuple(check(key, name) for name in given)
        if len(set(names)) < len(names):
            raise self.error(key, f"must not have a name twice. Got {shown(list(names))}")
        return names

    def among(self, known: Iterable[str]) -> Callable[[str, Any], str]:
        """A check that a name is one of the known ones, for `names`."""
        return lambda key, given: self.word(key, given, known)

    def word(self, key: str, given: Any, known: Iterable[str]) -> str:
        """One of the known words."""
        known = list(known)
        if not isinstance(given, str) or given not in known:
            close = suggestion(given, known) if isinstance(given, str) else ""
            got = "Nothing is given" if given is None else f"Got {shown(given)}"
            raise self.error(key, f"must be one of {', '.join(known)}. {got}", close)
        return given

    def text(self, key: str, given: Any) -> str:
        """One printable line."""
        if (
            not isinstance(given, str)
            or not given.strip()
            or not given.isprintable()
            or len(given) > MAX_CHARACTERS
        ):
            raise self.error(
                key,
                f"must be one printable line of at most {MAX_CHARACTERS} characters. "
                f"Got {shown(given)}",
            )
        return given

    def known_keys(
        self, at: str, content: Mapping[str, Any], known: Iterable[str], hint: str = ""
    ) -> None:
        """Check that a table has no unknown key.

        Args:
            at: key of the table; empty for the whole file.
            content: the table.
            known: its known keys.
            hint: a sentence that is added to the message.
        """
        known = list(known)
        for key in content:
            if key not in known:
                short = key if key.isprintable() and len(key) <= 60 else shown(key)
                full = f"{at}.{short}" if at else short
                raise self.error(full, "is an unknown key", suggestion(key[:100], known) + hint)

    def error(self, key: str, problem: str, close: str = "") -> InvalidExperimentError:
        """An error that names the file and the key."""
        return InvalidExperimentError(f"{self.file}: {key}: {problem}.{close}")


def _is_scalar(value: object) -> bool:
    """Return whether a value of TOML can be a value of any parameter."""
    if isinstance(value, str):
        return value.isprintable() and len(value) <= MAX_CHARACTERS
    if isinstance(value, int):
        return abs(value) <= LARGEST_INTEGER
    return isinstance(value, float) and isfinite(value)
