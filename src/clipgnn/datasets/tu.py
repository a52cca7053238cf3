"""Data sets of the TU collection, and other data sets in its layout, as graph sets."""

import os
import re
from http.client import HTTPException
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from clipgnn.datasets.tu_download import download_tu
from clipgnn.datasets.tu_files import TUFiles
from clipgnn.errors import DatasetNotFoundError, InvalidParameterError, shown
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.ops.pointers import pointers_from_counts


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of data sets: `root`, else CLIPGNN_DATA, else the user's cache."""
    if root is None:
        root = os.environ.get("CLIPGNN_DATA") or None
    if root is None:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "clipgnn"
    return Path(root).expanduser()


def check_name(name: object) -> None:
    """Check that a name can be the name of a data set and of its folder.

    Raises:
        InvalidParameterError: if it is not a string, or has characters that a name must not have.
    """
    if not isinstance(name, str):
        raise InvalidParameterError(
            f"The name of a data set must be a string such as 'MUTAG'. Got {shown(name)}."
        )
    if not re.fullmatch(r"\w[\w .+-]*", name):
        raise InvalidParameterError(
            "The name of a data set must consist of letters, digits and any of '_-+.', such as "
            f"'IMDB-BINARY'. Got {shown(name)}. Use root to name the folder."
        )


def find_tu(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder with the files of a data set, or None if there is none.

    The folder is `root/NAME/raw`, as in PyG, or `root/NAME`.

    Raises:
        InvalidParameterError: if the name is not a valid name of a data set.
    """
    check_name(name)
    parent = data_root(root) / name
    for folder in (parent / "raw", parent):
        if any(folder.glob(f"{name}_*.txt")):
            return folder
    return None


def load_tu(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    edge_labels: bool = False,
    node_attributes: bool = False,
    download: bool = True,
) -> PackedGraphs:
    """Load a data set of the TU collection with the node attributes used in the paper.

    These are the node labels if there are any (MUTAG, PTC_MR, PROTEINS) and the degrees otherwise
    (IMDB-BINARY, IMDB-MULTI), both as integers that represent one-hot rows. Labels and classes are
    numbered from 0 in ascending order. As in PyG, self-loops and duplicate edges are removed.

    Existing files are read without changing the folder. Missing files are downloaded from the
    collection into `root/NAME/raw`: over https, at most 1 GiB (2 GiB extracted), and compared with
    known checksums (MUTAG, PTC_MR, PROTEINS).

    Args:
        name: name of the data set in the collection, or of a folder in the same layout.
        root: folder of data sets, with the files in `root/NAME/raw` or `root/NAME`; by default the
            environment variable CLIPGNN_DATA, or `~/.cache/clipgnn`.
        edge_labels: whether to return edge labels, one-hot in `edge_attr`.
        node_attributes: whether to put continuous node attributes before the one-hot labels.
        download: whether missing files may be downloaded.

    Raises:
        DatasetNotFoundError: if the files are missing and cannot be downloaded.
        DatasetFileError: if files or the downloaded archive are damaged, unsafe or too large, or
            files contradict each other.
        InvalidParameterError: if the name is not valid, or the data set has no edge labels or node
            attributes to return.
    """
    folder = find_tu(name, root)
    if folder is None:
        if not download:
            raise _not_found(name, data_root(root))
        try:
            # None: another process has created the folder in the meantime.
            folder = download_tu(name, data_root(root)) or find_tu(name, root)
        except (OSError, HTTPException) as error:
            reason = f", and could not be downloaded ({type(error).__name__}: {error})"
            raise _not_found(name, data_root(root), reason) from error
        if folder is None:
            raise _not_found(name, data_root(root), ", and its folder exists without its files")
    files = TUFiles.read(folder, name, node_attributes=node_attributes, edge_labels=edge_labels)
    # Edges sorted by source, and thus by graph. A duplicate edge becomes one edge with both labels.
    num_graphs, num_nodes = len(files.targets), len(files.graph_of_node)
    source, target = files.edges
    proper = source != target
    key = source[proper] * num_nodes + target[proper]
    key, place = torch.unique(key, return_inverse=True)
    source, target = key // num_nodes, key % num_nodes
    edge_attr = None
    if edge_labels:
        if files.edge_labels is None:
            raise InvalidParameterError(
                "edge_labels must be False for data sets without edge labels. "
                f"Got True for {name!r}."
            )
        rows = _one_hot(files.edge_labels)[proper]
        edge_attr = rows.new_zeros(key.numel(), rows.shape[1])
        edge_attr.index_put_((place,), rows, accumulate=True).clamp_(max=1)
    node_pointers = pointers_from_counts(files.graph_of_node.bincount(minlength=num_graphs))
    graph_of_edge = files.graph_of_node[source]
    x, in_channels = _attributes(files, source.bincount(minlength=num_nodes), node_attributes, name)
    return PackedGraphs(
        name=name,
        x=x,
        in_channels=in_channels,
        edge_index=torch.stack([source, target]) - node_pointers[graph_of_edge],
        node_pointers=node_pointers,
        edge_pointers=pointers_from_counts(graph_of_edge.bincount(minlength=num_graphs)),
        y=_targets(files),
        edge_attr=edge_attr,
    )


def _attributes(files: TUFiles, degrees: Tensor, continuous: bool, name: str) -> tuple[Tensor, int]:
    """Return labels, degrees or channels of the nodes, and the number of input channels."""
    if continuous:
        if files.node_attributes is None:
            raise InvalidParameterError(
                "node_attributes must be False for data sets without node attributes. "
                f"Got True for {name!r}."
            )
        parts = [files.node_attributes]
        if files.node_labels is not None:
            parts.append(_one_hot(files.node_labels))
        x = torch.cat(parts, dim=1)
        return x, x.shape[1]
    if files.node_labels is None:
        return degrees, int(degrees.max()) + 1
    if files.node_labels.shape[1] > 1:
        x = _one_hot(files.node_labels)
        return x, x.shape[1]
    labels, x = torch.unique(files.node_labels[:, 0], return_inverse=True)
    return x, labels.numel()


def _targets(files: TUFiles) -> Tensor:
    if files.targets.dim() == 1:
        return torch.unique(files.targets, return_inverse=True)[1]
    return files.targets[:, 0] if files.targets.shape[1] == 1 else files.targets


def _one_hot(labels: Tensor) -> Tensor:
    """Return the one-hot codes of all columns of labels, concatenated."""
    columns = [torch.unique(column, return_inverse=True)[1] for column in labels.unbind(1)]
    rows = [functional.one_hot(column) for column in columns]
    return torch.cat(rows, dim=1).to(torch.get_default_dtype())


def _not_found(name: str, root: Path, reason: str = "") -> DatasetNotFoundError:
    return DatasetNotFoundError(
        f"The data set {name!r} is not in {root}{reason}. Copy its files ({name}_A.txt and others) "
        f"to {root / name / 'raw'}, or set root or the environment variable CLIPGNN_DATA to the "
        f"folder that contains {name}."
    )
