"""The training loop for all networks and devices."""

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clipgnn.errors import InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.storage.stored import StoredGraphs
from clipgnn.nn.network import Network
from clipgnn.parameters import Recipe
from clipgnn.training.checkpoint import Checkpoint, check_seconds, checkpoint_folder, identity_of
from clipgnn.training.engine import Engine, tensors_of
from clipgnn.training.engines import engine_for
from clipgnn.training.inputs import check_recipe, check_seeds, check_task, device_named
from clipgnn.training.losses import check_targets
from clipgnn.training.members import Callback, Training
from clipgnn.training.metrics import check_defined, check_known
from clipgnn.training.models import ModelSpec, copies, new_members
from clipgnn.training.splits import EVALUATED, Split, check_splits
from clipgnn.training.streams import own_stream
from clipgnn.training.trained import TrainedModel, TrainedModels
from clipgnn.training.windows import num_steps
from clipgnn.training.workers import Workers, current_workers

CHECKPOINT_SECONDS = 60.0
"""Number of seconds between two checkpoints."""


def train(
    graphs: PackedGraphs | StoredGraphs,
    model: ModelSpec | Network,
    recipe: Recipe,
    splits: Sequence[Split],
    seeds: Sequence[int] | NDArray[np.integer[Any]],
    device: str | torch.device = "cpu",
    *,
    together: bool | None = None,
    deterministic: bool = False,
    allow_overlap: bool = False,
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    local_statistics: bool = False,
) -> TrainedModels:
    """Train a model for each split and seed, and evaluate it after every epoch.

    Models train together, as members of one network, or one after the other. On a GPU training
    together is faster, and a step is recorded once and replayed. On the CPU it is faster for small
    networks only, and not for CLIP with many colorings (`clipgnn bench --only together`); use
    several processes instead.

    Processes of `torch.distributed`, such as those of `torchrun`, train each model together: every
    batch is divided among them.

    Args:
        graphs: the data set, in memory or on disk. Of graphs on disk, a window at a time is read
            in training; graphs to evaluate are read into memory. Float attributes and targets are
            converted to torch's default dtype, in which networks are built; for a given network,
            to its dtype.
        model: the model and its parameters, with weights drawn from the seeds; or a network, whose
            training continues: every model starts with its weights.
        recipe: the training recipe.
        splits: the graphs of each model.
        seeds: the seed of each model, for its weights, its batches and its colorings.
        device: "cpu" or "cuda".
        together: whether models train together; by default on a GPU.
        deterministic: whether results on a GPU are bit-identical in every run, also for networks
            that `torch.compile` compiles, which is slower.
        allow_overlap: whether a graph can be in several parts of a split, such as training and
            test.
        callback: called with the metrics of every epoch.
        checkpoint: folder of checkpoints. A training that was interrupted continues from the last
            one if it is called again with the same arguments. None for no checkpoints.
        checkpoint_seconds: smallest number of seconds between two checkpoints.
        local_statistics: for several processes, whether batch statistics are those of the part of
            a batch of each process, instead of the whole batch.

    Returns:
        A trained model for each split, independent of the others except for rounding. With the same
        seeds, results on a CPU are bit-identical for the same type of CPU and number of threads
        (`torch.set_num_threads`), which changes the order of summation. If the loss or score of a
        model is not finite, its `history.diverged` is set; other models are not affected.

    Raises:
        InvalidGraphError: if `graphs` is not a data set, or the model cannot read it.
        InvalidParameterError: if a split has indices out of range, duplicates, or graphs in several
            parts; if splits and seeds, or loss and targets, do not match; or if the model has an
            invalid parameter.
    """
    check_task(graphs, model)
    check_recipe(recipe)
    check_splits(splits, len(graphs), allow_overlap=allow_overlap)
    seeds = check_seeds(seeds, len(splits))
    workers = current_workers(local_statistics=local_statistics)
    _check_trainable(graphs, recipe, splits, workers)
    if callback is not None and not callable(callback):
        raise InvalidParameterError(
            f"callback must be a function of an Epoch, or None. Got {shown(callback)}."
        )
    check_seconds(checkpoint_seconds)
    folder = None if checkpoint is None else checkpoint_folder(checkpoint)
    device = device_named(device)
    given = model if isinstance(model, Network) else None
    dtype = torch.get_default_dtype() if given is None else next(given.parameters()).dtype
    if isinstance(graphs, PackedGraphs):
        graphs = graphs.with_floats(dtype)
    if together is None:
        together = device.type == "cuda"
    together = together and recipe.max_nodes is None and isinstance(graphs, PackedGraphs)
    groups: dict[int, list[int]] = defaultdict(list)
    for position, split in enumerate(splits):
        count = split.num_train(len(graphs))
        groups[num_steps(count, recipe.batch_size) if together else position].append(position)
    trained: dict[int, TrainedModel] = {}
    with own_stream(device):
        for number, positions in enumerate(groups.values()):
            own_seeds = [seeds[position] for position in positions]
            if isinstance(model, ModelSpec):
                network = new_members(model, graphs, recipe, own_seeds)
            else:
                network = copies(model, graphs, recipe, own_seeds)
            own_splits = [splits[position] for position in positions]
            engine = engine_for(graphs, network, recipe, own_splits, own_seeds, device, workers)
            file = None
            if folder is not None:
                identity = _identity(graphs, engine, own_splits, own_seeds)
                path = folder / f"models-{number}.safetensors"
                written = workers.rank == 0
                file = Checkpoint(path, identity, checkpoint_seconds, written=written)
            training = Training(
                engine, positions, deterministic=deterministic, callback=callback, checkpoint=file
            )
            trained.update(zip(positions, training.run(), strict=True))
    return TrainedModels([trained[position] for position in range(len(splits))])


def _identity(
    graphs: PackedGraphs | StoredGraphs,
    engine: Engine,
    splits: Sequence[Split],
    seeds: Sequence[int],
) -> str:
    """Hash of everything that determines the result of a training, but device and versions."""
    described = {
        "graphs": graphs.fingerprint,
        "recipe": asdict(engine.recipe),
        "network": [engine.network.name, asdict(engine.network.config)],
        "seeds": list(seeds),
        "workers": [engine.workers.size, engine.workers.local_statistics],
        "rest": [split.rest for split in splits],
    }
    tensors = {f"network.{name}": own for name, own in tensors_of(engine.network).items()}
    for number, split in enumerate(splits):
        tensors |= {f"{number}.{part}": getattr(split, part) for part in ("train", *EVALUATED)}
    return identity_of(json.dumps(described, sort_keys=True, default=_named), tensors)


def _named(value: object) -> str:
    """Name of a value that JSON does not have, such as a loss that is a function."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _check_trainable(
    graphs: PackedGraphs | StoredGraphs,
    recipe: Recipe,
    splits: Sequence[Split],
    workers: Workers,
) -> None:
    # Targets of graphs on disk are checked when they are read.
    checked = graphs if isinstance(graphs, PackedGraphs) else graphs.example()
    check_targets(recipe, checked)
    if recipe.max_nodes is None and recipe.batch_size < workers.size:
        raise InvalidParameterError(
            f"batch_size must be at least the number of processes, {workers.size}. Got "
            f"{recipe.batch_size}. Use larger batches, or fewer processes.",
            parameter="batch_size",
        )
    for number, split in enumerate(splits):
        count = split.num_train(len(graphs))
        if num_steps(count, recipe.batch_size) == 0:
            raise InvalidParameterError(
                f"Split {number}: train must have at least two graphs, because one graph has no "
                f"batch statistics. Got {count}."
            )
        if isinstance(graphs, PackedGraphs):
            train = split.with_train(len(graphs)).train
            check_known(_targets_of(graphs, train), f"Split {number}: train")
        for part in EVALUATED:
            chosen = getattr(split, part)
            if chosen.numel():
                targets = _targets_of(graphs, chosen)
                check_defined(recipe.score, targets, f"Split {number}: {part}")


def _targets_of(graphs: PackedGraphs | StoredGraphs, chosen: Tensor) -> Tensor:
    if isinstance(graphs, PackedGraphs):
        return graphs.targets[chosen.to(graphs.device)]
    return graphs.subset(chosen).targets
