"""Experiments from TOML files, with every key and value checked."""

import re
import reprlib
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clipgnn.errors import InvalidSpecError, one_line, suggestion
from clipgnn.experiments.catalog import (
    DATASETS,
    LARGEST_INTEGER,
    MODELS,
    PUBLISHED,
    SPLITS,
    TU_PREFIX,
    Rule,
    Value,
)
from clipgnn.experiments.protocol import PROTOCOLS
from clipgnn.experiments.spec import Axes, Row, Spec

MOST_BYTES = 2**20
"""Largest size of an experiment file."""

MOST_TRIALS = 1_000_000
"""Most trials of an experiment."""

MOST_FOLDS = 1000

MOST_ENTRIES = 200
"""Most data sets, and most models."""

MOST_CHARACTERS = 200
"""Longest name or title."""

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
    "published",
    "extremes",
)

_ROW_KEYS = ("name", "model", "datasets", "only")


def find_spec(name: str) -> Path:
    """The file of an experiment: a path, or a name in `experiments/`.

    The folder is looked for here, beside the source, and in the installed package.

    Raises:
        InvalidSpecError: if there is none.
    """
    path = Path(name)
    if path.suffix == ".toml" or len(path.parts) > 1:
        _check_file(path)
        return path
    package = Path(__file__).parents[1]
    folders = [Path("experiments"), package.parents[1] / "experiments", package / "tables"]
    known = {file.stem: file for folder in reversed(folders) for file in folder.glob("*.toml")}
    if name not in known:
        raise InvalidSpecError(
            f"There is no experiment {name!r}. Known are: {', '.join(sorted(known)) or 'none'}; "
            f"or give the path of a .toml file.{suggestion(name, known)}"
        )
    return known[name]


def read_spec(path: Path) -> Spec:
    """The experiment in a TOML file.

    Raises:
        InvalidSpecError: if the file cannot be read, or asks for something that does not exist.
    """
    _check_file(path)
    try:
        with path.open("rb") as file:
            given = file.read(MOST_BYTES + 1)
        text = given.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSpecError(f"{path}: cannot be read: {error}.") from error
    if len(given) > MOST_BYTES:
        raise InvalidSpecError(f"{path}: must be a file of at most {MOST_BYTES} bytes.")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSpecError(f"{path}: is not TOML: {one_line(str(error))}.") from error
    except ValueError as error:  # Python reads integers of at most 4300 digits
        raise InvalidSpecError(
            f"{path}: must have integers of at most {LARGEST_INTEGER.bit_length()} bits: "
            "one has thousands of digits."
        ) from error
    except RecursionError as error:
        raise InvalidSpecError(
            f"{path}: must not have lists or tables nested hundreds of levels deep."
        ) from error
    return parse_spec(content, path.stem, str(path))


def _check_file(path: Path) -> None:
    """Refuse what is not a regular file: reading a pipe or a device might never end."""
    try:
        is_file = path.is_file()
    except OSError as error:
        raise InvalidSpecError(f"{path}: cannot be read: {error.strerror}.") from error
    if not is_file:
        if path.exists():
            raise InvalidSpecError(f"An experiment must be a regular file, and {path} is not.")
        raise InvalidSpecError(f"There is no experiment file {path}.")


def parse_spec(content: Mapping[str, Any], name: str, file: str) -> Spec:
    """The experiment with this content.

    Args:
        content: as TOML or a store has it.
        name: what the experiment is called.
        file: where the content is from, for messages.

    Raises:
        InvalidSpecError: if it asks for something that does not exist.
    """
    return _Reader(file).spec(content, name)


@dataclass(frozen=True)
class _Reader:
    file: str

    def spec(self, content: Mapping[str, Any], name: str) -> Spec:
        self.text("name", name)
        self.known_keys("", content, _KEYS)
        for key in ("datasets", "models"):
            if not content.get(key):
                raise self.error(key, "must be there, with at least one entry")
            if isinstance(content[key], list | tuple) and len(content[key]) > MOST_ENTRIES:
                raise self.error(key, f"must have at most {MOST_ENTRIES} entries")
        datasets = self.names("datasets", content["datasets"], self.dataset)
        rows = self.rows(content["models"], datasets)
        protocol = self.word("protocol", content.get("protocol", "gin"), PROTOCOLS)
        usual = "nested" if protocol == "fair" else "cross-validation"
        split = self.word("split", content.get("split", usual), SPLITS)
        if protocol == "fair" and split != "nested":
            raise self.error("split", 'must be "nested", or absent, for the protocol "fair"')
        folds = self.integer("folds", content.get("folds", 10), Rule(int, 2, MOST_FOLDS))
        first = self.integer("first_folds", content.get("first_folds", folds), Rule(int, 1))
        if first > folds:
            raise self.error("first_folds", f"must be at most the {folds} folds. Got {first}")
        seeds = self.values("seeds", content.get("seeds", [0]), Rule(int, least=0))
        published = content.get("published")
        if published is not None:
            published = self.word("published", published, PUBLISHED)
        extremes = self.names("extremes", content.get("extremes", []), self.among(datasets))
        spec = Spec(
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
            published=published,
            extremes=extremes,
        )
        if spec.num_trials > MOST_TRIALS:
            raise self.error(
                "grid",
                f"must give at most {MOST_TRIALS} trials. Got {spec.num_trials} trials "
                "(data sets × models × values × folds × seeds)",
            )
        return spec

    def rows(self, entries: Any, datasets: tuple[str, ...]) -> tuple[Row, ...]:
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self.error("models", "must be a list of tables, each begun with [[models]]")
        rows: list[Row] = []
        for number, entry in enumerate(entries):
            at = f"models[{number}]"
            model = self.word(f"{at}.model", entry.get("model"), MODELS)
            name = self.text(f"{at}.name", entry.get("name", model))
            if name in [row.name for row in rows]:
                raise self.error(f"{at}.name", f"must differ from the others. Got {name!r} again")
            own = self.names(
                f"{at}.datasets", entry.get("datasets", datasets), self.among(datasets)
            )
            axes = {key: entry[key] for key in entry if key not in _ROW_KEYS}
            only = self.only(f"{at}.only", entry.get("only", {}), own, {model})
            rows.append(Row(name, model, self.axes(at, axes, {model}), own, only))
        return tuple(rows)

    def only(
        self, at: str, entries: Any, datasets: tuple[str, ...], models: set[str]
    ) -> dict[str, Axes]:
        if not isinstance(entries, dict):
            raise self.error(at, "must be a table of data sets")
        self.known_keys(at, entries, datasets)
        return {
            dataset: self.axes(f"{at}.{dataset}", axes, models) for dataset, axes in entries.items()
        }

    def axes(self, at: str, entries: Any, models: set[str]) -> Axes:
        """Values to try; a key must be in the recipe, or a parameter of one of the models."""
        if not isinstance(entries, dict):
            raise self.error(at, "must be a table of parameters")
        rules = {key: rule for model in sorted(models) for key, rule in MODELS[model].rules.items()}
        self.known_keys(at, entries, rules)
        return {
            key: self.values(f"{at}.{key}", value, rules[key]) for key, value in entries.items()
        }

    def values(self, key: str, given: Any, rule: Rule) -> tuple[Value, ...]:
        listed = given if isinstance(given, list | tuple) else [given]
        if not listed:
            raise self.error(key, "must have at least one value")
        values = tuple(self.value(key, value, rule) for value in listed)
        if len(set(values)) < len(values):
            raise self.error(key, f"must not have a value twice. Got {shown(list(values))}")
        return values

    def value(self, key: str, given: Any, rule: Rule) -> Value:
        if not rule.accepts(given):
            close = suggestion(given, rule.words) if isinstance(given, str) else ""
            raise self.error(key, f"must be {rule}. Got {shown(given)}", close)
        return rule.normal(given)

    def integer(self, key: str, given: Any, rule: Rule) -> int:
        return int(self.value(key, given, rule))

    def names(self, key: str, given: Any, check: Callable[[str, Any], str]) -> tuple[str, ...]:
        if not isinstance(given, list | tuple):
            raise self.error(key, f"must be a list of names. Got {shown(given)}")
        names = tuple(check(key, name) for name in given)
        if len(set(names)) < len(names):
            raise self.error(key, f"must not have a name twice. Got {shown(list(names))}")
        return names

    def dataset(self, key: str, given: Any) -> str:
        if isinstance(given, str) and given.startswith(TU_PREFIX):
            # As `clipgnn.datasets.tu` has it, which needs torch.
            if re.fullmatch(r"\w[\w .+-]*", given.removeprefix(TU_PREFIX)):
                return self.text(key, given)
            raise self.error(
                key,
                "the name of a data set must be letters, digits and any of '_-+.'. "
                f"Got {shown(given)}",
            )
        try:
            return self.word(key, given, DATASETS)
        except InvalidSpecError as error:
            raise InvalidSpecError(
                f"{error} Any other data set of the TU collection is written 'tu:NAME'."
            ) from None

    def among(self, known: Iterable[str]) -> Callable[[str, Any], str]:
        return lambda key, given: self.word(key, given, known)

    def word(self, key: str, given: Any, known: Iterable[str]) -> str:
        known = list(known)
        if not isinstance(given, str) or given not in known:
            close = suggestion(given, known) if isinstance(given, str) else ""
            got = "Nothing is given" if given is None else f"Got {shown(given)}"
            raise self.error(key, f"must be one of {', '.join(known)}. {got}", close)
        return given

    def text(self, key: str, given: Any) -> str:
        if (
            not isinstance(given, str)
            or not given.strip()
            or not given.isprintable()
            or len(given) > MOST_CHARACTERS
        ):
            raise self.error(
                key,
                f"must be one printable line of at most {MOST_CHARACTERS} characters. "
                f"Got {shown(given)}",
            )
        return given

    def known_keys(self, at: str, content: Mapping[str, Any], known: Iterable[str]) -> None:
        known = list(known)
        for key in content:
            if key not in known:
                short = key if key.isprintable() and len(key) <= 60 else shown(key)
                full = f"{at}.{short}" if at else short
                raise self.error(full, "is an unknown key", suggestion(key[:100], known))

    def error(self, key: str, problem: str, close: str = "") -> InvalidSpecError:
        return InvalidSpecError(f"{self.file}: {key}: {problem}.{close}")


class _Shortened(reprlib.Repr):
    """Values as messages show them: cut short, also integers that Python refuses to print."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlevel = 3

    def repr_int(self, x: int, level: int) -> str:
        """Small integers in digits, others by their size."""
        return repr(x) if abs(x) <= LARGEST_INTEGER else f"an integer of {x.bit_length()} bits"


shown = _Shortened().repr
