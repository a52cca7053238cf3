"""What experiment files of pairs of graphs must have, and must not have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clipgnn.errors import listed
from clipgnn.experiments.experiment import KEPT, ModelRow
from clipgnn.parameters import Recipe, model_named
from clipgnn.parameters.datasets import is_pair_set
from clipgnn.parameters.recipe import PAIR_RECIPE


@dataclass(frozen=True)
class Problem:
    """An invalid key of an experiment file."""

    key: str
    text: str


def pair_problems(
    content: Mapping[str, Any],
    datasets: Sequence[str],
    rows: Sequence[ModelRow],
    protocol: str,
    split: str,
) -> Iterator[Problem]:
    """Yield what is wrong: pairs of graphs, and nothing else, have the protocol for pairs.

    Args:
        content: the content of the file.
        datasets: its data sets.
        rows: its rows.
        protocol: its protocol.
        split: its split.
    """
    if split == "pairs" and protocol != "pairs":
        yield Problem("protocol", 'must be "pairs" for the split "pairs"')
    for name in datasets:
        if split == "pairs" and not is_pair_set(name):
            yield Problem("datasets", f"must be pairs of graphs for this protocol. Got {name}")
        if split != "pairs" and is_pair_set(name):
            yield Problem("protocol", f'must be "pairs" for {name}, a set of pairs')
    if split == "pairs":
        yield from _keys(content)
        for row in rows:
            if not model_named(row.model).trained:
                yield Problem("models", f"must be networks for pairs. Got {row.model}")
        for table in _tables(content):
            yield from _recipe(table)


def _keys(content: Mapping[str, Any]) -> Iterator[Problem]:
    if content.get("folds", 1) != 1:
        yield Problem("folds", 'must be absent for the protocol "pairs"')
    for key in ("groups", "fresh", "extremes", *KEPT):
        if content.get(key) not in (None, False, [], "none"):
            yield Problem(key, 'must be absent for the protocol "pairs"')


def _tables(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all tables of values: of all rows and of each, on all data sets and on one."""
    for table in (content.get("grid"), content, *content["models"]):
        if isinstance(table, dict):
            yield table
            yield from _values(table.get("only"))


def _values(tables: object) -> list[Mapping[str, Any]]:
    own = tables.values() if isinstance(tables, dict) else ()
    return [table for table in own if isinstance(table, dict)]


def _recipe(table: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the recipe in a table of values, for networks that are trained for each pair."""
    for key in table:
        if key in Recipe.names() and key not in PAIR_RECIPE:
            yield Problem(key, f"must be absent for pairs, unlike {listed(PAIR_RECIPE)}")
    sizes = table.get("batch_size", 2)
    for size in sizes if isinstance(sizes, list) else [sizes]:
        if isinstance(size, int) and size % 2:
            yield Problem("batch_size", f"must be even for pairs. Got {size}")
