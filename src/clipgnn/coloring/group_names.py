"""Short names of the groups of nodes with identical attributes, for drawings."""

from torch import Tensor

from clipgnn.graphs.packed import PackedGraphs


def group_names(graphs: PackedGraphs, groups: Tensor) -> list[str]:
    """Name the group of each node: by its first attribute of text, numbered if that is not enough.

    The names are empty if all nodes are identical.

    Args:
        graphs: the graphs.
        groups: number of the attributes of each node, across all graphs, `[nodes]`.

    Example:
        >>> import networkx, torch
        >>> ethanol = networkx.path_graph(3)
        >>> networkx.set_node_attributes(ethanol, {0: "C", 1: "C", 2: "O"}, "element")
        >>> graphs = PackedGraphs.from_networkx([ethanol])
        >>> group_names(graphs, torch.tensor([0, 1, 2]))
        ['C1', 'C2', 'O']
    """
    numbers = groups.tolist()
    if len(set(numbers)) == 1:
        return [""] * len(numbers)
    texts = [
        next((own for own in data.values() if isinstance(own, str)), "")
        for nodes in graphs.to_networkx()
        for _, data in nodes.nodes(data=True)
    ]
    if graphs.x.dim() == 1 and graphs.encoding is None:
        texts = [str(own) for own in graphs.x.tolist()]
    by_text: dict[str, list[int]] = {}
    for text, own in zip(texts, numbers, strict=True):
        if own not in by_text.setdefault(text, []):
            by_text[text].append(own)
    return [
        text if text and len(by_text[text]) == 1 else f"{text or 'A'}{by_text[text].index(own) + 1}"
        for text, own in zip(texts, numbers, strict=True)
    ]
