"""CLIP straight from the equations: NumPy in float64 and itertools, slow and meant to be obvious.

One representation per coloring and node is computed, in loops over colorings, nodes and edges.
Nothing is shared with the package but the names of the weights, so that an error in the package
cannot hide here.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

EPSILON = 1e-5
MOMENTUM = 0.1
ROUNDING = 64

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
}


@dataclass(frozen=True)
class Graphs:
    """Several graphs end to end; `batch` is the graph of each node."""

    x: Array | Integers  # [nodes, channels], or integer labels [nodes]
    edges: list[tuple[int, int]]  # (source, target)
    batch: Integers  # [nodes]
    edge_weight: Array | None = None  # [edges]
    edge_attr: Array | None = None  # [edges, edge channels]
    graph_attr: Array | None = None  # [graphs, graph channels]

    @property
    def num_graphs(self) -> int:
        return int(self.batch[-1]) + 1

    def one(self, graph: int) -> "Graphs":
        """One graph of the batch, its nodes numbered from zero."""
        nodes = [i for i in range(len(self.batch)) if self.batch[i] == graph]
        position = {node: new for new, node in enumerate(nodes)}
        kept = [e for e, (source, _) in enumerate(self.edges) if source in position]
        return Graphs(
            x=self.x[nodes],
            edges=[(position[self.edges[e][0]], position[self.edges[e][1]]) for e in kept],
            batch=np.zeros(len(nodes), dtype=np.int64),
            edge_weight=None if self.edge_weight is None else self.edge_weight[kept],
            edge_attr=None if self.edge_attr is None else self.edge_attr[kept],
            graph_attr=None if self.graph_attr is None else self.graph_attr[[graph]],
        )

    def permuted(self, order: list[int]) -> "Graphs":
        """The same graphs with node `order[i]` of this one as node i."""
        position = {node: new for new, node in enumerate(order)}
        edges = [(position[source], position[target]) for source, target in self.edges]
        return replace(self, x=self.x[order], edges=edges, batch=self.batch[order])


def colorings_of(x: Array | Integers) -> Iterator[Integers]:
    """Every coloring of one graph, Eq. (4): a permutation of the colors 0..|V_k|-1 on each V_k."""
    groups: dict[bytes, list[int]] = {}
    for node in range(len(x)):
        groups.setdefault((x[node] + 0).tobytes(), []).append(node)
    choices = [itertools.permutations(range(len(nodes))) for nodes in groups.values()]
    for chosen in itertools.product(*choices):
        coloring = np.empty(len(x), dtype=np.int64)
        for nodes, colors in zip(groups.values(), chosen, strict=True):
            for node, color in zip(nodes, colors, strict=True):
                coloring[node] = color
        yield coloring


def color_code(color: int, num_colors: int, code: str) -> Array:
    """The vector of a color: a natural basis vector, or its bits as signs."""
    if code == "one-hot":
        return np.array([1.0 if color == column else 0.0 for column in range(num_colors)])
    width = max(1, math.ceil(math.log2(num_colors)))
    return np.array([1.0 if color // 2**bit % 2 == 1 else -1.0 for bit in range(width)])


@dataclass
class Reference:
    """One member of a CLIP network with the weights of `state_dict()` turned into NumPy arrays.

    Call with `colorings` as None (0-CLIP), "all" (infinity-CLIP) or an array `[k, nodes]`.
    `training` normalizes by batch statistics and leaves the new running ones in `running`.
    """

    weights: Mapping[str, Array]
    in_channels: int
    num_layers: int
    num_colors: int = 64
    color_code: str = "one-hot"
    activation: str = "relu"
    norm: bool = True
    directed: bool = False
    member: int = 0
    training: bool = False
    running: dict[str, Array] = field(default_factory=dict)

    def forward(self, graphs: Graphs, colorings: Integers | str | None) -> Array:
        """x_G = readout(max_c sum_i x_{i,T}^c, u_G): `[graphs, out]`."""
        rows = self.embed(graphs, colorings)
        if graphs.graph_attr is not None:
            rows = np.concatenate([rows, graphs.graph_attr], axis=1)
        return self._mlp("readout", rows)

    def embed(self, graphs: Graphs, colorings: Integers | str | None) -> Array:
        """max_c sum_i x_{i,T}^c of every graph: `[graphs, hidden]`."""
        if isinstance(colorings, str):
            return np.concatenate([self.embed(g, c) for g, c in self._with_all_colorings(graphs)])
        states = self._states(graphs, colorings)
        sums = np.zeros((len(states), graphs.num_graphs, states.shape[2]))
        for c in range(len(states)):
            for i, graph in enumerate(graphs.batch):
                sums[c, graph] += states[c, i]
        return np.asarray(sums.max(axis=0))

    def embed_nodes(self, graphs: Graphs, colorings: Integers | str | None) -> Array:
        """max_c x_{i,T}^c of every node: `[nodes, hidden]`."""
        if isinstance(colorings, str):
            each = [self.embed_nodes(g, c) for g, c in self._with_all_colorings(graphs)]
            return np.concatenate(each)
        return np.asarray(self._states(graphs, colorings).max(axis=0))

    def _with_all_colorings(self, graphs: Graphs) -> Iterator[tuple[Graphs, Integers]]:
        if self.training and self.norm and graphs.num_graphs > 1:
            raise ValueError("batch statistics tie the graphs together: give the colorings")
        for graph in map(graphs.one, range(graphs.num_graphs)):
            yield graph, np.array(list(colorings_of(graph.x)))

    def _states(self, graphs: Graphs, colorings: Integers | None) -> Array:
        """x_{i,T}^c: `[colorings, nodes, hidden]` (one "coloring" without colors for 0-CLIP)."""
        attributes = np.eye(self.in_channels)[graphs.x] if graphs.x.ndim == 1 else graphs.x
        if colorings is None:
            states = np.array([attributes], dtype=np.float64)
        else:
            states = np.array(
                [
                    [
                        np.concatenate([v, color_code(int(c), self.num_colors, self.color_code)])
                        for v, c in zip(attributes, coloring, strict=True)
                    ]
                    for coloring in colorings
                ]
            )
        for layer in range(self.num_layers):
            states = self._layer(f"layers.{layer}", states, graphs)
        return states

    def _layer(self, name: str, states: Array, graphs: Graphs) -> Array:
        """x_{i,t+1} = psi(x_i, sum over (j, i) of w_ji phi(x_j, e_ji) [, the same outwards])."""
        reads = [states, self._aggregate(f"{name}.phi", states, graphs, graphs.edges)]
        if self.directed:
            reversed_edges = [(target, source) for source, target in graphs.edges]
            reads.append(self._aggregate(f"{name}.phi_out", states, graphs, reversed_edges))
        return self._mlp_of_states(f"{name}.psi", np.concatenate(reads, axis=2))

    def _aggregate(
        self, name: str, states: Array, graphs: Graphs, edges: list[tuple[int, int]]
    ) -> Array:
        if graphs.edge_attr is None:
            sent = self._mlp_of_states(name, states)
            messages = sent[:, [source for source, _ in edges]]
        else:
            rows = np.zeros((len(states), len(edges), states.shape[2] + graphs.edge_attr.shape[1]))
            for c in range(len(states)):
                for e, (source, _) in enumerate(edges):
                    rows[c, e] = np.concatenate([states[c, source], graphs.edge_attr[e]])
            messages = self._mlp_of_states(name, rows)
        total = np.zeros((len(states), states.shape[1], messages.shape[2]))
        for c in range(len(states)):
            for e, (_, target) in enumerate(edges):
                weight = 1.0 if graphs.edge_weight is None else graphs.edge_weight[e]
                total[c, target] += weight * messages[c, e]
        return total

    def _mlp_of_states(self, name: str, states: Array) -> Array:
        """A 2-layer MLP on all rows of all colorings, whose statistics therefore run over both."""
        colorings, nodes, channels = states.shape
        rows = self._mlp(name, states.reshape(colorings * nodes, channels))
        return rows.reshape(colorings, nodes, rows.shape[1])

    def _mlp(self, name: str, rows: Array) -> Array:
        """act(norm(z W + b)) W' + b', where phi has no b'."""
        hidden = rows @ self._weight(f"{name}.first.weight") + self._weight(f"{name}.first.bias")
        if self.norm:
            hidden = self._normalise(f"{name}.norm", hidden)
        result = ACTIVATIONS[self.activation](hidden) @ self._weight(f"{name}.second.weight")
        if ".phi" in name:
            return result
        return result + self._weight(f"{name}.second.bias")

    def _normalise(self, name: str, rows: Array) -> Array:
        old_mean, old_variance, old_weight = (
            self._weight(f"{name}.running_{part}") for part in ("mean", "var", "weight")
        )
        mean, variance = np.zeros_like(old_mean), np.ones_like(old_variance)
        if old_weight[0] > 0:
            mean, variance = old_mean / old_weight, old_variance / old_weight
        if self.training:
            mean = rows.sum(axis=0) / len(rows)
            variance = ((rows - mean) ** 2).sum(axis=0) / len(rows)
            unbiased = ((rows - mean) ** 2).sum(axis=0) / (len(rows) - 1)
            self.running[f"{name}.running_mean"] = (1 - MOMENTUM) * old_mean + MOMENTUM * mean
            self.running[f"{name}.running_var"] = (
                1 - MOMENTUM
            ) * old_variance + MOMENTUM * unbiased
            self.running[f"{name}.running_weight"] = (1 - MOMENTUM) * old_weight + MOMENTUM
        rounding = ROUNDING * np.finfo(np.float64).eps * np.maximum(1, np.abs(mean))
        varying = np.clip((variance / rounding**2 - 1) / 15, 0, 1)
        scaled = varying * (rows - mean) / np.sqrt(variance + EPSILON)
        return scaled * self._weight(f"{name}.weight") + self._weight(f"{name}.bias")

    def _weight(self, name: str) -> Array:
        return np.asarray(self.weights[name][self.member])
