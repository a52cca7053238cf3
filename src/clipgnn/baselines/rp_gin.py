"""RP-GIN: relational pooling over GIN."""

from clipgnn.baselines.checks import check_dropout, check_integers
from clipgnn.baselines.gin import IsomorphismNetwork
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.graphs.padded import PaddedBatch
from clipgnn.nn.members import Members
from clipgnn.shapes import Colorings, GraphFeatures


class RPGIN(Members):
    r"""Relational pooling over GIN.

    From `"Relational pooling for graph representations" <https://arxiv.org/abs/1903.02541>`_,
    Eqs. (2) and (3): the mean over permutations π of GIN on a graph whose node i also has the
    one-hot identity π(i) modulo m. The mean over all permutations is invariant; it is approximated
    by one random permutation in every step of training (its π-SGD) and by k in evaluation.

    Differs from its paper: the mean is one of scores before the softmax, in evaluation too.

    Args:
        graphs: the data set.
        out_channels: channels of the output, such as classes.
        num_members: networks side by side.
        hidden_channels: units of every layer.
        num_layers: rounds of message passing.
        num_identities: m, the width of the one-hot identities.
        num_permutations: k, permutations averaged in evaluation.
        dropout: dropout of each layer's contribution to the output.

    Raises:
        InvalidParameterError: if a parameter has a value it cannot have.
    """

    def __init__(
        self,
        graphs: PackedGraphs,
        out_channels: int,
        *,
        num_members: int = 1,
        hidden_channels: int = 16,
        num_layers: int = 4,
        num_identities: int = 10,
        num_permutations: int = 16,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_integers(
            "RP-GIN",
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_identities=num_identities,
            num_permutations=num_permutations,
        )
        check_dropout("RP-GIN", dropout)
        self.num_identities = num_identities
        self.num_permutations = num_permutations
        self.network = IsomorphismNetwork(
            num_members,
            graphs.in_channels,
            hidden_channels,
            out_channels,
            num_layers=num_layers,
            num_identities=num_identities,
            dropout=dropout,
            learn_epsilon=False,
        )

    def colorings_wanted(self, *, training: bool) -> int:
        """One permutation in training, k in evaluation."""
        return 1 if training else self.num_permutations

    def classify(self, graphs: PaddedBatch, colorings: Colorings | None) -> GraphFeatures:
        """The output for each graph of each member's own batch.

        Args:
            graphs: a batch for each member.
            colorings: `[permutations, nodes]`, the places of a graph's nodes from 0 on, permuted.

        Raises:
            InvalidParameterError: without permutations.
        """
        if colorings is None:
            raise InvalidParameterError("RP-GIN needs a permutation of every graph. Got none.")
        return self.network(graphs, colorings % self.num_identities).mean(2)
