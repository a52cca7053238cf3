"""Options that several commands share: a dataclass of options as one parameter of a command."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by options for its fields.

    Typer reads options from the signature of a function; this changes it. A field is annotated like
    a parameter of a command, `Annotated[int, typer.Option(help=…)]`, and has a default.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Size:
        ...     width: int = 1
        >>> def show(name: str, size: Size) -> None:
        ...     print(name, size)
        >>> with_option_groups(show)("a", width=3)
        a Size(width=3)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters, annotations = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        own = _fields(groups[name]) if name in groups else [parameter]
        parameters += own
        annotations.update(
            {one.name: one.annotation if name in groups else hints[name] for one in own}
        )

    @wraps(command)
    def flat(*arguments: Any, **values: Any) -> None:
        for name, group in groups.items():
            names = [own.name for own in fields(group) if own.name in values]
            values[name] = group(**{own: values.pop(own) for own in names})
        command(*arguments, **values)

    # Positional parameters first: fields of a group are keywords.
    parameters.sort(key=lambda own: own.kind is inspect.Parameter.KEYWORD_ONLY)
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = annotations
    return flat


def _fields(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            own.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if own.default is MISSING else own.default,
            annotation=hints[own.name],
        )
        for own in fields(group)
    ]
