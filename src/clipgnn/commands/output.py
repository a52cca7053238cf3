"""The option `--output`."""

from pathlib import Path

from clipgnn.errors import OutputError
from clipgnn.writing import check_writable


def check_output(path: Path) -> None:
    """Check that the file of `--output` can be written.

    Raises:
        OutputError: if it cannot.
    """
    try:
        check_writable(path)
    except OutputError as error:
        raise OutputError(f"--output {error}") from error
