"""The site of the documentation: it is built without warnings, and complete."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.needs("sphinx"), pytest.mark.slow]  # `make docs` builds it too


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A warning, such as a link to a page that does not exist, is an error."""
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-q", "-d", str(folder / "cache"), "-c", "docs"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "html")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    return folder / "html"


class _References(HTMLParser):
    """Addresses of everything that a page loads, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.loaded.append(attributes.get("src") or "")
        if tag == "link" and attributes.get("rel") == "stylesheet":
            self.loaded.append(attributes.get("href") or "")


def test_every_page_of_docs_is_built(site: Path) -> None:
    for page in ROOT.glob("docs/**/*.md"):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").is_file()
    assert 'url=docs/index.html"' in (site / "index.html").read_text(encoding="utf-8")


def test_pages_load_nothing_from_a_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = _References()
        found.feed(page.read_text(encoding="utf-8"))
        assert not [own for own in found.loaded if "//" in own], page


def test_the_api_has_equations_and_parameters(site: Path) -> None:
    page = (site / "docs/api/networks.html").read_text(encoding="utf-8")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in page
    text = re.sub(r"<[^>]+>", "", page)
    assert "number k of random colorings of a graph" in text
    assert "{parameters}" not in text
    assert ":math:" not in text


def test_every_public_name_is_documented(site: Path) -> None:
    import clipgnn

    pages = "".join(page.read_text(encoding="utf-8") for page in site.glob("docs/api/*.html"))
    missing = [
        name
        for name in clipgnn.__all__
        if name != "__version__" and f'id="clipgnn.{name}"' not in pages
    ]
    assert not missing
