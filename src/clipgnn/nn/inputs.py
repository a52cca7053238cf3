"""Keyword arguments that the calls of CLIP share."""

from typing import TypedDict

import torch
from torch import Tensor

from clipgnn.coloring.schemes import Scheme


class Inputs(TypedDict, total=False):
    """Keyword arguments of `CLIP.forward`."""

    edge_weight: Tensor | None
    edge_attr: Tensor | None
    graph_attr: Tensor | None
    colorings: Tensor | None
    num_colorings: int | None
    coloring: str | Scheme | None
    generator: torch.Generator | None
    batch_size: int | None
