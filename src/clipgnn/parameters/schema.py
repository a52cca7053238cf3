"""Parameter classes: frozen dataclasses whose fields have a rule and documentation."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from textwrap import fill, indent
from typing import Any, ClassVar, TypeVar

from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.parameters.rules import Rule, Value

_T = TypeVar("_T")
_P = TypeVar("_P", bound="Parameters")

REQUIRED: Any = MISSING
"""The default of a parameter that must be given."""


def parameter(
    default: Any, rule: Rule, documentation: str, *, chosen: bool = True, from_data: bool = False
) -> Any:
    """Declare a field of a parameter class.

    Args:
        default: the value if none is given, or `REQUIRED`. It is also a class attribute, so that a
            constructor can be written `num_layers: int = CLIPParameters.num_layers`.
        rule: the values that the parameter can have.
        documentation: entry of an Args block, without a full stop.
        chosen: whether a person can choose the value; otherwise the data or the training gives it.
        from_data: whether `from_graphs` computes the value from the data set unless it is given.
    """
    metadata = {
        "rule": rule,
        "documentation": documentation,
        "chosen": chosen,
        "from_data": from_data,
    }
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Base of the parameter classes: every value is checked and stored in its canonical form.

    Attributes:
        title: name of the model in messages.

    Raises:
        InvalidParameterError: if a rule does not allow a value.
    """

    title: ClassVar[str]

    def __post_init__(self) -> None:
        for name in self.names():
            # The class is frozen, and NumPy's numbers become Python's.
            object.__setattr__(self, name, self.check(name, getattr(self, name)))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all parameters."""
        return tuple(item.name for item in fields(cls))

    @classmethod
    def chosen(cls) -> tuple[str, ...]:
        """The names of the parameters that a person can choose."""
        return tuple(item.name for item in fields(cls) if item.metadata["chosen"])

    @classmethod
    def from_data(cls) -> tuple[str, ...]:
        """The names of the parameters that are computed from the data set unless given."""
        return tuple(item.name for item in fields(cls) if item.metadata["from_data"])

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """The rule of each parameter."""
        return {item.name: item.metadata["rule"] for item in fields(cls)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The default of each parameter that has one."""
        return {item.name: item.default for item in fields(cls) if item.default is not MISSING}

    @classmethod
    def check(cls, name: str, value: object) -> Any:
        """Return the canonical form of a value of one parameter.

        Raises:
            InvalidParameterError: if the rule does not allow the value.
        """
        return cls.rules()[name].check(cls.title, name, value)

    @classmethod
    def check_names(cls, names: Iterable[object], known: Iterable[str] | None = None) -> None:
        """Check that all names are parameters.

        Args:
            names: the names to check.
            known: the names to accept; by default all parameters.

        Raises:
            InvalidParameterError: if one is not.
        """
        known = cls.names() if known is None else tuple(known)
        for name in names:
            if name not in known:
                raise InvalidParameterError(
                    f"{cls.title} has no parameter {shown(name)}. Its parameters are "
                    f"{', '.join(known)}.{suggestion(name, known)}"
                )

    @classmethod
    def from_dict(cls: type[_P], values: Mapping[str, Any]) -> _P:
        """Make the parameters from a dictionary.

        Raises:
            InvalidParameterError: if a name is unknown, a required one is missing, or a rule does
                not allow a value.
        """
        cls.check_names(values)
        for name in cls.names():
            if name not in values and name not in cls.defaults():
                raise InvalidParameterError(f"The {name!r} parameter of {cls.title} must be given.")
        return cls(**values)

    @classmethod
    def from_toml(cls, values: Mapping[str, Value]) -> dict[str, Value | None]:
        """The Python values of TOML values, in which "none" stands for None."""
        rules = cls.rules()
        return {
            name: rules[name].from_toml(value) if name in rules else value
            for name, value in values.items()
        }

    @classmethod
    def documentation(cls, width: int = 100) -> str:
        """An Args block that describes all parameters, with their rules and defaults."""
        entries = []
        for item in fields(cls):
            default = "" if item.default is MISSING else f"; default: {item.default!r}"
            about, rule = item.metadata["documentation"], item.metadata["rule"]
            text = f"{item.name}: {about} ({rule}{default})."
            entries.append(fill(text, width, initial_indent=" " * 4, subsequent_indent=" " * 8))
        return "\n".join(["Args:", *entries])


def documented(parameters: type[Parameters] | None = None) -> Callable[[type[_T]], type[_T]]:
    """Replace the line `{parameters}` in the docstring of a class by an Args block.

    Args:
        parameters: the parameters to describe; by default those of the class itself.
    """

    def decorate(documented_class: type[_T]) -> type[_T]:
        described: Any = parameters or documented_class

        def block(placeholder: re.Match[str]) -> str:
            margin = placeholder[1]
            return indent(described.documentation(100 - len(margin)), margin)

        if documented_class.__doc__ is not None:  # python -OO removes docstrings
            documented_class.__doc__ = re.sub(
                r"^( *)\{parameters\}", block, documented_class.__doc__, flags=re.MULTILINE
            )
        return documented_class

    return decorate
