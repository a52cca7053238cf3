"""Data sets of the TU collection, and users' own in its layout, as packed graphs."""

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
from clipgnn.graphs.sparse import running_sum


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The folder of data sets: `root`, or the environment's CLIPGNN_DATA, or the user's cache."""
    if root is None:
        root = os.environ.get("CLIPGNN_DATA") or None
    if root is None:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "clipgnn"
    return Path(root).expanduser()


def find_tu(name: str, root: str | os.PathLike[str] | None = None) -> Path | None:
    """The folder with the files of a data set, or None where there is no such folder.

    Looks into `root/NAME/raw`, where PyG keeps them, and into `root/NAME`.

    Raises:
        InvalidParameterError: if the name cannot be a data set's.
    """
    if not re.fullmatch(r"\w[\w .+-]*", name):
        raise InvalidParameterError(
            "The name of a data set must be letters, digits and any of '_-+.', such as "
            f"'IMDB-BINARY'; its folder is named with root. Got {shown(name)}."
        )
    own = data_root(root) / name
    for folder in (own / "raw", own):
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
    """A data set of the TU collection with the attributes the paper gives it.

    Node labels are the attributes where there are any (MUTAG, PTC_MR, PROTEINS), degrees where
    there are none (IMDB-BINARY, IMDB-MULTI), both as integers that stand for one-hot rows. Labels
    and classes are numbered from 0 in their order. As PyG does, loops are left out and edges that
    are there twice are taken once.

    Existing files are read in place, and nothing is written beside them. Others are downloaded
    from the collection into `root/NAME/raw`: over https, at most 1 GiB (2 GiB extracted), and
    compared with known checksums (MUTAG, PTC_MR, PROTEINS).

    Args:
        name: the data set's name in the collection, or that of a folder in the same layout.
        root: folder of data sets, with the files in `root/NAME/raw` or `root/NAME`. Without it,
            the environment variable CLIPGNN_DATA names it, or it is `~/.cache/clipgnn`.
        edge_labels: return edge labels too, one-hot in `edge_attr`.
        node_attributes: put the continuous attributes of nodes before the one-hot labels.
        download: whether missing files may be downloaded.

    Raises:
        DatasetNotFoundError: if there are no files, and they could not be downloaded.
        DatasetFileError: if files or the downloaded archive are damaged, unsafe or too large, or
            files contradict each other.
        InvalidParameterError: if the data set has no edge labels or attributes to return.
    """
    folder = find_tu(name, root)
    if folder is None:
        if not download:
            raise _not_found(name, data_root(root))
        try:
            # None: another process has put the folder there in the meantime.
            folder = download_tu(name, data_root(root)) or find_tu(name, root)
        except (OSError, HTTPException) as error:
            reason = f", and could not be downloaded ({type(error).__name__}: {error})"
            raise _not_found(name, data_root(root), reason) from error
        if folder is None:
            raise _not_found(name, data_root(root), ": its folder is there without its files")
    files = TUFiles.read(folder, name, node_attributes=node_attributes, edge_labels=edge_labels)
    # By source, thus graph by graph; an edge that is there twice is one edge with both labels.
    num_graphs, num_nodes = len(files.targets), len(files.graph_of_node)
    source, target = files.edges
    proper = source != target
    key = source[proper] * num_nodes + target[proper]
    key, place = torch.unique(key, return_inverse=True)
    source, target = key // num_nodes, key % num_nodes
    edge_attr = None
    if edge_labels:
        if files.edge_labels is None:
            raise InvalidParameterError(f"The data set {name!r} has no edge labels to return.")
        rows = _one_hot(files.edge_labels)[proper]
        edge_attr = rows.new_zeros(key.numel(), rows.shape[1])
        edge_attr.index_put_((place,), rows, accumulate=True).clamp_(max=1)
    node_pointers = running_sum(files.graph_of_node.bincount(minlength=num_graphs))
    graph_of_edge = files.graph_of_node[source]
    x, in_channels = _attributes(files, source.bincount(minlength=num_nodes), node_attributes, name)
    return PackedGraphs(
        name=name,
        x=x,
        in_channels=in_channels,
        edge_index=torch.stack([source, target]) - node_pointers[graph_of_edge],
        node_pointers=node_pointers,
        edge_pointers=running_sum(graph_of_edge.bincount(minlength=num_graphs)),
        y=_targets(files),
        edge_attr=edge_attr,
    )


def _attributes(files: TUFiles, degrees: Tensor, continuous: bool, name: str) -> tuple[Tensor, int]:
    """Labels, degrees or channels of the nodes, and how many of them there can be."""
    if continuous:
        if files.node_attributes is None:
            raise InvalidParameterError(f"The data set {name!r} has no node attributes to return.")
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
    """One-hot rows of each column of labels, side by side."""
    columns = [torch.unique(column, return_inverse=True)[1] for column in labels.unbind(1)]
    rows = [functional.one_hot(column) for column in columns]
    return torch.cat(rows, dim=1).to(torch.get_default_dtype())


def _not_found(name: str, root: Path, reason: str = "") -> DatasetNotFoundError:
    return DatasetNotFoundError(
        f"The data set {name!r} is not in {root}{reason}. Put its files, {name}_A.txt and the "
        f"others, into {root / name / 'raw'}, or name the folder that holds {name} with root or "
        "the environment variable CLIPGNN_DATA."
    )
