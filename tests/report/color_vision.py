"""Differences between colors as people with color blindness see them."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

SIMULATIONS = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Matrices of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1)."""

_XYZ = np.array([(0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)])


def smallest_difference(colors: list[str], simulation: str) -> float:
    """The smallest distance between two of the colors in CIELAB."""
    seen = [_lab(own, np.array(SIMULATIONS[simulation])) for own in colors]
    return min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2))


def _lab(color: str, simulation: NDArray[np.float64]) -> NDArray[np.float64]:
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = _XYZ @ np.clip(simulation @ linear, 0, 1) / (0.9505, 1, 1.089)
    x, y, z = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
