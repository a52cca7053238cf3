"""Losses of many members, with missing targets and class weights."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.parameters import METRICS, Recipe


class BatchLoss(NamedTuple):
    """Loss of each member on a batch.

    Attributes:
        mean: mean loss over the known targets, `[members]`; 0 if there are none.
        weight: number of known targets, or the sum of their class weights, `[members]`.
    """

    mean: Tensor
    weight: Tensor


class Loss:
    """The mean loss of each member over the known targets of its batch.

    Args:
        recipe: the recipe, for the loss.
        class_weights: factor of each class, `[members, classes]`; None for no factors.
    """

    def __init__(self, recipe: Recipe, class_weights: Tensor | None) -> None:
        self.function = recipe.loss
        self.class_weights = class_weights

    def __call__(
        self,
        outputs: Float[Tensor, "members graphs out_channels"],
        targets: Tensor,
        mask: Bool[Tensor, "members graphs"],
    ) -> BatchLoss:
        """Compute the loss.

        Args:
            outputs: outputs of the network.
            targets: rows of `targets_for`, `[members, graphs]` or `[members, graphs, targets]`.
            mask: graphs that are not padding.
        """
        known = mask
        if targets.is_floating_point():
            missing = targets.isnan()
            targets = targets.masked_fill(missing, 0).to(outputs.dtype)
            known = mask[:, :, None] & ~missing
        losses = self._losses(outputs, targets)
        if losses.dim() < known.dim():  # a loss for each graph, which needs all of its targets
            known = known.all(2)
        counts: Tensor = known
        if self.class_weights is not None:
            # [members, classes] -> [members, graphs] or [members, graphs, targets]
            weight = self.class_weights.gather(1, targets.flatten(1).long()).view(targets.shape)
            losses = losses * weight
            counts = torch.where(known, weight, 0)
        # Not a product: the loss of padding can be any number, and infinity times zero is NaN.
        total = torch.where(known, losses, 0).flatten(1).sum(1)
        weight = counts.flatten(1).sum(1)
        return BatchLoss(total / _at_least_one(weight), weight)

    def _losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Loss of each graph `[members, graphs]`, or of each target."""
        if callable(self.function):
            # [members * graphs, ...] -> [members, graphs, ...]
            losses = self.function(outputs.flatten(0, 1), targets.flatten(0, 1))
            return _checked(losses, targets).view(*targets.shape[:2], *losses.shape[1:])
        if self.function == "cross-entropy":
            return functional.cross_entropy(outputs.transpose(1, 2), targets, reduction="none")
        if self.function == "binary-cross-entropy":
            return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
        if self.function == "absolute-error":
            return (outputs - targets).abs()
        return (outputs - targets).square()


def _at_least_one(counts: Tensor) -> Tensor:
    """Replace 0 by 1 in divisors, for members without known targets, whose loss is 0."""
    return torch.where(counts > 0, counts, 1)


def _checked(losses: object, targets: Tensor) -> Tensor:
    """Check the result of a user-defined loss function."""
    rows = targets.shape[0] * targets.shape[1]
    allowed = [(rows,), (rows, *targets.shape[2:])]
    if not isinstance(losses, Tensor) or tuple(losses.shape) not in allowed:
        got = list(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise InvalidParameterError(
            "A loss function must return a loss for each graph, [graphs], or each target, [graphs, "
            f'targets]. Got {got} for {rows} graphs. Use reduction="none".'
        )
    return losses


def check_targets(recipe: Recipe, graphs: PackedGraphs) -> None:
    """Check that the loss and the metric match the targets.

    Raises:
        InvalidParameterError: if they do not.
    """
    targets = graphs.targets
    are_classes = not targets.is_floating_point()
    if recipe.loss == "cross-entropy" and not are_classes:
        raise InvalidParameterError(
            'The loss "cross-entropy" needs classes as targets. The targets of '
            f"{graphs.name!r} are floats. Use y.long() if they are classes, or another loss, "
            'such as "absolute-error".'
        )
    if not METRICS[recipe.score] and are_classes:
        raise InvalidParameterError(
            f"The loss {_name(recipe)} with the metric {recipe.score!r} needs floats as targets. "
            f"The targets of {graphs.name!r} are classes. Use y.float() if they are numbers to "
            "regress."
        )
    if recipe.loss == "binary-cross-entropy" or (METRICS[recipe.score] and not are_classes):
        wrong = targets[(targets != 0) & (targets != 1) & ~targets.isnan()]
        if wrong.numel():
            raise InvalidParameterError(
                f"The loss {_name(recipe)} with the metric {recipe.score!r} needs targets that are "
                f"0 or 1, or NaN where one is missing. Got {wrong[0].item():g} in {graphs.name!r}."
            )


def _name(recipe: Recipe) -> str:
    return f'"{recipe.loss}"' if isinstance(recipe.loss, str) else "function"


def targets_for(recipe: Recipe, graphs: PackedGraphs) -> Tensor:
    """Targets in the form for losses and metrics.

    Returns:
        Classes `[graphs]` in int64, or floats `[graphs, targets]`, NaN where a target is missing.
    """
    targets = graphs.targets
    if recipe.loss == "binary-cross-entropy" and not targets.is_floating_point():
        targets = targets.to(torch.get_default_dtype())
    return targets.view(len(graphs), -1) if targets.is_floating_point() else targets


def class_weights_for(
    recipe: Recipe, num_classes: int, train: Sequence[Tensor]
) -> Float[Tensor, "members classes"] | None:
    """Factor of each class; "balanced" factors make the total weight of all classes equal.

    Args:
        recipe: the recipe.
        num_classes: number of classes, or 2 for binary targets.
        train: how many training graphs of each member have each class, `[classes]`.

    Raises:
        InvalidParameterError: if the factors do not match the classes.
    """
    given = recipe.class_weights
    if given is None:
        return None
    if not isinstance(given, str):
        if len(given) != num_classes:
            raise InvalidParameterError(
                f"The 'class_weights' parameter of Recipe must have a factor for each of the "
                f"{num_classes} classes. Got {len(given)}."
            )
        return torch.tensor(given).expand(len(train), -1)
    counts = torch.stack(list(train))
    balanced = counts.sum(1, keepdim=True) / (num_classes * counts.clamp(min=1))
    return balanced.to(torch.get_default_dtype())


def class_counts(targets: Tensor, num_classes: int) -> Int[Tensor, "classes"]:
    """How many known targets, in the form of `targets_for`, have each class."""
    known = targets[~targets.isnan()].long()
    return torch.bincount(known, minlength=num_classes)
