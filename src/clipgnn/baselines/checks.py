"""Checks of the parameters that the baselines share."""

from numbers import Integral

from clipgnn.errors import InvalidParameterError


def check_integers(system: str, *, least: int = 1, **values: object) -> None:
    """Raise unless every value is an integer of at least `least`."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
            raise InvalidParameterError(
                f"The {name!r} parameter of {system} must be an integer of at least {least}. "
                f"Got {value!r} instead."
            )


def check_dropout(system: str, dropout: object) -> None:
    """Raise unless it is a share of units to drop."""
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise InvalidParameterError(
            f"The 'dropout' parameter of {system} must be a number from 0 to under 1. "
            f"Got {dropout!r} instead."
        )
