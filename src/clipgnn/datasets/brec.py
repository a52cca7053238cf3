"""BREC: 400 pairs of graphs that are hard to distinguish (Wang and Zhang, 2023)."""

from hashlib import sha256
from pathlib import Path

import networkx as nx
import numpy as np

from clipgnn.datasets.tu import data_root
from clipgnn.errors import DatasetFileError, DatasetNotFoundError, InvalidParameterError, suggestion
from clipgnn.graphs.packed import PackedGraphs

SOURCE = "https://github.com/GraphPKU/BREC (MIT license)"

FAMILIES = {
    "basic": "adef7f761b803026b515d94172399f5db72fe73859b0e489a1edfaa5874aeec2",
    "regular": "e9e85ff2003f50676e2a2ac7ef70b8ad919598c3042aaf8f5f6f43184bfdc663",
    "str": "6de58d99b80b7ace4529d17cf8fe3d000b496b3c2a7ab7f59fe3f28f61746d6f",
    "extension": "9b76b59842f997a502a83724daba033d793c5fbc9c2aa758834beb78d2309d4a",
    "cfi": "e8d56d7c0a22768da8dfdcaae800bc8dc815fb10b1bf1b52dc7893ed68c4e92f",
    "4vtx": "a9e593c485f3fa08d3db967d7c545a4f5cf7f417f016c9a77a5c1cc646786cea",
    "dr": "11b861e1439ddee4c58fa04b523e874c25fdbb4ba867f3ac9104711cb3739d89",
}
"""Families of pairs, with the SHA-256 of their files: basic, regular and strongly regular graphs,
extensions, graphs by Cai, Fürer and Immerman, those with the 4-vertex condition, and
distance-regular ones."""


def load_brec(family: str, root: str | Path | None = None) -> PackedGraphs:
    """Load the pairs of a family; graphs 2i and 2i + 1 are pair i.

    Args:
        family: one of `FAMILIES`.
        root: folder of the files, such as basic.npy; by default the folder BREC in that of the TU
            data sets, which the environment variable CLIPGNN_DATA names, or beside it.

    Raises:
        InvalidParameterError: if there is no such family.
        DatasetNotFoundError: if its file does not exist.
        DatasetFileError: if the file has another content.
    """
    if family not in FAMILIES:
        raise InvalidParameterError(
            f"family must be one of {', '.join(FAMILIES)}. Got {family!r}."
            f"{suggestion(family, FAMILIES)}"
        )
    path = _folder(root) / f"{family}.npy"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetNotFoundError(
            f"The pairs of BREC must be in {path}, which cannot be read ({error.strerror}). Its "
            f"source is {SOURCE}, its SHA-256 {FAMILIES[family]}. Download it and set root."
        ) from error
    found = sha256(content).hexdigest()
    if found != FAMILIES[family]:
        raise DatasetFileError(
            f"{path} must have the SHA-256 {FAMILIES[family]}. Got {found}. Download it again from "
            f"{SOURCE}."
        )
    texts = np.load(path, allow_pickle=False).reshape(-1)
    graphs = [
        nx.from_graph6_bytes(text if isinstance(text, bytes) else text.encode()) for text in texts
    ]
    return PackedGraphs.from_networkx(graphs, name=f"brec-{family}")


def _folder(root: str | Path | None) -> Path:
    if root is not None:
        return Path(root).expanduser()
    inside, beside = data_root() / "BREC", data_root().parent / "BREC"
    return beside if beside.is_dir() and not inside.is_dir() else inside
