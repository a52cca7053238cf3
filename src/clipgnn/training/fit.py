"""Models that are fitted and not trained: kernels with a support vector machine."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.awl import AWL
from clipgnn.baselines.svm import Kernel, fit_svm
from clipgnn.baselines.wl import WL
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.training.inputs import check_task
from clipgnn.training.models import ModelSpec, check_known
from clipgnn.training.recipe import History
from clipgnn.training.splits import Split, check_splits

KERNELS: Mapping[str, type[Kernel]] = {"wl": WL, "awl": AWL}
"""Kernels by name. Their parameters are their fields, and C of the support vector machine."""


def fit(
    graphs: PackedGraphs,
    spec: ModelSpec,
    splits: Sequence[Split],
    *,
    allow_overlap: bool = False,
) -> list[History]:
    """Fit a kernel's support vector machine to each split, on the CPU.

    The kernel between all graphs is computed once, and kept for the next call. Kernels look at no
    targets, so that they may look at the test graphs.

    Args:
        graphs: undirected graphs with classes.
        spec: the kernel and its parameters, and C (1 by default).
        splits: the graphs of each machine.
        allow_overlap: whether a graph may be in several parts of a split.

    Returns:
        One history for each split, with a single epoch: `train_loss` is the share of the training
        graphs that are misclassified.

    Raises:
        InvalidParameterError: if there is no such kernel or parameter, the targets are floats to
            regress, a split names graphs that are not there, twice, or in several parts, or its
            training graphs are all of one class.
        InvalidGraphError: if the graphs have edge attributes, or are directed.
    """
    check_task(graphs, spec)
    check_splits(splits, len(graphs), allow_overlap=allow_overlap)
    check_known("There is no kernel", spec.name, KERNELS)
    kind = KERNELS[spec.name]
    parameters: dict[str, Any] = dict(spec.parameters)
    for key in parameters:
        check_known(f"The kernel {spec.name!r} has no parameter", key, parameters_of(spec.name))
    if graphs.y.is_floating_point():
        raise InvalidParameterError(
            f"A kernel's support vector machine needs classes as targets. Those of {graphs.name!r} "
            "are floats to regress; call .long() on them if they are classes."
        )
    if graphs.edge_attr is not None:
        raise InvalidGraphError(
            "Kernels compare graphs without edge attributes. Got some: leave them out (load the "
            "data without edge labels)."
        )
    graphs.check_undirected()
    start = time.perf_counter()
    C = parameters.pop("C", 1.0)
    gram = _gram(graphs, kind(**parameters))
    y = graphs.y.cpu().numpy()
    scores = [
        fit_svm(
            gram,
            y,
            split.train.numpy(),
            split.test.numpy(),
            split.validation.numpy(),
            C=C,
        )
        for split in splits
    ]
    seconds = time.perf_counter() - start
    return [
        History(
            train_loss=[own.train_error],
            test_score=[own.test],
            validation_score=[] if own.validation is None else [own.validation],
            seconds=seconds,
            compile_seconds=0.0,
        )
        for own in scores
    ]


def parameters_of(name: str) -> tuple[str, ...]:
    """The parameters one may choose for a kernel of `KERNELS`."""
    kind: Any = KERNELS[name]
    return (*(field.name for field in fields(kind)), "C")


@lru_cache(maxsize=4)
def _gram(graphs: PackedGraphs, kernel: Kernel) -> NDArray[np.float64]:
    """Kept for the other values of C and the other folds of this process."""
    return kernel.gram(graphs)
