"""Parameters of CLIP and of the networks it is compared with."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.parameters.model import Model
from clipgnn.parameters.rules import POSITIVE, Rule
from clipgnn.parameters.schema import REQUIRED, Parameters, parameter

MAX_COLORINGS = 10_000_000
"""Largest number of random colorings of a graph."""

# Sizes that memory or time grows with have upper bounds far above any useful value.
_CHANNELS = Rule(int, 1, 65_536)
_LAYERS = Rule(int, 1, 1000)
_LARGE = Rule(int, 1, 10_000_000)
_LARGE_OR_ZERO = Rule(int, 0, 10_000_000)
_PROBABILITY = Rule(float, minimum=0, below=1)
_BOOLEAN = Rule(bool)

_REQUIREMENT = "The activation must be continuous and non-polynomial, or CLIP is not universal"
_POLYNOMIAL = (
    f"{_REQUIREMENT}: this one is a polynomial, and networks made of polynomials of one degree are "
    "not dense."
)
_DISCONTINUOUS = (
    f"{_REQUIREMENT}: this one is not continuous, and so the representation would not be either."
)
_ACTIVATION = Rule(
    str,
    words=(
        "relu",
        "leaky_relu",
        "elu",
        "selu",
        "gelu",
        "silu",
        "mish",
        "softplus",
        "tanh",
        "sigmoid",
        "sin",
    ),
    any_case=True,
    refused={
        **dict.fromkeys(("identity", "linear", "none", "square", "cube"), _POLYNOMIAL),
        **dict.fromkeys(
            ("sign", "step", "heaviside", "threshold", "hardshrink", "round"), _DISCONTINUOUS
        ),
    },
)


COLORINGS = {
    "random": "clipgnn.coloring.random.Random",
    "all": "clipgnn.coloring.precomputed.All",
    "refined": "clipgnn.coloring.refined.Refined",
    "orbits": "clipgnn.coloring.orbits.Orbits",
    "canonical": "clipgnn.coloring.canonical.Canonical",
    "individualized": "clipgnn.coloring.individualized.Individualized",
    "precomputed": "clipgnn.coloring.precomputed.Precomputed",
}
"""Coloring schemes by name, with the class that implements each."""


@dataclass(frozen=True, kw_only=True)
class NetworkParameters(Parameters):
    """Parameters that every network has."""

    in_channels: int = parameter(
        REQUIRED, _LARGE, "channels of the node attributes, or number of node labels", chosen=False
    )
    out_channels: int = parameter(
        REQUIRED, _LARGE, "channels of the output, such as classes", chosen=False
    )
    num_members: int = parameter(
        1, _LARGE, "independent networks that are computed together", chosen=False
    )


@dataclass(frozen=True, kw_only=True)
class CLIPParameters(NetworkParameters):
    """Parameters of CLIP."""

    title: ClassVar[str] = "CLIP"

    hidden_channels: int = parameter(64, _CHANNELS, "channels of the hidden layers")
    num_layers: int = parameter(3, _LAYERS, "number T of local iterations")
    coloring: str = parameter(
        "random",
        Rule(str, words=tuple(COLORINGS)),
        'colorings of a graph: "random" draws num_colorings of them (k-CLIP), "all" enumerates '
        'every one (∞-CLIP), "orbits" enumerates one of each class of automorphic colorings, '
        '"refined" draws those that 1-WL leaves open, "individualized" those from random root '
        'nodes, "canonical" computes one from a canonical labeling, "precomputed" reads those '
        "stored with the graphs",
    )
    num_colorings: int = parameter(
        16,
        Rule(int, 0, MAX_COLORINGS),
        "number k of random colorings of a graph; 0 for no colors (0-CLIP)",
    )
    num_colors: int = parameter(
        64,
        _LARGE,
        "number of colors: the largest number of nodes of one graph with identical attributes",
        from_data=True,
    )
    color_code: str = parameter(
        "one-hot",
        Rule(str, words=("one-hot", "binary")),
        'encoding of a color: "one-hot" has a row of weights for each color, "binary" has '
        "log2(num_colors) rows",
    )
    activation: str = parameter(
        "relu", _ACTIVATION, "name of a continuous, non-polynomial activation"
    )
    norm: str | None = parameter(
        "batch", Rule(str, words=("batch",), optional=True), "normalization inside the MLPs"
    )
    initialization: str = parameter(
        "uniform",
        Rule(str, words=("uniform", "he")),
        'initial weights of the MLPs: "uniform" as torch, "he" by the rule of He et al. (2015), '
        "2.4 times as large and with biases of 0, for networks without normalization",
    )
    dropout: float = parameter(0.0, _PROBABILITY, "dropout probability before the last linear map")
    directed: bool = parameter(
        False, _BOOLEAN, "whether incoming and outgoing edges are summed separately", chosen=False
    )
    edge_channels: int = parameter(
        0, _LARGE_OR_ZERO, "channels of edge attributes; 0 for none", chosen=False
    )
    graph_channels: int = parameter(
        0, _LARGE_OR_ZERO, "channels of graph attributes; 0 for none", chosen=False
    )
    colorings_at_once: int | None = parameter(
        None,
        Rule(int, 1, MAX_COLORINGS, optional=True),
        "colorings that are computed at the same time; None for the limit of the memory",
        chosen=False,
    )

    def with_num_colorings(self, num_colorings: int) -> "CLIPParameters":
        """The parameters with another number of colorings, for the same weights.

        Raises:
            InvalidParameterError: if the weights are for a model with colors and the new number is
                0, or the reverse.
        """
        changed = replace(self, num_colorings=num_colorings)
        if (changed.num_colorings == 0) != (self.num_colorings == 0):
            rule = "be 0: the model was built without colors"
            if self.num_colorings != 0:
                rule = "be at least 1: the model was built with colors"
            raise InvalidParameterError(
                f"num_colorings must {rule}. Got {shown(num_colorings)}. Build another model with "
                f"num_colorings={shown(num_colorings)}."
            )
        return changed


@dataclass(frozen=True, kw_only=True)
class GINParameters(NetworkParameters):
    """Parameters of GIN."""

    title: ClassVar[str] = "GIN"

    hidden_channels: int = parameter(64, _CHANNELS, "channels of every layer")
    num_layers: int = parameter(4, _LAYERS, "number of message-passing layers")
    dropout: float = parameter(
        0.0, _PROBABILITY, "dropout probability of each layer's contribution to the output"
    )
    learn_epsilon: bool = parameter(False, _BOOLEAN, "whether ε is learned (GIN-ε) or 0 (GIN-0)")


@dataclass(frozen=True, kw_only=True)
class RPGINParameters(NetworkParameters):
    """Parameters of RP-GIN."""

    title: ClassVar[str] = "RP-GIN"

    hidden_channels: int = parameter(16, _CHANNELS, "channels of every layer")
    num_layers: int = parameter(4, _LAYERS, "number of message-passing layers")
    num_identities: int = parameter(10, _CHANNELS, "number m of one-hot node identities")
    num_permutations: int = parameter(
        16, Rule(int, 1, 1_000_000), "number k of permutations that evaluation averages over"
    )
    dropout: float = parameter(
        0.0, _PROBABILITY, "dropout probability of each layer's contribution to the output"
    )
    learn_epsilon: bool = parameter(
        False, _BOOLEAN, "whether ε is learned (GIN-ε), as its authors do, or 0 (GIN-0)"
    )
    norm: str | None = parameter(
        "batch",
        Rule(str, words=("batch",), optional=True),
        "normalization after each map of an MLP, followed by a ReLU; with None maps have biases "
        "and a ReLU only between them, as in the authors' code",
    )
    num_maps: int = parameter(
        2, Rule(int, 2, 100), "number of linear maps of an MLP; 3 in the authors' code"
    )
    initialization: str = parameter(
        "uniform",
        Rule(str, words=("uniform", "glorot")),
        'initial weights of the MLPs: "uniform" as torch, "glorot" with biases of 0 as the '
        "authors' code",
    )


@dataclass(frozen=True, kw_only=True)
class RingGNNParameters(NetworkParameters):
    """Parameters of Ring-GNN."""

    title: ClassVar[str] = "Ring-GNN"

    hidden_channels: int = parameter(
        16, _CHANNELS, "channels of every layer and hidden units of the MLP"
    )
    num_layers: int = parameter(2, _LAYERS, "number of ring layers")
    norm: str | None = parameter(
        "graph",
        Rule(str, words=("graph",), optional=True),
        "normalization of each channel over the entries of a graph",
    )
    product_weight: float = parameter(
        1.0, POSITIVE, "factor of the matrix product in a layer", from_data=True
    )
    dropout: float = parameter(0.0, _PROBABILITY, "dropout probability of the MLP's hidden units")


@dataclass(frozen=True, kw_only=True)
class DGCNNParameters(NetworkParameters):
    """Parameters of DGCNN."""

    title: ClassVar[str] = "DGCNN"

    hidden_channels: int = parameter(
        32, _CHANNELS, "channels of all graph convolutions except the last"
    )
    num_layers: int = parameter(
        3, _LAYERS, "number of graph convolutions before the one with a single channel"
    )
    k: int = parameter(
        30, Rule(int, 10, 65_536), "number of nodes that SortPooling keeps", from_data=True
    )
    truncated_share: float = parameter(
        0.6, _PROBABILITY, "share of graphs with more than k nodes, from which k is computed"
    )
    dense_channels: int = parameter(128, _CHANNELS, "units of the dense layer")
    dropout: float = parameter(0.5, _PROBABILITY, "dropout probability after the dense layer")


@dataclass(frozen=True, kw_only=True)
class DCNNParameters(NetworkParameters):
    """Parameters of DCNN."""

    title: ClassVar[str] = "DCNN"

    num_hops: int = parameter(3, Rule(int, 0, 1000), "number H of steps of the longest walk")
    dropout: float = parameter(
        0.0, _PROBABILITY, "dropout probability of the entries of the diffusion representation"
    )
    transition: str = parameter(
        "rows",
        Rule(str, words=("rows", "columns")),
        'divisors in the transition matrix: "rows" for the degree of the row, as in the paper, '
        '"columns" for the degree of the column plus 1, as in the authors\' code',
    )


@dataclass(frozen=True, kw_only=True)
class PatchySANParameters(NetworkParameters):
    """Parameters of PATCHY-SAN."""

    title: ClassVar[str] = "PATCHY-SAN"

    width: int = parameter(
        10, Rule(int, 10, 65_536), "number of receptive fields of a graph", from_data=True
    )
    field_size: int = parameter(10, _CHANNELS, "number of nodes of a receptive field")
    dense_channels: int = parameter(128, _CHANNELS, "units of the dense layer")
    dropout: float = parameter(0.5, _PROBABILITY, "dropout probability after the dense layer")


NETWORKS: Mapping[str, Model] = {
    "clip": Model("clipgnn.nn.clip.CLIP", CLIPParameters),
    "gin": Model("clipgnn.baselines.gin.GIN", GINParameters, folds_together=True),
    "rp-gin": Model("clipgnn.baselines.rp_gin.RPGIN", RPGINParameters, folds_together=True),
    "dgcnn": Model("clipgnn.baselines.dgcnn.DGCNN", DGCNNParameters, folds_together=True),
    "patchy-san": Model(
        "clipgnn.baselines.patchy_san.PatchySAN", PatchySANParameters, folds_together=True
    ),
    "dcnn": Model("clipgnn.baselines.dcnn.DCNN", DCNNParameters, folds_together=True),
    "ring-gnn": Model("clipgnn.baselines.ring_gnn.RingGNN", RingGNNParameters),
}
"""Networks by name."""
