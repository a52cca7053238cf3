"""Project files that must agree: dependencies, versions, the CI workflow, hooks and templates."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import clipgnn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
YAML_FILES = [*ROOT.glob(".github/**/*.yml"), ROOT / ".pre-commit-config.yaml"]


def pins(name: str) -> dict[str, Version]:
    """Return the versions of a constraints file by package."""
    lines = (ROOT / name).read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(package): Version(version) for package, version in pairs}


def requirements(*lists: list[str]) -> list[Requirement]:
    found = [Requirement(text) for texts in lists for text in texts]
    return [requirement for requirement in found if requirement.name != PROJECT["name"]]


OPTIONAL = ("baselines", "igraph", "molecules", "pandas", "ray", "test")
SUPPORTED = requirements(PROJECT["dependencies"], *(EXTRAS[name] for name in OPTIONAL))


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return found


def make_calls() -> set[str]:
    """Return the targets of make that the workflow calls."""
    commands = [step["run"] for job in jobs().values() for step in job["steps"] if "run" in step]
    assert all(command.startswith("make ") for command in commands)
    return {command.split()[1] for command in commands}


def test_the_oldest_pins_are_the_lower_bounds() -> None:
    bounds = {}
    for requirement in SUPPORTED:
        [specifier] = requirement.specifier
        assert specifier.operator == ">=", requirement
        bounds[canonicalize_name(requirement.name)] = Version(specifier.version)
    assert bounds == pins("constraints-oldest.txt")


def test_the_pins_satisfy_every_requirement() -> None:
    pinned = pins("constraints.txt")
    for requirement in (*SUPPORTED, *requirements(EXTRAS["dev"])):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


def test_the_development_environment_has_every_extra() -> None:
    [own] = [text for text in EXTRAS["dev"] if text.startswith(PROJECT["name"])]
    assert Requirement(own).extras == set(EXTRAS) - {"dev"}


def test_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == clipgnn.__version__
    assert PROJECT["dynamic"] == ["version"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## .*({re.escape(clipgnn.__version__)}|Unreleased)", changes, re.M | re.I)


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_yaml_can_be_parsed(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


def test_ci_tests_the_pythons_that_are_claimed() -> None:
    claimed = [
        text.rpartition(" ")[2]
        for text in PROJECT["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", text)
    ]
    assert jobs()["tests"]["strategy"]["matrix"]["python-version"] == claimed


def test_ci_runs_on_the_systems_that_are_claimed() -> None:
    systems = [text for text in PROJECT["classifiers"] if text.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    assert {job["runs-on"] for job in jobs().values()} == {"ubuntu-latest"}


def test_ci_calls_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert make_calls() <= targets
    assert {"lint", "suite", "test-oldest", "docs", "wheel-test", "slow"} <= make_calls()


def test_ci_blocks_the_packages_of_the_extras() -> None:
    blocked = jobs()["tests-without-extras"]["env"]["CLIPGNN_TEST_WITHOUT"].split(",")
    optional = requirements(EXTRAS["baselines"], EXTRAS["pandas"], EXTRAS["ray"])
    assert sorted(blocked) == sorted({requirement.name for requirement in optional})


def test_hooks_run_what_make_lint_runs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    entries = " ".join(hook["entry"] for repo in config["repos"] for hook in repo["hooks"])
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    for tool in ("ruff check", "ruff format", "mypy", "lint-imports", "tools/lock.py --check"):
        assert tool in entries
        assert tool in (ROOT / "Makefile").read_text()


def test_issue_forms_have_unique_fields() -> None:
    for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"):
        if path.name != "config.yml":
            form = yaml.safe_load(path.read_text())
            fields = [field["id"] for field in form["body"]]
            assert {"name", "description", "body"} <= form.keys()
            assert len(set(fields)) == len(fields)
