"""The command line inside this process, for tests that call it many times."""

import contextlib
import csv
import io
import sys
from unittest import mock

from clipgnn import cli
from clipgnn.errors import ClipGNNError


def experiment(*words: str, encoding: str = "utf-8") -> str:
    """What `clipgnn experiment …` prints; a refusal is raised, as the library raises it."""
    return command("experiment", *words, encoding=encoding)


def report(*words: str) -> str:
    """What `clipgnn report …` prints, likewise."""
    return command("report", *words)


def command(*words: str, encoding: str = "utf-8") -> str:
    """What `clipgnn …` prints to a terminal with an encoding; a refusal is raised."""
    # As a terminal has them: text on bytes.
    printed, errors = (io.TextIOWrapper(io.BytesIO(), encoding, newline="") for _ in range(2))
    status: object = 0
    with (
        mock.patch.object(sys, "argv", ["clipgnn", *words]),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(errors),
    ):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
    output, message = _text(printed), _text(errors)
    assert "Traceback" not in message
    if status == 2:
        assert "clipgnn: " in message
        raise ClipGNNError(message)
    assert status == 0, message
    return output


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def numbers(text: str) -> str:
    """A table in CSV without its last column, which says where it comes from."""
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0][-1] == "provenance"
    return "\n".join("\t".join(row[:-1]) for row in rows)
