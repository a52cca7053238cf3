"""Curve of the difference between maxima over k colorings, as an SVG element of a page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT = 360.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 20.0, 26.0, 42.0


@dataclass(frozen=True)
class DifferenceCurve:
    """The curve, over a logarithmic axis of k.

    Attributes:
        points: numbers k and differences.
        level: difference over all colorings; None if it is not known.
    """

    points: Sequence[tuple[int, float]]
    level: float | None

    @property
    def _largest(self) -> float:
        return max([value for _, value in self.points] + [self.level or 0.0])

    def place(self, k: int, value: float) -> tuple[float, float]:
        """Return the position of a point in the drawing."""
        last = max(self.points[-1][0], 2)
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * math.log(k) / math.log(last)
        y = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / (1.05 * (self._largest or 1.0))
        return round(x, 1), round(y, 1)

    def svg(self) -> str:
        """Return the curve as an SVG element, with a marker at the first point."""
        line = "".join(
            f"{'L' if number else 'M'}{x:g} {y:g}"
            for number, (x, y) in enumerate(self.place(*own) for own in self.points)
        )
        x, y = self.place(*self.points[0])
        end = _WIDTH - _RIGHT
        level = ""
        if self.level is not None:
            _, height = self.place(1, self.level)
            level = (
                f'<path class="level" d="M{_LEFT:g} {height:g}H{end:g}"/>'
                f'<text class="level" x="{end:g}" y="{height - 5:g}" '
                'text-anchor="end">∞-CLIP</text>\n'
            )
        description = (
            f"Difference between the maxima over k colorings, from {self.points[0][1]:.3g} for "
            f"k = {self.points[0][0]} to {self.points[-1][1]:.3g} for k = {self.points[-1][0]}."
        )
        return (
            f'<svg class="chart" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
            'aria-labelledby="curve-title curve-desc"><title id="curve-title">Difference by number '
            f'of colorings</title><desc id="curve-desc">{description}</desc>\n{self._axes()}{level}'
            f'<path class="line" d="{line}"/>'
            f'<circle class="marker" cx="{x:g}" cy="{y:g}" r="6"/></svg>\n'
        )

    def _axes(self) -> str:
        base, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
        parts = [f'<path class="axis" d="M{_LEFT:g} {_TOP:g}V{base:g}H{end:g}"/>']
        for value in ticks(self._largest):
            _, y = self.place(1, value)
            parts.append(f'<path class="grid" d="M{_LEFT:g} {y:g}H{end:g}"/>')
            parts.append(
                f'<text x="{_LEFT - 6:g}" y="{y + 4:g}" text-anchor="end">{value:g}</text>'
            )
        k = 1
        while k <= max(self.points[-1][0], 1):
            x, _ = self.place(k, 0.0)
            parts.append(f'<text x="{x:g}" y="{base + 16:g}" text-anchor="middle">{k:,}</text>')
            k *= 4
        middle = (_LEFT + end) / 2
        parts.append(
            f'<text x="{middle:g}" y="{_HEIGHT - 8:g}" text-anchor="middle">'
            "number k of colorings</text>"
        )
        parts.append(f'<text x="4" y="{_TOP - 12:g}">difference between the maxima</text>')
        return "\n".join(parts) + "\n"


def ticks(largest: float) -> list[float]:
    """Return three to six round numbers from 0 to the largest value; 0 only if that is 0.

    Example:
        >>> ticks(0.0137)
        [0.0, 0.005, 0.01]
    """
    if largest == 0:
        return [0.0]
    power = 10.0 ** math.floor(math.log10(largest))
    step = next(own * power for own in (0.2, 0.5, 1.0, 2.0) if largest / (own * power) <= 5)
    return [float(f"{number * step:.6g}") for number in range(int(largest / step + 1e-9) + 1)]
