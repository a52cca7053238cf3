"""Write `requirements-dev.txt`: every pin of `constraints.txt` but torch, with its hashes.

Hashes are those the package index publishes for the wheels of Python 3.11 and 3.12 on every
platform. torch is left out because its builds (CPU, CUDA) share a version and differ in content.

    python tools/lock.py --index-url URL   read the index and write the lock
    python tools/lock.py --check           only compare the lock with constraints.txt, offline
"""

import argparse
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
LOCK = ROOT / "requirements-dev.txt"
UNLOCKED = {"torch"}
PYTHONS = {"py3", "py2.py3", "cp311", "cp312"}
HEADER = """\
# Every pin of constraints.txt but torch, with the SHA-256 hashes of its wheels for Python 3.11 and
# 3.12. Written by `make lock`, do not edit.
"""


class _Links(HTMLParser):
    """The links of an index page (PEP 503), yanked files left out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "a" and "data-yanked" not in attributes:
            self.found.append(attributes.get("href") or "")


def pins(path: Path) -> dict[str, str]:
    """Versions by name, as a constraints or requirements file pins them."""
    return dict(re.findall(r"^([\w.-]+)==([^\s\\]+)", path.read_text(encoding="utf-8"), re.M))


def hashes(index: str, name: str, version: str) -> list[str]:
    """SHA-256 hashes of the wheels of one release."""
    request = Request(f"{index.rstrip('/')}/{name}/", headers={"Accept": "text/html"})
    with urlopen(request, timeout=60) as answer:
        page = answer.read().decode("utf-8")
    links = _Links()
    links.feed(page)
    found = set()
    for link in links.found:
        address, fragment = urldefrag(link)
        file = unquote(address.rsplit("/", 1)[-1])
        if file.endswith(".whl") and fragment.startswith("sha256="):
            # name-version(-build)-python-abi-platform.whl
            _, own, *_, python, abi, _ = file.removesuffix(".whl").split("-")
            if own == version and (python in PYTHONS or abi == "abi3"):
                found.add(fragment.removeprefix("sha256="))
    if not found:
        sys.exit(f"{index} has no wheel of {name} {version} for Python 3.11 or 3.12.")
    return sorted(found)


def write(index: str) -> None:
    """Write the lock from what the index publishes."""
    wanted = {name: own for name, own in pins(CONSTRAINTS).items() if name not in UNLOCKED}
    with ThreadPoolExecutor(8) as pool:
        all_hashes = pool.map(lambda pin: hashes(index, *pin), wanted.items())
    entries = [
        " \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{own}" for own in found)])
        for (name, version), found in zip(wanted.items(), all_hashes, strict=True)
    ]
    LOCK.write_text(HEADER + "\n".join(entries) + "\n", encoding="utf-8")
    print(f"{LOCK.name}: {len(entries)} packages")


def check() -> None:
    """Compare the lock with the constraints, and exit with status 1 where they differ."""
    wanted, locked = pins(CONSTRAINTS), pins(LOCK)
    differing = [
        f"{name}: {CONSTRAINTS.name} has {wanted.get(name)}, {LOCK.name} has {locked.get(name)}"
        for name in sorted(wanted.keys() | locked.keys())
        if name not in UNLOCKED and wanted.get(name) != locked.get(name)
    ]
    if differing:
        sys.exit("\n".join([*differing, "Run `make lock`."]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with constraints.txt only")
    parser.add_argument(
        "--index-url",
        default=os.environ.get("PIP_INDEX_URL"),
        help="index to read the hashes from, in the form of PEP 503; by default $PIP_INDEX_URL",
    )
    arguments = parser.parse_args()
    if arguments.check:
        check()
    elif arguments.index_url:
        write(arguments.index_url)
    else:
        parser.error("name the package index with --index-url or PIP_INDEX_URL")
