"""Options that name a file to write, such as `--output`."""

from pathlib import Path

from clipgnn.errors import OutputError
from clipgnn.writing import check_writable


def check_output(path: Path, flag: str = "--output") -> None:
    """Check that the file of an option can be written.

    Raises:
        OutputError: if it cannot.
    """
    try:
        check_writable(path)
    except OutputError as error:
        raise OutputError(f"{flag} {error}") from error
