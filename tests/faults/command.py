"""The command line inside this process, for tests that call it many times."""

import contextlib
import io
import sys
from unittest import mock

from clipgnn import cli
from clipgnn.errors import ClipGNNError


def experiment(*words: str) -> str:
    """What `clipgnn experiment …` prints; a refusal is raised, as the library raises it."""
    printed, errors = io.StringIO(), io.StringIO()
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["clipgnn", "experiment", *words]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    message = errors.getvalue()
    assert "Traceback" not in message
    if status == 2:
        assert message.startswith("clipgnn: ")
        raise ClipGNNError(message)
    assert status == 0, message
    return printed.getvalue()


def numbers(text: str) -> str:
    """A table in CSV without the lines that say where it comes from."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))
