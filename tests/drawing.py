"""Parameters of CLIP for k-CLIP and for ∞-CLIP, for tests that compare the two."""

from typing import Any, Literal

Number = int | Literal["all"]


def drawing(colorings: Number) -> dict[str, Any]:
    """Return the parameters for this number of random colorings, or for all colorings."""
    return {"coloring": "all"} if colorings == "all" else {"num_colorings": colorings}
