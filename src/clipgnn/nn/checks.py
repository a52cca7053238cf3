"""Checks that a model can read a batch, with an error for each reason why it cannot."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import forward_ad

from clipgnn.coloring.codes import ColorCode
from clipgnn.errors import InvalidColoringError, InvalidGraphError, UnsupportedTransformError
from clipgnn.graphs.batch import GraphBatch
from clipgnn.graphs.checks import FLOATS, check_plain
from clipgnn.nn.config import CLIPConfig


def check_transforms(tensors: Iterable[Tensor | None]) -> None:
    """No transform is active that the sums over neighbors have no rule for.

    Args:
        tensors: what the model computes with.

    Raises:
        UnsupportedTransformError: if one is active.
    """
    if torch._C._are_functorch_transforms_active():
        found = "a call inside torch.func.grad, vjp, jvp, vmap or another transform of torch.func"
    elif forward_ad._current_level >= 0 and any(
        forward_ad.unpack_dual(tensor).tangent is not None
        for tensor in tensors
        if tensor is not None
    ):
        found = "a tensor with a tangent (torch.autograd.forward_ad)"
    else:
        return
    raise UnsupportedTransformError(
        f"CLIP supports reverse-mode differentiation only. Got {found}. Use torch.autograd.grad "
        "or backward() (torch.func.functional_call may replace the weights), and num_members "
        "instead of vmap for several sets of weights."
    )


def check_readable(graphs: GraphBatch, config: CLIPConfig, weight: Tensor) -> None:
    """Channels, labels, dtypes and device of the batch are those the model was built for.

    Raises:
        InvalidGraphError: if they are not.
    """
    x = graphs.x
    if weight.dtype not in FLOATS:
        raise InvalidGraphError(
            "The model's weights must be floats of 16 to 64 bits to compute with. Got "
            f"{str(weight.dtype).removeprefix('torch.')}. Convert the model, such as with .float()."
        )
    if x.device != weight.device:
        raise InvalidGraphError(
            f"The batch must lie on the model's device, {weight.device}. Got {x.device}. "
            "Move one of them with .to(...)."
        )
    if x.dim() == 1 and int(x.max()) >= config.in_channels:
        raise InvalidGraphError(
            f"Labels must be under in_channels={config.in_channels}. Got {int(x.max())}. "
            "Build the model with as many in_channels as there are labels."
        )
    if x.dim() == 2 and x.shape[1] != config.in_channels:
        raise InvalidGraphError(
            f"x must have in_channels={config.in_channels} channels. Got {x.shape[1]}."
        )
    _check_given("edge_attr", graphs.edges.attr, "edge_channels", config.edge_channels)
    for name, values in (
        ("x", None if x.dim() == 1 else x),
        ("edge_weight", graphs.edges.weight),
        ("edge_attr", graphs.edges.attr),
        ("graph_attr", graphs.graph_attr),
    ):
        if values is not None and values.dtype != weight.dtype:
            raise InvalidGraphError(
                f"{name} must have the model's dtype, {weight.dtype}. Got {values.dtype}. "
                f"Use {name}.to({weight.dtype}), or convert the model."
            )


def check_graph_attributes(graph_attr: Tensor | None, config: CLIPConfig) -> None:
    """Graph attributes are there if and only if the model has channels for them.

    Raises:
        InvalidGraphError: if not.
    """
    _check_given("graph_attr", graph_attr, "graph_channels", config.graph_channels)


def check_colorings(colorings: Tensor, num_nodes: int, config: CLIPConfig, code: ColorCode) -> None:
    """Given colorings are int64 `[colorings, nodes]` with colors the model knows.

    Raises:
        InvalidColoringError: if they are not.
    """
    if config.num_colorings == 0:
        raise InvalidColoringError(
            "A model with num_colorings=0 has no colors. Got colorings: leave them out, or build "
            "the model with a number of colorings."
        )
    if isinstance(colorings, Tensor):
        check_plain("colorings", colorings, InvalidColoringError)
    fits = (
        isinstance(colorings, Tensor)
        and colorings.dtype == torch.int64
        and colorings.dim() == 2
        and colorings.shape[0] > 0
        and colorings.shape[1] == num_nodes
    )
    if not fits:
        got = (
            f"{colorings.dtype} of shape {list(colorings.shape)}"
            if isinstance(colorings, Tensor)
            else type(colorings).__name__
        )
        raise InvalidColoringError(
            f"colorings must be an int64 tensor [colorings, {num_nodes}], as sample_colorings "
            f"returns. Got {got} instead."
        )
    if int(colorings.min()) < 0:
        raise InvalidColoringError(f"Colors must not be negative. Got {int(colorings.min())}.")
    code.check(int(colorings.max()) + 1)


def _check_given(name: str, values: Tensor | None, parameter: str, channels: int) -> None:
    if values is None and channels:
        raise InvalidGraphError(
            f"{name} must be given to a model with {parameter}={channels}. Got none."
        )
    if values is not None and values.shape[-1] != channels:
        raise InvalidGraphError(
            f"{name} must have {parameter}={channels} channels. Got {values.shape[-1]}. "
            f"Build the model with {parameter}={values.shape[-1]}."
        )
