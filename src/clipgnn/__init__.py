"""CLIP: graph neural networks that tell graphs apart by coloring their nodes.

The public names are listed in `__init__.pyi`, which type checkers read too. Each is imported when
it is first used: reports need no torch, and the command line starts quickly.
"""

import ast
import pkgutil
from importlib import import_module

__version__ = "0.1.0"


def _public_names() -> dict[str, str]:
    """Return the module of each public name, as imported in `__init__.pyi`."""
    stub = ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"")
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    return {alias.name: str(line.module) for line in imports for alias in line.names}


_MODULES = _public_names()
__all__ = ["__version__", *_MODULES]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'clipgnn' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
