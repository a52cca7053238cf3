"""What an experiment may ask for: data sets, models with their parameters, the recipe.

It is written down here, and not asked of the packages that do the work, because those need torch
and this list is read on machines without it. The tests compare the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from sys import float_info

Value = int | float | str | bool
"""A value of a parameter, as TOML and JSON have it."""

DATASETS = (
    "connectivity",
    "bipartiteness",
    "triangle-freeness",
    "csl",
    "MUTAG",
    "PTC_MR",
    "PROTEINS",
    "IMDB-BINARY",
    "IMDB-MULTI",
)
"""Data sets known by name."""

TU_PREFIX = "tu:"
"""Any other data set in the TU layout is named with this prefix, as `tu:NCI1`."""

SPLITS = ("cross-validation", "nested")
"""Folds into training and test, or with a part of the training graphs held out for choosing."""

ACTIVATIONS = (
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
)
"""Activations that CLIP may have."""

PUBLISHED = ("table1", "table2", "colorings")
"""Tables of the paper whose numbers can stand beside ours."""

LARGEST_INTEGER = 2**63 - 1
"""Largest integer of a parameter or seed, which tensors and stores can hold too."""


@dataclass(frozen=True)
class Rule:
    """Which values a parameter can have.

    Attributes:
        kind: `int`, `float`, `str` or `bool`; an integer also serves as a float.
        least: smallest number.
        most: largest number; an integer has at most 63 bits in any case.
        above: numbers are over this one.
        below: numbers are under this one.
        words: the only words.
        default: value of a recipe that does not say.
    """

    kind: type
    least: int | float | None = None
    most: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    words: tuple[str, ...] = ()
    default: Value | None = None

    def accepts(self, value: object) -> bool:
        """Whether the rule allows this value."""
        if isinstance(value, str):
            return self.kind is str and (value in self.words or not self.words)
        if isinstance(value, bool) or self.kind is bool:
            return isinstance(value, bool) and self.kind is bool
        if not isinstance(value, int if self.kind is int else int | float) or self.kind is str:
            return False
        return (
            # Limits come before `isfinite`, which cannot convert integers of hundreds of digits.
            abs(value) <= (LARGEST_INTEGER if self.kind is int else float_info.max)
            and isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.most is None or value <= self.most)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def normal(self, value: Value) -> Value:
        """The one spelling of a value: 0 and 0.0 are the same dropout, and the same trial."""
        return float(value) if self.kind is float and isinstance(value, int) else value

    def __str__(self) -> str:
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return " or ".join(f'"{word}"' for word in self.words) or "a word"
        if self.kind is int and self.least is not None:
            below = None if self.below is None else self.below - 1
            most = next(end for end in (self.most, below, LARGEST_INTEGER) if end is not None)
            return f"an integer from {self.least} to {most}"
        text = "an integer" if self.kind is int else "a number"
        if self.least is not None:
            text += f" of at least {self.least:g}"
        if self.most is not None:
            text += f" and at most {self.most:g}"
        if self.above is not None:
            text += f" above {self.above:g}"
        if self.below is not None:
            text += f" and under {self.below:g}"
        return text


RECIPE: Mapping[str, Rule] = {
    "epochs": Rule(int, least=1, most=1_000_000, default=400),
    "batch_size": Rule(
        int, least=2, most=1_000_000, default=32
    ),  # one graph has no batch statistics
    "learning_rate": Rule(float, above=0, default=1e-3),
    "halve_every": Rule(int, least=1, default=50),
    "loss": Rule(str, words=("cross-entropy", "squared-error"), default="cross-entropy"),
    "patience": Rule(int, least=1),
}
"""How a network is trained: the fields of `clipgnn.training.Recipe`."""


@dataclass(frozen=True)
class Model:
    """What a model lets one choose.

    Attributes:
        parameters: its parameters.
        trained: whether the recipe is for it too; a kernel knows no epochs.
        folds_together: whether all folds of a configuration are one job on the CPU too. Kernels
            share what is computed between the graphs, and small networks are faster so
            (`clipgnn bench --together`); on a GPU every network is.
    """

    parameters: Mapping[str, Rule]
    trained: bool = True
    folds_together: bool = False

    @property
    def rules(self) -> Mapping[str, Rule]:
        """Parameters and recipe."""
        return {**self.parameters, **(RECIPE if self.trained else {})}


# Sizes that memory or time grows with have upper bounds far above any useful value.
_CHANNELS = Rule(int, least=1, most=65_536)
_LAYERS = Rule(int, least=1, most=1000)
_POSITIVE = Rule(float, above=0)

MODELS: Mapping[str, Model] = {
    "clip": Model(
        {
            "hidden_channels": _CHANNELS,
            "num_layers": _LAYERS,
            "num_colorings": Rule(int, least=0, most=1_000_000),
            "num_colors": Rule(int, least=1, most=1_000_000),
            "color_code": Rule(str, words=("one-hot", "binary")),
            "activation": Rule(str, words=ACTIVATIONS),
            "norm": Rule(str, words=("batch", "none")),
            "dropout": Rule(float, least=0, below=1),
        }
    ),
    "gin": Model(
        {
            "hidden_channels": _CHANNELS,
            "num_layers": _LAYERS,
            "dropout": Rule(float, least=0, below=1),
            "learn_epsilon": Rule(bool),
        },
        folds_together=True,
    ),
    "rp-gin": Model(
        {
            "hidden_channels": _CHANNELS,
            "num_layers": _LAYERS,
            "num_identities": Rule(int, least=1, most=65_536),
            "num_permutations": Rule(int, least=1, most=1_000_000),
            "dropout": Rule(float, least=0, below=1),
        },
        folds_together=True,
    ),
    "dgcnn": Model(
        {
            "hidden_channels": _CHANNELS,
            "num_layers": _LAYERS,
            "truncated_share": Rule(float, least=0, below=1),
            "dense_channels": _CHANNELS,
            "dropout": Rule(float, least=0, below=1),
        },
        folds_together=True,
    ),
    "patchy-san": Model(
        {
            "width": Rule(int, least=10, most=65_536),
            "field_size": Rule(int, least=1, most=65_536),
            "dense_channels": _CHANNELS,
            "dropout": Rule(float, least=0, below=1),
        },
        folds_together=True,
    ),
    "dcnn": Model(
        {
            "num_hops": Rule(int, least=0, most=1000),
            "dropout": Rule(float, least=0, below=1),
        },
        folds_together=True,
    ),
    "ring-gnn": Model(
        {
            "hidden_channels": _CHANNELS,
            "num_layers": _LAYERS,
            "norm": Rule(str, words=("graph", "none")),
            "dropout": Rule(float, least=0, below=1),
        }
    ),
    "wl": Model(
        {"height": Rule(int, least=0, most=1000), "normalize": Rule(bool), "C": _POSITIVE},
        trained=False,
        folds_together=True,
    ),
    "awl": Model(
        {
            "length": Rule(int, least=1, below=16),
            "kernel": Rule(str, words=("linear", "rbf", "polynomial")),
            "sigma": _POSITIVE,
            "degree": Rule(int, least=1, most=1000),
            "offset": Rule(float, least=0),
            "epsilon": _POSITIVE,
            "delta": Rule(float, above=0, below=1),
            "sampling": Rule(str, words=("auto", "never", "always")),
            "seed": Rule(int, least=0),
            "C": _POSITIVE,
        },
        trained=False,
        folds_together=True,
    ),
}
"""Models by name."""
