"""Engines for graphs in memory and for graphs on disk."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training.engine import Engine
from clipgnn.training.feed import EvaluatedGraphs, Resident
from clipgnn.training.losses import Loss, class_counts, class_weights_for, targets_for
from clipgnn.training.splits import EVALUATED, Split
from clipgnn.training.stream import Streamed, TrainingGraphs
from clipgnn.training.windows import Window, padded_rows
from clipgnn.training.workers import ALONE, Workers


def engine_for(
    graphs: PackedGraphs | StoredGraphs,
    network: Network,
    recipe: Recipe,
    splits: Sequence[Split],
    seeds: Sequence[int],
    device: torch.device,
    workers: Workers = ALONE,
) -> Engine:
    """Return the engine of members that train together.

    Args:
        graphs: the data set. Of graphs on disk, those to evaluate are read into memory.
        network: the network to train, with a member for each split; one for graphs on disk.
        recipe: the training recipe.
        splits: the graphs of each member.
        seeds: the seed of each member.
        device: device of the training.
        workers: the processes that train together.

    Raises:
        InvalidGraphError: if the network cannot read the graphs.
        InvalidColoringError: if the network has too few colors.
        InvalidParameterError: if the class weights do not match the targets.
    """
    network = network.to(device)
    if isinstance(graphs, StoredGraphs):
        return _of_stored(graphs, network, recipe, splits[0], seeds[0], device, workers)
    splits = [split.with_train(len(graphs)) for split in splits]
    window = Window(graphs.to(device), network, recipe)
    targets = window.targets[:-1]
    counts = [targets[split.train.to(device)] for split in splits]
    loss = _loss(recipe, graphs, [_counts(recipe, graphs, own) for own in counts], device)
    feed = Resident(window, recipe, [split.train for split in splits], seeds, device)
    evaluated = _evaluated(window, splits, device)
    return Engine(feed, evaluated, network, recipe, loss, seeds, device, graphs.encoding, workers)


def _of_stored(
    stored: StoredGraphs,
    network: Network,
    recipe: Recipe,
    split: Split,
    seed: int,
    device: torch.device,
    workers: Workers,
) -> Engine:
    dtype = next(network.parameters()).dtype
    held_out = split.evaluated
    train = TrainingGraphs(len(stored), None if split.rest else split.train, held_out)
    counts = []
    if recipe.class_weights is not None:
        counts = [_stored_counts(recipe, stored, split)]
    loss = _loss(recipe, stored, counts, device)
    feed = Streamed(stored, train, network, recipe, seed, device, dtype)
    window, local = feed.first().window, split
    if held_out.numel():
        read = stored.subset(held_out).with_floats(dtype)
        window = Window(read.to(device), network, recipe)
        places = {name: torch.searchsorted(held_out, getattr(split, name)) for name in EVALUATED}
        local = Split((), places["test"], places["validation"], places["fresh"])
    evaluated = _evaluated(window, [local], device)
    return Engine(
        feed, evaluated, network, recipe, loss, [seed], device, stored.schema.encoding, workers
    )


def _evaluated(window: Window, splits: Sequence[Split], device: torch.device) -> EvaluatedGraphs:
    chosen = {name: [getattr(split, name) for split in splits] for name in EVALUATED}
    return EvaluatedGraphs(
        window,
        {
            name: padded_rows(own, window.padding).to(device)
            for name, own in chosen.items()
            if any(part.numel() for part in own)
        },
        {name: [part.numel() for part in own] for name, own in chosen.items()},
    )


def _loss(
    recipe: Recipe,
    graphs: PackedGraphs | StoredGraphs,
    counts: Sequence[Tensor],
    device: torch.device,
) -> Loss:
    if recipe.class_weights is None:
        return Loss(recipe, None)
    weights = class_weights_for(recipe, _num_classes(recipe, graphs), counts)
    return Loss(recipe, None if weights is None else weights.to(device))


def _num_classes(recipe: Recipe, graphs: PackedGraphs | StoredGraphs) -> int:
    return 2 if recipe.loss == "binary-cross-entropy" else graphs.num_classes


def _counts(recipe: Recipe, graphs: PackedGraphs, targets: Tensor) -> Tensor:
    if recipe.class_weights is None:
        return torch.zeros(0)
    return class_counts(targets, _num_classes(recipe, graphs))


def _stored_counts(recipe: Recipe, stored: StoredGraphs, split: Split) -> Tensor:
    """How many training graphs on disk have each class."""
    classes = _num_classes(recipe, stored)
    counts = torch.zeros(classes, dtype=torch.int64)
    for part in _in_parts(stored, split):
        counts += class_counts(targets_for(recipe, stored.subset(part)), classes)
    return counts


def _in_parts(stored: StoredGraphs, split: Split) -> list[Tensor]:
    """Indices of the training graphs in parts; see `Split.others`."""
    if not split.rest:
        return list(split.train.split(2**14))
    bounds = [*range(0, len(stored), 2**14), len(stored)]
    parts = [torch.arange(*bound) for bound in pairwise(bounds)]
    held_out = split.evaluated
    trained = [part[~torch.isin(part, held_out)] for part in parts]
    return [part for part in trained if part.numel()]
