"""Documentation: links lead to files and headings that exist, and code runs."""

import ast
import re
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from clipgnn.commands.app import app

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("results/*.md")]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(python|toml|bash)\n(.*?)^```", re.M | re.S)

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def python_blocks(page: Path) -> list[str]:
    """The blocks of Python code of a page."""
    return [code for language, code in BLOCK.findall(page.read_text()) if language == "python"]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@every_page
def test_links(page: Path) -> None:
    for link in LINK.findall(page.read_text()):
        if link.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


@every_page
def test_code(page: Path) -> None:
    """Code must compile, and names that it imports from clipgnn must exist."""
    for code in python_blocks(page):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("clipgnn"):
                module = import_module(str(node.module))
                assert all(hasattr(module, alias.name) for alias in node.names)


def test_pages_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "architecture.md"} <= {page.name for page in PAGES}
    assert any(python_blocks(page) for page in PAGES)


def some_graphs(number: int) -> list[Data]:
    """Stars with a random attribute of each node, of two classes."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for graph in range(number):
        leaves = torch.arange(1, 3 + graph % 3)
        center = torch.zeros_like(leaves)
        edge_index = torch.stack([torch.cat([leaves, center]), torch.cat([center, leaves])])
        x = torch.randint(2, (leaves.numel() + 1, 1), generator=generator).float()
        graphs.append(Data(x=x, edge_index=edge_index, y=torch.tensor([graph % 2])))
    return graphs


def write_tu(folder: Path, graphs: list[Data]) -> None:
    """Write graphs in the layout of the TU collection, under the name MUTAG, with edge labels."""
    offsets = np.cumsum([0] + [graph.num_nodes for graph in graphs])
    edges = torch.cat([g.edge_index + int(o) for g, o in zip(graphs, offsets, strict=False)], 1)
    folder.mkdir(parents=True)
    content: dict[str, list[object]] = {
        "A": [f"{source}, {target}" for source, target in (edges + 1).T.tolist()],
        "graph_indicator": [n + 1 for n, graph in enumerate(graphs) for _ in range(len(graph.x))],
        "graph_labels": [int(graph.y) for graph in graphs],
        "node_labels": [int(value) for graph in graphs for value in graph.x],
        "edge_labels": [edge % 4 for edge in range(edges.shape[1])],
    }
    for name, lines in content.items():
        (folder / f"MUTAG_{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def run_command(arguments: list[str]) -> None:
    """Run a command of clipgnn, which must succeed."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output


PAGES_WITH_COMMANDS = {"docs/tutorial.md"}
"""Pages whose commands run, and not only their Python."""


@pytest.mark.parametrize(
    "epochs",
    [pytest.param(None, marks=pytest.mark.slow, id="as written"), pytest.param(2, id="2 epochs")],
)
def test_commands_of_the_tutorial_run(
    epochs: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer epochs than the page has, unless slow tests run."""
    run_page("docs/tutorial.md", tmp_path, monkeypatch, epochs)


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/compare.md",
        "docs/data.md",
        "docs/estimators.md",
        pytest.param("docs/experiments.md", marks=pytest.mark.needs("pandas")),
        "docs/explanations.md",
        "docs/extending.md",
        "docs/gpu.md",
        pytest.param("docs/molecules.md", marks=pytest.mark.needs("rdkit")),
        "docs/networks.md",
        "docs/pyg.md",
        "docs/training.md",
        "docs/uncertainty.md",
    ],
)
def test_code_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_page(page, tmp_path, monkeypatch)


def run_page(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, epochs: int | None = None
) -> None:
    """Run blocks in the order of the page, and experiments before the code that reads them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLIPGNN_DATA", str(tmp_path / "data"))
    write_tu(tmp_path / "data" / "MUTAG" / "raw", some_graphs(30))
    names: dict[str, object] = {"my_graphs": some_graphs(30)}
    for language, code in BLOCK.findall((ROOT / page).read_text()):
        if language == "toml":
            name, _, file = code.splitlines()[0].partition("# ")
            if name:
                continue  # a part of a file
            Path(file).write_text(code)
            command = ["experiment", "run", file, "--executor", "in-process", "--device", "cpu"]
            run_command(command)
        elif language == "bash":
            if page in PAGES_WITH_COMMANDS:
                if epochs is not None:
                    code = re.sub(r"--epochs \d+", f"--epochs {epochs}", code)
                for line in re.findall(r"^clipgnn (.*)$", code, re.M):
                    run_command(shlex.split(line, comments=True))
        else:
            exec(compile(code, page, "exec"), names)
