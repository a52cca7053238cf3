"""Layout of the numbers of pairs of graphs: a table for each set of pairs, and one of all BREC."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from clipgnn.errors import listed
from clipgnn.experiments.protocol import PairCounts
from clipgnn.parameters.datasets import BREC_FAMILIES
from clipgnn.report.block import EMPTY, NOT_APPLICABLE, Block, Field, Line
from clipgnn.report.table import Entry, Table

HEADINGS = ("model", "pairs", "separated", "failed", "unreliable", "seeds")
"""Headings of a table of pairs."""

BREC = "brec"
"""Name of all families of BREC together."""


@dataclass(frozen=True)
class PairResult:
    """What a model separates of a set of pairs.

    Attributes:
        model: name of the row.
        dataset: name of the set, or `BREC` for the sum over its families.
        entries: the cells that it consists of.
        seeds: numbers of pairs by seed, of finished seeds.
        expected: number of seeds that were asked for; 0 if the model is not measured on the set.
    """

    model: str
    dataset: str
    entries: tuple[Entry, ...]
    seeds: Mapping[int, PairCounts]
    expected: int

    @property
    def not_applicable(self) -> str:
        """Why the model cannot be measured on the set; empty if it can."""
        return " ".join(dict.fromkeys(own.not_applicable for own in self.entries)).strip()

    @property
    def complete(self) -> bool:
        """Whether all seeds are finished."""
        return 0 < self.expected == len(self.seeds)

    @property
    def diverged(self) -> bool:
        """Whether trainings diverged, so that there are no numbers although none is missing."""
        measured = [own.measurement for own in self.entries if own.measurement is not None]
        ended = all(own.complete for own in measured)
        return not self.seeds and ended and any(own.diverged for own in measured)

    @property
    def in_common(self) -> bool:
        """Whether all seeds are finished that were asked for, of which some sets lack some."""
        return not self.complete and all(
            own.measurement is not None and 0 < own.num_seeds == len(own.measurement.pairs)
            for own in self.entries
        )

    def numbers(self, name: str) -> list[int]:
        """Return a number of pairs of each seed: "pairs", "separated", "failed", "unreliable"."""
        return [int(getattr(own, name)) for own in self.seeds.values()]


def pair_results(table: Table) -> dict[str, list[PairResult]]:
    """Return the results of all rows by set of pairs, and of all families of BREC together."""
    found = {
        column.dataset: [
            _result(row.name, column.dataset, (row.entries[place],)) for row in table.rows
        ]
        for place, column in enumerate(table.columns)
    }
    families = [place for place, own in enumerate(table.columns) if own.dataset in BREC_FAMILIES]
    if len(families) > 1:
        found[BREC] = [
            _result(row.name, BREC, tuple(row.entries[place] for place in families))
            for row in table.rows
        ]
    return found


def pair_blocks(table: Table) -> Iterator[Block]:
    """Yield a table for each set of pairs, and one of all families of BREC.

    Rows that were not asked for on a set are left out.
    """
    for dataset, results in pair_results(table).items():
        lines = tuple(_line(own) for own in results if own.expected or own.not_applicable)
        yield Block(_title(dataset, table), HEADINGS, lines)


def pair_numbers(table: Table) -> Iterator[str]:
    """Yield a sentence for each set and result: which pairs failed, and of which models and seeds.

    The numbers of unreliable pairs are among those of failed ones. Models that separate all pairs
    are left out.
    """
    for dataset, results in pair_results(table).items():
        models: dict[str, dict[str, list[int]]] = {}
        for own in results:
            for seed, counts in own.seeds.items():
                if counts.failed_pairs:
                    text = f"failed: {intervals(counts.failed_pairs)}"
                    if counts.unreliable_pairs:
                        text += f"; unreliable: {intervals(counts.unreliable_pairs)}"
                    models.setdefault(text, {}).setdefault(own.model, []).append(seed)
        several = {own.model for own in results if own.expected > 1}
        for text, seeds in models.items():
            names = [
                f"{model} (seed{'s' * (len(those) > 1)} {', '.join(map(str, those))})"
                if model in several
                else model
                for model, those in seeds.items()
            ]
            yield f"{dataset}, {listed(names)}: {text}"


def intervals(numbers: Sequence[int], dash: str = "–", comma: str = ", ") -> str:
    """Format increasing numbers, such as "3, 7, 12–20".

    Example:
        >>> intervals([3, 7, 8, 12, 13, 14])
        '3, 7, 8, 12–14'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}{dash}{run[-1]}"] if len(run) > 2 else map(str, run)
    return comma.join(parts)


def _title(dataset: str, table: Table) -> str:
    if dataset != BREC:
        return dataset
    present = sum(column.dataset in BREC_FAMILIES for column in table.columns)
    if present == len(BREC_FAMILIES):
        return "BREC, all families"
    return f"BREC, {present} of {len(BREC_FAMILIES)} families"


def _result(model: str, dataset: str, entries: tuple[Entry, ...]) -> PairResult:
    """Add the numbers of entries, for the seeds that are finished in all of them."""
    own = [{} if entry.measurement is None else entry.measurement.pairs for entry in entries]
    seeds = {
        seed: reduce(add, (counts[seed] for counts in own))
        for seed in own[0]
        if all(seed in counts for counts in own)
    }
    return PairResult(model, dataset, entries, seeds, min(entry.num_seeds for entry in entries))


def _line(own: PairResult) -> Line:
    texts = [range_text(own.numbers(name)) for name in HEADINGS[1:-1]]
    seeds = str(len(own.seeds))
    if not own.complete:
        seeds = f"incomplete: {seeds} of {own.expected}" if own.expected else EMPTY
    if own.in_common:
        seeds = f"{len(own.seeds)} in all sets"
    if own.diverged:
        seeds = "diverged"
    if own.not_applicable:
        texts[1] = NOT_APPLICABLE
    return Line(tuple(map(Field, (own.model, *texts, seeds))))


def range_text(numbers: Sequence[int]) -> str:
    """Format a number of each seed: their mean, and the smallest and largest if they differ."""
    if not numbers:
        return EMPTY
    low, high = min(numbers), max(numbers)
    if low == high:
        return str(low)
    return f"{sum(numbers) / len(numbers):.1f} ({low} to {high})"
