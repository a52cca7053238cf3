"""The entry point of the command line: whatever happens, one clear line and an exit status.

Exit status: 0 done; 1 some items failed, or nobody reads the output any more; 2 bad input, or
something that could not be read or written; 130 interrupted.
"""

import codecs
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from clipgnn.errors import ClipGNNError, one_line

_ASCII = {"±": "+-", "×": "x", "–": "-", "∞": "inf", "…": "...", "→": "->", "≤": "<=", "≥": ">="}
"""What is printed where the terminal does not know a character; any other becomes an escape."""

MOST_CHARACTERS = 2000
"""Longest message; of a longer one the middle is left out."""


def main() -> None:
    """Run the command line, and exit with its status."""
    sys.exit(_status())


def _status() -> int:
    try:
        _prepare_output()
        try:
            # Imported here so that Ctrl-C during the import is handled like any other.
            from clipgnn.commands.app import app

            app()
        except SystemExit as end:  # which is how an application of Typer ends
            sys.stdout.flush()
            return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard(sys.stdout)
        return 1
    except ClipGNNError as error:
        _complain(str(error))
    except RecursionError:
        _complain("The input is nested too deeply. Give it fewer levels.")
    except MemoryError:
        _complain("There is not enough memory for this. Ask for less, or free some.")
    except OSError as error:
        _complain(_explain(error))
    return 2


def _prepare_output() -> None:
    """Make both streams writable and able to show every character."""
    codecs.register_error("clipgnn", _substitute)
    # What was closed by the caller is discarded; otherwise the next file opened would take the
    # number of the stream, and what libraries print would end up in it.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="clipgnn")


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding of a stream does not have."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = [_ASCII.get(own, own.encode("unicode_escape").decode()) for own in text]
    return "".join(shown), error.end


def _explain(error: OSError) -> str:
    if error.filename is None:  # an open stream, and commands handle the files that they open
        _discard(sys.stdout)
        return f"The output cannot be written: {error.strerror}. Send it elsewhere, or make room."
    return f"{error.filename} cannot be used: {error.strerror}. Name another file, or correct this."


def _complain(message: str) -> None:
    from clipgnn.commands.terminal import terminal

    console = terminal(stderr=True)
    line = one_line(message)
    if len(line) > MOST_CHARACTERS:
        line = f"{line[: MOST_CHARACTERS // 2]} … {line[-MOST_CHARACTERS // 2 :]}"
    try:
        console.print(f"clipgnn: {line}", style="red")
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Send what is left in a stream to nowhere; Python would complain about it when it exits."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    main()
