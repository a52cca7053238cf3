"""The browser of all tests of pages."""

from collections.abc import Iterator

import pytest
from tests.browser.chromium import NAMES, Browser, find_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} was found")
    with Browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened
