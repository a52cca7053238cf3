"""The entry point of the command line; every error is printed as one line, with an exit status.

Exit status: 0 success; 1 some items failed, or the output was closed; 2 invalid input, or a file
that could not be read or written; 130 interrupted.
"""

import codecs
import os
import shlex
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from clipgnn.errors import ClipGNNError, DamagedStoreError, one_line

_ASCII = {
    "±": "+-",
    "×": "x",
    "–": "-",
    "∞": "inf",
    "…": "...",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "†": "^",
}
"""Replacements for characters that an encoding lacks; any other becomes an escape."""

MAX_CHARACTERS = 2000
"""Maximum length of a message; the middle of a longer one is omitted."""


def main() -> None:
    """Run the command line, and exit with its status."""
    sys.exit(_status())


def _status() -> int:
    try:
        _prepare_output()
        try:
            # Imported here so that Ctrl-C during the import is handled too.
            from clipgnn.commands.app import app

            app(prog_name="clipgnn")
        except SystemExit as end:  # raised by Typer at the end
            sys.stdout.flush()
            # Typer turns Ctrl-C that a command does not handle into a silent exit.
            if end.__context__ and isinstance(end.__context__.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            return end.code if isinstance(end.code, int) else 0
    except KeyboardInterrupt:
        _print_error("Interrupted.")
        return 130
    except BrokenPipeError:
        _discard(sys.stdout)
        return 1
    except ClipGNNError as error:
        _print_error(_message_of(error))
    except RecursionError:
        _print_error("The input is nested too deeply. Use fewer levels.")
    except MemoryError:
        _print_error("There is not enough memory. Use smaller sizes, or free some memory.")
    except OSError as error:
        _print_error(_explain(error))
    return 2


def _prepare_output() -> None:
    """Make both streams writable, with a replacement for every missing character."""
    codecs.register_error("clipgnn", _substitute)
    # Output to a closed stream is discarded. Otherwise the next opened file would get the file
    # descriptor of the stream, and output of libraries would be written to it.
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="clipgnn")


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the encoding of a stream lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    shown = [_ASCII.get(own, own.encode("unicode_escape").decode()) for own in text]
    return "".join(shown), error.end


def _message_of(error: ClipGNNError) -> str:
    """Return the message of a library error, with flags instead of parameters."""
    from clipgnn.commands.flags import with_flag

    message = with_flag(str(error), getattr(error, "parameter", None))
    if isinstance(error, DamagedStoreError):
        store = str(error.path)
        command = shlex.join(["clipgnn", "experiment", "repair", error.path.stem, "--store", store])
        message += f" Command: `{command}`."
    return message


def _explain(error: OSError) -> str:
    if error.filename is None:  # an open stream; commands handle files that they open
        _discard(sys.stdout)
        return f"The output cannot be written: {error.strerror}. Redirect it, or free some space."
    return f"{error.filename} cannot be used: {error.strerror}. Use another file, or fix this one."


def _print_error(message: str) -> None:
    from clipgnn.commands.terminal import terminal

    console = terminal(stderr=True)
    line = one_line(message)
    if len(line) > MAX_CHARACTERS:
        line = f"{line[: MAX_CHARACTERS // 2]} … {line[-MAX_CHARACTERS // 2 :]}"
    try:
        console.print(f"clipgnn: {line}", style="red")
    except OSError:
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Redirect a stream to the null device; Python would report unwritten data at exit."""
    with suppress(OSError, ValueError):
        null_device = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null_device, stream.fileno())
        os.close(null_device)


if __name__ == "__main__":
    main()
