"""The content of experiment files, with every key and value checked."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from clipgnn.errors import (
    InvalidExperimentError,
    InvalidParameterError,
    shown,
)
from clipgnn.experiments.catalog import (
    GROUPS,
    OPTION,
    PUBLISHED,
    SPLITS,
    TU_OPTIONS,
    TU_PREFIX,
    is_own_dataset,
)
from clipgnn.experiments.experiment import (
    KEPT,
    Axes,
    Experiment,
    ModelRow,
    check_groups,
)
from clipgnn.experiments.file_checks import FileChecks
from clipgnn.experiments.pair_content import pair_problems
from clipgnn.experiments.protocol import PROTOCOLS, SPLIT_OF_PROTOCOL
from clipgnn.parameters import (
    MODELS,
    Recipe,
    Rule,
    is_import_path,
    model_named,
)
from clipgnn.parameters.datasets import (
    BENCHMARKS,
    FILE_PREFIX,
    GENERATED,
    KNOWN,
    PAIR_PREFIXES,
    PAIR_SETS,
)

MAX_TRIALS = 1_000_000
"""Largest number of trials of an experiment."""

MAX_FOLDS = 1000
"""Largest number of folds of an experiment."""

MAX_ENTRIES = 200
"""Largest number of data sets, and of models."""

_KEYS = (
    "title",
    "datasets",
    "models",
    "grid",
    "only",
    "folds",
    "first_folds",
    "seeds",
    "protocol",
    "split",
    "validation_share",
    "groups",
    "fresh",
    "published",
    "extremes",
    *KEPT,
)

_ROW_KEYS = ("name", "model", "datasets", "not_applicable", "only", *KEPT)


def parse_experiment(content: Mapping[str, Any], name: str, file: str) -> Experiment:
    """Make an experiment from the content of a file.

    Args:
        content: the content, in the structure of TOML.
        name: name of the experiment.
        file: name of the file, for messages.

    Raises:
        InvalidExperimentError: if there is an unknown key or invalid value.
    """
    return _Reader(file).experiment(content, name)


class _Reader(FileChecks):
    def experiment(self, content: Mapping[str, Any], name: str) -> Experiment:
        self.text("name", name)
        self.known_keys("", content, _KEYS)
        for key in ("datasets", "models"):
            if not content.get(key):
                raise self.error(key, "must be given, with at least one entry")
            if isinstance(content[key], list | tuple) and len(content[key]) > MAX_ENTRIES:
                raise self.error(key, f"must have at most {MAX_ENTRIES} entries")
        datasets = self.names("datasets", content["datasets"], self.dataset)
        kept = {key: self.boolean(key, content.get(key, False)) for key in KEPT}
        rows = self.rows(content["models"], datasets, kept)
        protocol = self.word("protocol", content.get("protocol", Experiment.protocol), PROTOCOLS)
        usual = SPLIT_OF_PROTOCOL.get(protocol, Experiment.split)
        split = self.word("split", content.get("split", usual), SPLITS)
        if protocol in SPLIT_OF_PROTOCOL and split != usual:
            raise self.error(
                "split", f'must be "{usual}", or absent, for the protocol "{protocol}"'
            )
        for problem in pair_problems(content, datasets, rows, protocol, split):
            raise self.error(problem.key, problem.text)
        share = self.share("validation_share", content.get("validation_share"), split)
        fewest, usual_folds = (1, 1) if split == "pairs" else (2, Experiment.folds)
        folds = self.integer(
            "folds", content.get("folds", usual_folds), Rule(int, fewest, MAX_FOLDS)
        )
        first = self.integer("first_folds", content.get("first_folds", folds), Rule(int, 1))
        if first > folds:
            raise self.error("first_folds", f"must be at most the {folds} folds. Got {first}")
        seeds = self.values("seeds", content.get("seeds", Experiment.seeds), Rule(int, 0))
        groups = self.word("groups", content.get("groups", Experiment.groups), GROUPS)
        try:
            check_groups(groups, datasets)
        except InvalidParameterError as error:
            raise self.error("groups", str(error).rstrip(".")) from error
        fresh = self.boolean("fresh", content.get("fresh", False))
        if fresh and (read := [name for name in datasets if name not in GENERATED]):
            raise self.error(
                "fresh",
                f"must be false, or absent, for data sets that are not generated. Got {read[0]}",
            )
        published = content.get("published")
        if published is not None:
            published = self.word("published", published, PUBLISHED)
        extremes = self.names("extremes", content.get("extremes", []), self.among(datasets))
        experiment = Experiment(
            name=name,
            title=self.text("title", content.get("title", name)),
            datasets=datasets,
            rows=rows,
            grid=self.axes("grid", content.get("grid", {}), {row.model for row in rows}),
            only=self.only("only", content.get("only", {}), datasets, {row.model for row in rows}),
            folds=folds,
            first_folds=first,
            seeds=tuple(int(seed) for seed in seeds),
            protocol=protocol,
            split=split,
            validation_share=share,
            groups=groups,
            fresh=fresh,
            published=published,
            extremes=extremes,
        )
        if experiment.num_trials > MAX_TRIALS:
            raise self.error(
                "grid",
                f"must give at most {MAX_TRIALS} trials. Got {experiment.num_trials} trials "
                "(data sets × models × values × folds × seeds)",
            )
        for row in rows:
            for dataset in row.datasets:
                self.metric(row.name, experiment.axes(row, dataset))
        return experiment

    def metric(self, row: str, axes: Axes) -> None:
        """Check that all configurations of a cell have one metric, which suits their losses."""
        related = {key: axes[key] for key in ("loss", "metric", "class_weights") if key in axes}
        try:
            scores = {
                Recipe.from_dict(Recipe.from_toml(dict(zip(related, values, strict=True)))).score
                for values in product(*related.values())
            }
        except InvalidParameterError as error:
            raise self.error(f"model {row!r}", str(error).rstrip(".")) from error
        if len(scores) > 1:
            raise self.error(
                f"model {row!r}",
                "the losses and metrics must give all configurations the same score. Got "
                f"{', '.join(sorted(scores))}",
            )

    def rows(
        self, entries: Any, datasets: tuple[str, ...], kept: Mapping[str, bool]
    ) -> tuple[ModelRow, ...]:
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self.error("models", "must be a list of tables, written as [[models]]")
        rows: list[ModelRow] = []
        for number, entry in enumerate(entries):
            at = f"models[{number}]"
            model = self.model(f"{at}.model", entry.get("model"))
            name = self.text(f"{at}.name", entry.get("name", model))
            if name in [row.name for row in rows]:
                raise self.error(f"{at}.name", f"must differ from the others. Got {name!r} again")
            own = self.names(
                f"{at}.datasets", entry.get("datasets", datasets), self.among(datasets)
            )
            reason = ""
            if "not_applicable" in entry:
                if "datasets" not in entry:
                    raise self.error(f"{at}.not_applicable", "must be absent without datasets")
                reason = self.text(f"{at}.not_applicable", entry["not_applicable"])
            axes = {key: entry[key] for key in entry if key not in _ROW_KEYS}
            only = self.only(f"{at}.only", entry.get("only", {}), own, {model}, row=True)
            keep = {key: self.boolean(f"{at}.{key}", entry.get(key, kept[key])) for key in KEPT}
            if any(keep.values()) and not model_named(model).trained:
                keep = self.nothing_of_kernels(at, entry, model)
            if keep["keep_models"] and is_import_path(model):
                raise self.error(
                    f"{at}.keep_models",
                    f"must be false for {model!r}, because model files contain networks of clipgnn "
                    "only. Use keep_predictions, or train the network in Python",
                )
            values = self.axes(at, axes, {model}, row=True)
            rows.append(ModelRow(name, model, values, own, only, **keep, not_applicable=reason))
        return tuple(rows)

    def model(self, key: str, given: Any) -> str:
        if is_import_path(given):
            return self.text(key, given)
        try:
            return self.word(key, given, MODELS)
        except InvalidExperimentError as error:
            raise InvalidExperimentError(
                f"{error} A network of your own is written 'module:Class'."
            ) from None

    def nothing_of_kernels(self, at: str, entry: Mapping[str, Any], model: str) -> dict[str, bool]:
        """Keep nothing of kernels, which have no model files and no probabilities."""
        for key in KEPT:
            if entry.get(key):
                raise self.error(f"{at}.{key}", f"must be false, or absent, for the kernel {model}")
        return dict.fromkeys(KEPT, False)

    def only(
        self,
        at: str,
        entries: Any,
        datasets: tuple[str, ...],
        models: set[str],
        *,
        row: bool = False,
    ) -> dict[str, Axes]:
        if not isinstance(entries, dict):
            raise self.error(at, "must be a table of data sets")
        self.known_keys(at, entries, datasets)
        return {
            dataset: self.axes(f"{at}.{dataset}", axes, models, row=row)
            for dataset, axes in entries.items()
        }

    def axes(self, at: str, entries: Any, models: set[str], *, row: bool = False) -> Axes:
        """The values to try; every model that has the parameter must accept them.

        Parameters of a user's network are known when it is imported. Its row can therefore have any
        parameter, and the tables of all rows can have none of it.
        """
        if not isinstance(entries, dict):
            raise self.error(at, "must be a table of parameters")
        rules: dict[str, list[Rule]] = {}
        for model in sorted(models):
            for key, rule in model_named(model).rules.items():
                rules.setdefault(key, []).append(rule)
        hint = ""
        if any(is_import_path(model) for model in models):
            if row:
                rules.update(
                    {key: [] for key in entries if key not in rules and key.isidentifier()}
                )
            else:
                hint = " Parameters of a network of your own belong in its table [[models]]."
        self.known_keys(at, entries, rules, hint)
        return {
            key: self.values(f"{at}.{key}", value, *rules[key]) for key, value in entries.items()
        }

    def share(self, key: str, given: Any, split: str) -> float:
        if given is None:
            return Experiment.validation_share
        if split != "nested":
            raise self.error(key, 'must be absent unless split is "nested"')
        return float(self.value(key, given, Rule(float, above=0, below=1)))

    def dataset(self, key: str, given: Any) -> str:
        if isinstance(given, str) and given.startswith((*PAIR_PREFIXES, FILE_PREFIX)):
            return self.text(key, given)  # a path, which can have any character
        name, *options = given.split(OPTION) if isinstance(given, str) else (given,)
        if isinstance(given, str) and is_own_dataset(name):
            if options:
                raise self.error(
                    key,
                    f"an import path must not have an option after {OPTION}. Got {shown(given)}",
                )
            return self.text(key, given)
        for option in options:
            self.word(f"{key}: the option after {OPTION} in {shown(given)}", option, TU_OPTIONS)
        if isinstance(given, str) and name.startswith(TU_PREFIX):
            # The same rule as in `clipgnn.datasets.tu`, which needs torch.
            if re.fullmatch(r"\w[\w .+-]*", name.removeprefix(TU_PREFIX)):
                return self.text(key, given)
            raise self.error(
                key,
                "the name of a data set must consist of letters, digits and any of '_-+.'. "
                f"Got {shown(given)}",
            )
        try:
            self.word(key, name, BENCHMARKS if options else (*KNOWN, *PAIR_SETS))
            return str(given)
        except InvalidExperimentError as error:
            raise InvalidExperimentError(
                f"{error} Any other data set of the TU collection is written 'tu:NAME', a file of "
                "graphs 'file:PATH', and one of your own 'module:function'."
            ) from None
