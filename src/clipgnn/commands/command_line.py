"""The command line of this process, as results record it."""

import shlex
import sys
from pathlib import Path


def command_line() -> str:
    """Return the command line of this process; absolute paths are reduced to file names."""
    words = [word if not Path(word).is_absolute() else Path(word).name for word in sys.argv[1:]]
    return shlex.join(["clipgnn", *words])
