"""Networks with members, and their outputs for batches of fixed capacity."""

import torch
from torch import Tensor

from clipgnn.graphs.assembly import Assembler, Capacity
from clipgnn.graphs.capacity import FixedBatch
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.linear import Linear
from clipgnn.nn.network import Network
from clipgnn.parameters import MODELS
from clipgnn.training import ModelSpec


def members_of(spec: ModelSpec, graphs: PackedGraphs, seeds: list[int], out: int = 2) -> Network:
    """A network with a member for each seed, in evaluation mode."""
    network: Network = (
        MODELS[spec.name]
        .load()
        .from_graphs(graphs, out_channels=out, num_members=len(seeds), **spec.parameters)
    )
    network.reset_parameters([torch.Generator().manual_seed(seed) for seed in seeds])
    return network.eval()


def bias_of(layer: Linear, member: int = 0) -> Tensor:
    """The bias of a member of a layer that has one."""
    assert layer.bias is not None
    return layer.bias[member].detach()


def batch_of(
    network: Network, graphs: PackedGraphs, chosen: Tensor, *, spare: int = 0
) -> FixedBatch:
    """The chosen graphs `[members, graphs]`, with spare capacity."""
    partition = network.scheme.partition(graphs.to_batch())
    assembler = Assembler(graphs, partition.local_groups, network.prepare(graphs))
    needed = assembler.capacity_for(chosen)
    return assembler.batch(chosen, Capacity(needed.nodes + spare, needed.edges + spare))


def outputs(
    network: Network, graphs: PackedGraphs, chosen: Tensor, seeds: list[int], *, spare: int = 0
) -> Tensor:
    """Outputs of the members for their chosen graphs, `[members, graphs, channels]`."""
    batch = batch_of(network, graphs, chosen, spare=spare)
    partition = network.scheme.partition(graphs.to_batch())
    k = network.num_colorings_for(training=network.training)
    colorings = None
    if k:
        sampler = network.scheme.sampler(graphs, partition)
        colorings = sampler.sample(batch, k, torch.tensor(seeds), torch.tensor(3))
    return network.forward_batch(batch, colorings)


def outputs_of_all(network: Network, graphs: PackedGraphs) -> Tensor:
    """Outputs for all graphs, `[graphs, channels]`, by a call with the tensors of a user."""
    return network(graphs.x, graphs.global_edge_index, graphs.graph_of_node, batch_size=len(graphs))
