"""Files of graphs: SMILES, JSON lines, graph6, GraphML and GML."""

from importlib import import_module
from pathlib import Path

from clipgnn.datasets.graph_files.entries import GraphFile
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, InvalidParameterError, suggestion
from clipgnn.parameters.datasets import FILE_FORMATS


def read_graph_file(
    path: Path,
    *,
    format: str | None = None,
    labels: Path | None = None,
    smiles_column: str | None = None,
) -> GraphFile:
    """Read a file or a folder of graphs. Graphs that are not valid are entries with a problem.

    Args:
        path: the file or folder.
        format: one of `FILE_FORMATS`; by default recognized by the ending.
        labels: CSV file with values of the graphs: with a column "file" for files of a folder,
            otherwise a row for each graph, in their order.
        smiles_column: column of SMILES, by default "smiles".

    Raises:
        DatasetNotFoundError: if there is no such file.
        DatasetFileError: if the file as a whole, or that of labels, is not valid, or has no graphs.
        InvalidParameterError: if the format is not known or not recognized.
        MissingDependencyError: if the format needs a package that is not installed.
    """
    if not path.exists():
        raise DatasetNotFoundError(f"There must be a file or folder {str(path)!r}. It is missing.")
    name = recognized_format(path) if format is None else format
    if name not in FILE_FORMATS:
        raise InvalidParameterError(
            f"format must be one of {', '.join(FILE_FORMATS)}. Got {name!r}."
            f"{suggestion(name, FILE_FORMATS)}",
            parameter="format",
        )
    module = import_module(FILE_FORMATS[name])
    options = {"smiles_column": smiles_column} if name == "smiles" else {}
    found = GraphFile(path.name, name, list(module.entries(path, **options)))
    if not found.entries:
        raise DatasetFileError(f"{path.name} must have at least one graph. Got none.")
    return found if labels is None else found.with_labels(labels)


def file_in(path: Path, root: str | Path | None) -> Path:
    """Return a path, or the same path in another folder, if it only exists there.

    Args:
        path: path of a file, relative to the current folder if it is not absolute.
        root: the other folder, or None.
    """
    if root is None or path.exists() or not (other := Path(root).expanduser() / path).exists():
        return path
    return other


def recognized_format(path: Path) -> str:
    """Recognize the format of a file by its ending, and that of a folder by its files.

    Raises:
        InvalidParameterError: if it is not recognized.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    endings = {file.suffix.lower() for file in files}
    for name, dotted in FILE_FORMATS.items():
        module = import_module(dotted)
        if endings & set(module.ENDINGS) and (module.READS_FOLDERS or not path.is_dir()):
            return name
    raise InvalidParameterError(
        f"format must be given for {str(path)!r}, whose ending is not that of a known format: one "
        f"of {', '.join(FILE_FORMATS)}.",
        parameter="format",
    )
