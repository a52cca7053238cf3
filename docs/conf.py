"""Configuration of the site, which `make docs` builds from the Markdown pages and the docstrings.

The source folder is that of the repository, so that links between `docs/` and `results/` are the
same in the site and in the repository.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]

import clipgnn  # noqa: E402

project = "clipgnn"
version = release = clipgnn.__version__
root_doc = "docs/index"
include_patterns = ["docs/**", "results/*.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_mathml",  # of `tools/`
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # links to headings are those of the repository's pages
math_number_all = False

default_role = "code"  # as in the docstrings
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Shapes", "notes_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_score_request",  # of scikit-learn, with references to its manual
}
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "clipgnn"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path: list[str] = []


def setup(app: Any) -> None:
    """Write a first page that leads to the pages of `docs/`."""
    app.connect("build-finished", _write_first_page)


def _write_first_page(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.name == "html":
        target = "docs/index.html"
        page = (
            f'<!doctype html><meta charset="utf-8"><title>clipgnn</title>'
            f'<meta http-equiv="refresh" content="0; url={target}">'
            f'<link rel="canonical" href="{target}"><a href="{target}">clipgnn</a>\n'
        )
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")
