"""From a model's name and parameters to members that can be trained."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Tensor

from clipgnn.baselines.dcnn import DCNN
from clipgnn.baselines.dgcnn import DGCNN
from clipgnn.baselines.gin import GIN
from clipgnn.baselines.patchy_san import PatchySAN
from clipgnn.baselines.ring_gnn import RingGNN
from clipgnn.baselines.rp_gin import RPGIN
from clipgnn.coloring.codes import ColorCode
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.clip import CLIP
from clipgnn.nn.config import CLIPConfig
from clipgnn.nn.dropout import Dropout
from clipgnn.nn.members import Drawn, Members

Parameter = int | float | str | bool | None


@dataclass(frozen=True)
class ModelSpec:
    """A model by name, with the parameters that are not given by the data.

    Attributes:
        name: such as "clip".
        parameters: such as `{"num_colorings": 16, "hidden_channels": 32}`.
    """

    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def groups_of(graphs: PackedGraphs) -> Tensor:
    """The groups of identical attributes of a whole data set: what colors must tell apart."""
    return color_groups(graphs.x, graphs.graph_of_node)


def one_group(graphs: PackedGraphs) -> Tensor:
    """All nodes of a graph are told apart, whatever their attributes: a coloring permutes them."""
    return torch.zeros_like(graphs.graph_of_node)


Builder = Callable[[Mapping[str, Any], PackedGraphs, Tensor, int, int], Members]


@dataclass(frozen=True)
class Network:
    """How a network is built.

    Attributes:
        build: from parameters, data set, groups, channels of the output and number of members.
        parameters: the parameters one may choose.
        groups: for each node the group inside which colors must differ.
    """

    build: Builder
    parameters: tuple[str, ...]
    groups: Callable[[PackedGraphs], Tensor] = groups_of


def network_of(spec: ModelSpec) -> Network:
    """The network of this name, its parameters known to exist.

    Raises:
        InvalidParameterError: if there is no such model or parameter.
    """
    check_known("There is no model", spec.name, NETWORKS)
    network = NETWORKS[spec.name]
    for key in spec.parameters:
        check_known(f"The model {spec.name!r} has no parameter", key, network.parameters)
    return network


def build_members(
    spec: ModelSpec, graphs: PackedGraphs, groups: Tensor, out_channels: int, seeds: Sequence[int]
) -> Members:
    """Members of a model with weights drawn from their seeds, on the CPU.

    Raises:
        InvalidParameterError: if there is no such model or parameter.
    """
    network = network_of(spec)
    with torch.random.fork_rng([]):  # what a constructor draws is drawn again
        model = network.build(spec.parameters, graphs, groups, out_channels, len(seeds))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    drawn = [module for module in model.modules() if isinstance(module, Drawn)]
    with torch.no_grad():
        # Dropout comes last, so that weights are the same with it and without.
        for module in sorted(drawn, key=lambda module: isinstance(module, Dropout)):
            module.reset_parameters(generators)
    return model


def check_known(complaint: str, name: str, known: Iterable[str]) -> None:
    """Raise an error that names what is known and the closest of it."""
    known = tuple(known)
    if name not in known:
        raise InvalidParameterError(
            f"{complaint} {shown(name)}; there are {', '.join(known)}.{suggestion(name, known)}"
        )


def _build_clip(
    parameters: Mapping[str, Any],
    graphs: PackedGraphs,
    groups: Tensor,
    out_channels: int,
    num_members: int,
) -> CLIP:
    largest = int(Partition.of(groups, graphs.graph_of_node, len(graphs)).sizes.max())
    config = CLIPConfig.from_dict(
        {
            "num_colors": largest,
            **parameters,
            "in_channels": graphs.in_channels,
            "out_channels": out_channels,
            "num_members": num_members,
        }
    )
    if config.num_colorings:
        ColorCode(config.color_code, config.num_colors).check(largest)
    return CLIP.from_config(config)


def _baseline(
    model: type[Members], groups: Callable[[PackedGraphs], Tensor] = groups_of
) -> Network:
    """A network whose constructor takes the data set, the channels of the output, and keywords."""

    def build(
        parameters: Mapping[str, Any],
        graphs: PackedGraphs,
        groups: Tensor,
        out_channels: int,
        num_members: int,
    ) -> Members:
        return model(graphs, out_channels, num_members=num_members, **parameters)

    signature = inspect.signature(model).parameters.values()
    chosen = [item.name for item in signature if item.kind is item.KEYWORD_ONLY]
    chosen.remove("num_members")
    return Network(build, tuple(chosen), groups)


_NOT_TO_CHOOSE = (
    *("in_channels", "out_channels", "num_members", "edge_channels", "graph_channels"),
    *("directed", "colorings_at_once"),
)
"""Parameters of CLIP that the data and the training decide."""

NETWORKS: Mapping[str, Network] = {
    "clip": Network(
        _build_clip,
        tuple(item.name for item in fields(CLIPConfig) if item.name not in _NOT_TO_CHOOSE),
    ),
    "gin": _baseline(GIN),
    "rp-gin": _baseline(RPGIN, one_group),
    "dgcnn": _baseline(DGCNN),
    "patchy-san": _baseline(PatchySAN),
    "dcnn": _baseline(DCNN),
    "ring-gnn": _baseline(RingGNN),
}
"""Networks by name."""
