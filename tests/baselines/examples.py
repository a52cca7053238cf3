"""Batches to try networks on."""

import torch
from torch import Tensor

from clipgnn.coloring.groups import color_groups
from clipgnn.coloring.hashed import hashed_colorings
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import Assembler
from clipgnn.nn.members import Members
from clipgnn.training.models import ModelSpec, build_members, network_of


def members_of(spec: ModelSpec, graphs: PackedGraphs, seeds: list[int], out: int = 2) -> Members:
    """Members of a network on a data set, in evaluation."""
    return build_members(spec, graphs, network_of(spec).groups(graphs), out, seeds).eval()


def outputs(
    model: Members,
    spec: ModelSpec,
    graphs: PackedGraphs,
    chosen: Tensor,
    seeds: list[int],
    *,
    more_room: int = 0,
) -> Tensor:
    """What the members say of their chosen graphs, `[members, graphs, channels]`."""
    assembler = Assembler(graphs, network_of(spec).groups(graphs))
    batch = assembler.batch(chosen, assembler.room_for(chosen) + more_room)
    wanted = model.colorings_wanted(training=model.training)
    counter = torch.tensor(3)
    colorings = hashed_colorings(batch, wanted, torch.tensor(seeds), counter) if wanted else None
    return model.classify(batch, colorings)


def outputs_of_all(model: Members, graphs: PackedGraphs) -> Tensor:
    """What a single member without colors says of the whole data set, without any padding."""
    assembler = Assembler(graphs, color_groups(graphs.x, graphs.graph_of_node))
    chosen = torch.arange(len(graphs))[None]
    return model.classify(assembler.batch(chosen, graphs.x.shape[0], padded=False), None)[0]
