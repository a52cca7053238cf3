"""Fitting of support vector machines with graph kernels."""

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clipgnn.baselines.svm import Kernel, fit_svm
from clipgnn.curves import Curves
from clipgnn.errors import InvalidGraphError, InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import MODELS, SVMParameters
from clipgnn.training.history import History
from clipgnn.training.inputs import check_task
from clipgnn.training.models import ModelSpec, check_model
from clipgnn.training.splits import EVALUATED, Split, check_splits


def fit_kernel(
    graphs: PackedGraphs,
    spec: ModelSpec,
    splits: Sequence[Split],
    *,
    allow_overlap: bool = False,
) -> list[History]:
    """Fit a support vector machine with a graph kernel to each split, on the CPU.

    The kernel between all graphs is computed once and cached for the next call. It includes the
    test graphs, because it does not depend on targets.

    Args:
        graphs: undirected graphs with classes.
        spec: the kernel and its parameters, and C (1 by default).
        splits: the graphs of each support vector machine.
        allow_overlap: whether a graph can be in several parts of a split.

    Returns:
        One history for each split, with a single epoch: `train_loss` is the share of the training
        graphs that are misclassified.

    Raises:
        InvalidParameterError: if there is no such kernel or parameter, the targets are floats to
            regress, a split has indices that are out of range, duplicated or in several parts, or
            its training graphs are all of one class.
        InvalidGraphError: if the graphs have edge attributes, or are directed.
    """
    check_task(graphs, spec)
    check_splits(splits, len(graphs), allow_overlap=allow_overlap)
    check_model(spec.name, trained=False)
    kernel, machine = _kernel_and_machine(MODELS[spec.name].load(), spec.parameters)
    if graphs.targets.is_floating_point():
        raise InvalidParameterError(
            f"A support vector machine needs classes as targets. The targets of {graphs.name!r} "
            "are floats to regress. Use y.long() if they are classes."
        )
    for name in ("edge_attr", "edge_weight", "graph_attr"):
        if getattr(graphs, name) is not None:
            raise InvalidGraphError(
                f"Kernels do not support {name}. Got {name} in {graphs.name!r}. Leave it out: "
                f"dataclasses.replace(graphs, {name}=None)."
            )
    graphs.check_undirected()
    start = time.perf_counter()
    gram = _gram(graphs, kernel)
    y = graphs.targets.cpu().numpy()
    fitted = []
    for split in splits:
        parts = [getattr(split, name).numpy() for name in EVALUATED]
        fitted.append(fit_svm(gram, y, split.train.numpy(), parts, C=machine.C))
    seconds = time.perf_counter() - start
    return [
        History(
            Curves([own.train_error], *([] if score is None else [score] for score in own.scores)),
            seconds=seconds,
        )
        for own in fitted
    ]


def _kernel_and_machine(
    kind: type[Kernel], values: Mapping[str, Any]
) -> tuple[Kernel, SVMParameters]:
    own = SVMParameters.names()
    kind.check_names(values, (*kind.names(), *own))
    kernel = kind.from_dict({name: value for name, value in values.items() if name not in own})
    machine = {name: value for name, value in values.items() if name in own}
    return kernel, SVMParameters.from_dict(machine)


@lru_cache(maxsize=4)
def _gram(graphs: PackedGraphs, kernel: Kernel) -> NDArray[np.float64]:
    """Compute the kernel, cached for other values of C and other folds of this process."""
    return kernel.gram(graphs)
