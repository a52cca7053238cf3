"""From a model's name and parameters to members that can be trained."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from clipgnn.coloring.codes import ColorCode
from clipgnn.coloring.groups import Partition, color_groups
from clipgnn.errors import InvalidParameterError, suggestion
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import PaddedBatch
from clipgnn.nn.clip import CLIP
from clipgnn.nn.config import CLIPConfig
from clipgnn.nn.linear import Linear
from clipgnn.shapes import Colorings, GraphFeatures

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


@runtime_checkable
class Members(Protocol):
    """Networks that train side by side, each on its own batch."""

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """`[members, graphs, out_channels]`."""


def build_members(
    spec: ModelSpec, graphs: PackedGraphs, groups: Tensor, out_channels: int, seeds: Sequence[int]
) -> nn.Module:
    """Members of a model with weights drawn from their seeds, on the CPU.

    Raises:
        InvalidParameterError: if there is no such model or parameter.
    """
    if spec.name not in BUILDERS:
        raise InvalidParameterError(
            f"There is no model {spec.name!r}; there are {', '.join(BUILDERS)}."
            f"{suggestion(spec.name, BUILDERS)}"
        )
    model = BUILDERS[spec.name](spec.parameters, graphs, groups, out_channels, len(seeds))
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Linear):
                module.reset_parameters(generators)
    return model


def colorings_of(model: nn.Module) -> int:
    """How many colorings a step draws: none for models without colors."""
    return cast(int, model.config.num_colorings) if isinstance(model, CLIP) else 0


def _build_clip(
    parameters: Mapping[str, Parameter],
    graphs: PackedGraphs,
    groups: Tensor,
    out_channels: int,
    num_members: int,
) -> nn.Module:
    known = [item.name for item in fields(CLIPConfig) if item.name not in _NOT_TO_CHOOSE]
    for key in parameters:
        if key not in known:
            raise InvalidParameterError(
                f"The model 'clip' has no parameter {key!r} to choose.{suggestion(key, known)}"
            )
    if parameters.get("num_colorings") == "all":
        raise InvalidParameterError(
            'Training together needs a number of colorings. Got "all"; train a CLIP module with '
            "your own loop for it."
        )
    largest = int(Partition.of(groups, graphs.graph_of_node, len(graphs)).sizes.max())
    values = {"num_colors": largest, **parameters}
    config = CLIPConfig.from_dict(
        {
            **values,
            "in_channels": graphs.in_channels,
            "out_channels": out_channels,
            "num_members": num_members,
        }
    )
    if config.num_colorings:
        ColorCode(config.color_code, config.num_colors).check(largest)
    return CLIP.from_config(config)


_NOT_TO_CHOOSE = (
    *("in_channels", "out_channels", "num_members", "edge_channels", "graph_channels"),
    "colorings_at_once",
)
"""Parameters of CLIP that the data and the training decide."""

Builder = Callable[[Mapping[str, Parameter], PackedGraphs, Tensor, int, int], nn.Module]
BUILDERS: dict[str, Builder] = {"clip": _build_clip}


def groups_of(graphs: PackedGraphs) -> Tensor:
    """The groups of identical attributes of a whole data set."""
    return color_groups(graphs.x, graphs.graph_of_node)
