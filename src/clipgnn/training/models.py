"""Construction of the members to train, from a specification or from a network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from inspect import isabstract
from typing import Any

import torch

from clipgnn.coloring.schemes import Scheme
from clipgnn.errors import InvalidParameterError, shown, suggestion
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import MODELS, NetworkParameters, Recipe, is_import_path, model_named

PART_GRAPHS = 2**14
"""Number of graphs on disk that are read at the same time to compute parameters."""

Parameter = int | float | str | bool | Scheme | None


@dataclass(frozen=True)
class ModelSpec:
    """Name and parameters of a model, without parameters that are computed from the data.

    Attributes:
        name: name of the model, such as "clip", or the import path of a network of your own,
            "my_package.nets:Net", which is imported.
        parameters: parameters, such as `{"num_colorings": 16, "hidden_channels": 32}`; the coloring
            can be a `Scheme`.
    """

    name: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)


def check_model(name: str, *, trained: bool) -> None:
    """Check that a name is that of a network (trained) or of a kernel (not trained).

    Raises:
        InvalidParameterError: if it is not.
    """
    known = [own for own, model in MODELS.items() if model.trained == trained]
    if not isinstance(name, str) or name not in known:
        kind, function = ("network", "fit_kernel") if trained else ("kernel", "train")
        other = isinstance(name, str) and name in MODELS
        fix = f" Use {function} for it." if other else suggestion(name, known)
        raise InvalidParameterError(
            f"The {kind} must be one of {', '.join(known)}. Got {shown(name)}.{fix}"
        )


def network_named(name: str) -> type[Network]:
    """Return the class of a network; a network of the user is imported, which runs its module.

    Args:
        name: name of a network of clipgnn, or the import path of a subclass of `Network`.

    Raises:
        InvalidParameterError: if there is no such network.
    """
    if not is_import_path(name):
        check_model(name, trained=True)
    found: object = model_named(name).load()
    if not isinstance(found, type) or not issubclass(found, Network) or isabstract(found):
        raise InvalidParameterError(
            f"{name!r} must be a subclass of clipgnn.nn.network.Network with the method "
            f"forward_batch. Got {shown(found)}. docs/experiments.md has an example."
        )
    schema: object = getattr(found, "schema", None)
    if not isinstance(schema, type) or not issubclass(schema, NetworkParameters):
        raise InvalidParameterError(
            f"{name!r} must have its parameters in the class attribute schema, a subclass of "
            f"clipgnn.parameters.NetworkParameters. Got {shown(schema)}. docs/experiments.md has "
            "an example."
        )
    return found


def output_channels(graphs: PackedGraphs | StoredGraphs, recipe: Recipe) -> int:
    """Number of output channels for the loss: one for each class, or one for each target."""
    by_class = graphs.has_classes
    if isinstance(recipe.loss, str):
        by_class = recipe.loss == "cross-entropy"
    return graphs.num_classes if by_class else graphs.num_targets


def new_members(
    spec: ModelSpec, graphs: PackedGraphs | StoredGraphs, recipe: Recipe, seeds: Sequence[int]
) -> Network:
    """Build a network with a member for each seed, with weights drawn from the seed on the CPU.

    Raises:
        InvalidParameterError: if there is no such model or parameter.
        InvalidGraphError: if the model cannot read the graphs.
    """
    build = network_named(spec.name)
    if not isinstance(spec.parameters, Mapping):
        raise InvalidParameterError(
            "The parameters of a ModelSpec must be a dictionary, such as {'num_layers': 3}. Got "
            f"{shown(spec.parameters)}."
        )
    sizes = ("in_channels", "out_channels", "num_members")
    build.schema.check_names(
        spec.parameters, [name for name in build.schema.names() if name not in sizes]
    )
    parameters: dict[str, Any] = dict(spec.parameters)
    if isinstance(graphs, StoredGraphs):
        parameters = _of_all_parts(build, graphs, parameters)
    example = graphs if isinstance(graphs, PackedGraphs) else graphs.example()
    with torch.random.fork_rng([]):  # the constructor draws weights that are replaced
        network = build.from_graphs(
            example,
            out_channels=output_channels(graphs, recipe),
            num_members=len(seeds),
            **parameters,
        )
    network.reset_parameters([torch.Generator().manual_seed(seed) for seed in seeds])
    return network


def _of_all_parts(
    build: type[Network], graphs: StoredGraphs, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Add the parameters that depend on all graphs, which are read in parts, unless given."""
    example = graphs.example()
    needed = build.parameters_from_graphs(example, parameters).keys()
    recorded = {
        "directed": graphs.directed,
        "edge_channels": example.edge_channels,
        "graph_channels": example.graph_channels,
    }
    known = {name: own for name, own in recorded.items() if name in needed} | parameters
    if needed <= known.keys():
        return known
    found = (build.parameters_from_graphs(part, parameters) for part in graphs.parts(PART_GRAPHS))
    return reduce(build.joined_parameters, found) | known


def copies(
    network: Network, graphs: PackedGraphs | StoredGraphs, recipe: Recipe, seeds: Sequence[int]
) -> Network:
    """Build a network with a member for each seed, all with the weights of one network.

    Raises:
        InvalidParameterError: if the network has several members, or does not match the targets.
        InvalidGraphError: if the network cannot read the graphs.
    """
    network.check_graphs(graphs if isinstance(graphs, PackedGraphs) else graphs.example())
    config = network.config
    wanted = {
        "in_channels": graphs.in_channels,
        "out_channels": output_channels(graphs, recipe),
        "num_members": 1,
    }
    for name, value in wanted.items():
        if getattr(config, name) != value:
            raise InvalidParameterError(
                f"The network must have {name}={value} for these graphs and this recipe. Got "
                f"{name}={getattr(config, name)}."
            )
    with torch.random.fork_rng([]):
        members = type(network).from_config(replace(config, num_members=len(seeds)))
    members.scheme = network.scheme
    # This draws the seeds of dropout. The weights are replaced.
    members.reset_parameters([torch.Generator().manual_seed(seed) for seed in seeds])
    state = {
        name: value.detach().repeat(len(seeds), *[1] * (value.dim() - 1))
        for name, value in network.state_dict().items()
    }
    members.to(next(network.parameters()).dtype).load_state_dict(state)
    return members
