"""Metrics of many members, computed on the device, with missing targets."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from clipgnn.errors import InvalidParameterError

Outputs = Float[Tensor, "members graphs out_channels"]
Mask = Bool[Tensor, "members graphs"]
Metric = Callable[[Outputs, Tensor, Mask], Float[Tensor, "members"]]
"""A function that computes the score of each member from outputs, targets and a padding mask.

Targets are classes `[members, graphs]`, or floats `[members, graphs, targets]`, NaN where one is
missing. The score of a member without known targets, or with an output that is not finite, is NaN.
"""


def accuracy(outputs: Outputs, targets: Tensor, mask: Mask) -> Tensor:
    """Share of known targets, classes or binary targets, that are predicted correctly."""
    if targets.is_floating_point():
        right, known = (outputs > 0) == (targets > 0), _known(targets, mask)
    else:
        right, known = outputs.argmax(2) == targets, mask
    return _mean(right.to(outputs.dtype), known, outputs, mask)


def mean_absolute_error(outputs: Outputs, targets: Tensor, mask: Mask) -> Tensor:
    """Mean absolute error over the known targets."""
    return _mean((outputs - targets).abs(), _known(targets, mask), outputs, mask)


def root_mean_squared_error(outputs: Outputs, targets: Tensor, mask: Mask) -> Tensor:
    """Root of the mean squared error over the known targets."""
    errors = (outputs - targets).square()
    return _mean(errors, _known(targets, mask), outputs, mask).sqrt()


def roc_auc(outputs: Outputs, targets: Tensor, mask: Mask) -> Tensor:
    """Area under the ROC curve: mean over targets, or over classes (one against the rest).

    Targets without both positive and negative graphs are excluded.
    """
    scores, positive, known = _ranked(outputs, targets, mask)
    # Scores of unknown targets are sorted last and do not change the ranks of the others.
    ordered = torch.sort(scores.masked_fill(~known, torch.inf), dim=2).values
    below = torch.searchsorted(ordered, scores)
    not_above = torch.searchsorted(ordered, scores, right=True)
    rank = (below + not_above + 1) / 2  # counted from 1; equal scores share the mean rank
    positives, negatives = positive.sum(2), (known & ~positive).sum(2)
    wins = torch.where(positive, rank, 0).sum(2) - positives * (positives + 1) / 2
    area = wins / (positives * negatives)
    return _mean_of_targets(area, (positives > 0) & (negatives > 0), outputs, mask)


def average_precision(outputs: Outputs, targets: Tensor, mask: Mask) -> Tensor:
    """Average precision: mean over targets, or over classes (one against the rest).

    It is the mean, over positive graphs, of the precision at the threshold of their score. Targets
    without positive graphs are excluded.
    """
    scores, positive, known = _ranked(outputs, targets, mask)

    def at_least(counted: Tensor) -> Tensor:
        """For each graph, the number of counted graphs with at least its score."""
        ordered = torch.sort(scores.masked_fill(~counted, -torch.inf), dim=2).values
        return scores.shape[2] - torch.searchsorted(ordered, scores)

    precision = at_least(positive) / at_least(known).clamp(min=1)
    positives = positive.sum(2)
    mean = torch.where(positive, precision, 0).sum(2) / positives.clamp(min=1)
    return _mean_of_targets(mean, positives > 0, outputs, mask)


METRIC_FUNCTIONS: Mapping[str, Metric] = {
    "accuracy": accuracy,
    "roc-auc": roc_auc,
    "average-precision": average_precision,
    "mae": mean_absolute_error,
    "rmse": root_mean_squared_error,
}
"""Metrics by name."""


def check_defined(metric: str, targets: Tensor, where: str) -> None:
    """Check that a metric is defined on these targets.

    Raises:
        InvalidParameterError: if no target is known; or, for a metric of rankings, if no target has
            both positive and negative graphs.
    """
    if targets.shape[0] == 0:
        return
    check_known(targets, where)
    if metric not in ("roc-auc", "average-precision"):
        return
    columns = targets.view(targets.shape[0], -1)
    if targets.is_floating_point():
        defined = bool(((columns > 0).any(0) & (columns <= 0).any(0)).any())  # NaN is neither
    else:
        defined = targets.unique().numel() > 1
    if not defined:
        raise InvalidParameterError(
            f"{where} must have graphs of at least two classes for the metric {metric!r}. Got one "
            "class. Use stratified folds, or another metric."
        )


def check_known(targets: Tensor, where: str) -> None:
    """Check that at least one target is not missing.

    Raises:
        InvalidParameterError: if all are.
    """
    if bool(targets.isnan().all()):
        raise InvalidParameterError(
            f"{where} must have a graph with a known target. Got NaN for all graphs."
        )


def _known(targets: Tensor, mask: Tensor) -> Bool[Tensor, "members graphs targets"]:
    """Which float targets are known."""
    return mask[:, :, None] & ~targets.isnan()


def _mean(values: Tensor, known: Tensor, outputs: Tensor, mask: Tensor) -> Tensor:
    """Mean over the known entries of each member."""
    total = torch.where(known, values, 0).flatten(1).sum(1)
    return _defined(total / known.flatten(1).sum(1), outputs, mask)


def _ranked(outputs: Tensor, targets: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores, and masks of positive and of known targets, `[members, targets, graphs]`."""
    if targets.is_floating_point():
        scores, positive, known = outputs, targets > 0, _known(targets, mask)
    else:
        classes = outputs.shape[2]
        positive = targets[:, :, None] == torch.arange(classes, device=outputs.device)
        scores = torch.log_softmax(outputs, dim=2)
        if classes == 2:  # one class against the other is enough
            scores, positive = (outputs[:, :, 1:] - outputs[:, :, :1]), positive[:, :, 1:]
        known = mask[:, :, None].expand_as(positive)
    positive = positive & known
    return tuple(part.transpose(1, 2).contiguous() for part in (scores, positive, known))  # type: ignore[return-value]


def _mean_of_targets(values: Tensor, defined: Tensor, outputs: Tensor, mask: Tensor) -> Tensor:
    total = torch.where(defined, values, 0).sum(1) / defined.sum(1)
    return _defined(total.to(outputs.dtype), outputs, mask)


def _defined(scores: Tensor, outputs: Tensor, mask: Tensor) -> Tensor:
    """Set the score of members with an output that is not finite to NaN."""
    finite = (outputs.isfinite().all(2) | ~mask).all(1)
    return torch.where(finite, scores, torch.nan)
