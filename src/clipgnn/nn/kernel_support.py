"""Networks and batches that fused GPU kernels support; needs no Triton."""

import torch

from clipgnn.graphs.batch import Batch
from clipgnn.parameters import CLIPParameters

MAX_FUSED_CHANNELS = 64
"""Largest number of channels for which fused GPU kernels are faster than products of cuBLAS."""

MAX_FUSED_NODES = 2**15
"""Number of nodes of a batch from which 1,024 colorings of 64 channels need 64-bit offsets."""


def supports_clip(config: CLIPParameters) -> bool:
    """Whether there are fused kernels for a configuration of CLIP."""
    return (
        config.norm == "batch"
        and config.activation == "relu"
        and config.color_code == "one-hot"
        and not config.directed
    )


def supports_batch(
    batch: Batch, hidden_channels: int, dtype: torch.dtype, *, training: bool
) -> bool:
    """Whether fused kernels can be used for a batch.

    Args:
        batch: the batch.
        hidden_channels: channels of the rows.
        dtype: dtype of the weights.
        training: whether the network is in training mode.
    """
    return (
        batch.x.is_cuda
        and batch.edges.attr is None
        and dtype == torch.float32
        and (training or not torch.is_grad_enabled())
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cuda")
        and hidden_channels <= MAX_FUSED_CHANNELS
        # Offsets within a member are 32-bit integers.
        and batch.num_nodes // batch.num_members < MAX_FUSED_NODES
        and batch.structure is not None
    )
