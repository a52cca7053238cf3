"""Checks that a model can read a batch and its colorings."""

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import forward_ad

from clipgnn.errors import InvalidColoringError, InvalidGraphError, UnsupportedTransformError
from clipgnn.graphs.checks import FLOATS, check_dense
from clipgnn.graphs.exact import ExactBatch
from clipgnn.parameters import NetworkParameters


def check_transforms(tensors: Iterable[Tensor | None]) -> None:
    """Check that no transform is active that sums over neighbors do not support.

    Args:
        tensors: inputs and weights of the model.

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
        f"Networks support reverse-mode differentiation only. Got {found}. Use torch.autograd.grad "
        "or backward() (torch.func.functional_call may replace the weights), and num_members "
        "instead of vmap for several sets of weights."
    )


def check_readable(
    graphs: ExactBatch, config: NetworkParameters, weight: Tensor, reads_edge_weights: bool
) -> None:
    """Check that channels, labels, dtypes and device of a batch match the model.

    Raises:
        InvalidGraphError: if they do not.
    """
    x = graphs.x
    if weight.dtype not in FLOATS:
        raise InvalidGraphError(
            "The weights of the model must be floats of 16 to 64 bits. Got "
            f"{str(weight.dtype).removeprefix('torch.')}. Use model.float()."
        )
    if x.device != weight.device:
        raise InvalidGraphError(
            f"The batch must be on the device of the model, {weight.device}. Got {x.device}. "
            "Move one of them with .to(...)."
        )
    if x.dim() == 1 and int(x.max()) >= config.in_channels:
        raise InvalidGraphError(
            f"Labels must be less than in_channels={config.in_channels}. Got {int(x.max())}. "
            f"Build the model with in_channels={int(x.max()) + 1} or more."
        )
    if x.dim() == 2 and x.shape[1] != config.in_channels:
        raise InvalidGraphError(
            f"x must have in_channels={config.in_channels} channels. Got {x.shape[1]}."
        )
    _check_given("edge_attr", graphs.edges.attr, "edge_channels", config)
    if graphs.edges.weight is not None and not reads_edge_weights:
        raise InvalidGraphError(
            f"{config.title} does not support edge_weight. Got edge weights. Leave it out."
        )
    for name, values in (
        ("x", None if x.dim() == 1 else x),
        ("edge_weight", graphs.edges.weight),
        ("edge_attr", graphs.edges.attr),
        ("graph_attr", graphs.graph_attr),
    ):
        if values is not None and values.dtype != weight.dtype:
            raise InvalidGraphError(
                f"{name} must have the dtype of the model, {weight.dtype}. Got {values.dtype}. "
                f"Use {name}.to({weight.dtype}), or convert the model."
            )


def check_graph_attributes(graph_attr: Tensor | None, config: NetworkParameters) -> None:
    """Check that graph attributes are given if and only if the model has channels for them.

    Raises:
        InvalidGraphError: if they do not match.
    """
    _check_given("graph_attr", graph_attr, "graph_channels", config)


def check_colorings(
    colorings: Tensor, num_nodes: int, num_colorings: int, largest_color: int | None
) -> None:
    """Check that colorings are int64 `[colorings, nodes]` with colors of the model.

    Raises:
        InvalidColoringError: if they are not.
    """
    if num_colorings == 0:
        raise InvalidColoringError(
            "A model without colors (num_colorings=0) accepts no colorings. Got colorings. Leave "
            "them out."
        )
    if isinstance(colorings, Tensor):
        check_dense("colorings", colorings, InvalidColoringError)
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
    largest = int(colorings.max())
    if largest_color is not None and largest > largest_color:
        raise InvalidColoringError(
            f"Colors must be less than num_colors={largest_color + 1}. Got color {largest}. Build "
            f"the model with num_colors={largest + 1} or more."
        )


def _check_given(
    name: str, values: Tensor | None, parameter: str, config: NetworkParameters
) -> None:
    channels: int = getattr(config, parameter, 0)
    if values is None and channels:
        raise InvalidGraphError(
            f"{name} must be given to a model with {parameter}={channels}. Got none."
        )
    if values is None or values.shape[-1] == channels:
        return
    if not hasattr(config, parameter):
        raise InvalidGraphError(
            f"{config.title} does not support {name}. Got {name}. Leave it out."
        )
    raise InvalidGraphError(
        f"{name} must have {parameter}={channels} channels. Got {values.shape[-1]}. Build "
        f"the model with {parameter}={values.shape[-1]}."
    )
