"""RP-GIN: relational pooling over GIN."""

from clipgnn.baselines.isomorphism import IsomorphismNetwork
from clipgnn.coloring.random import Permutations
from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.batch import Batch
from clipgnn.nn.network import Network
from clipgnn.parameters import RPGINParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures


@documented(RPGINParameters)
class RPGIN(Network):
    r"""Relational pooling over GIN.

    From `"Relational pooling for graph representations" <https://arxiv.org/abs/1903.02541>`_,
    Eqs. (2) and (3):

    .. math::
        f(G) = \frac{1}{k} \sum_{j=1}^{k} \mathrm{GIN}\big(A, [X, \,
        \mathrm{onehot}(\pi_j(i) \bmod m)]\big)

    the mean over permutations π of GIN on a graph whose node i also has the one-hot identity π(i)
    modulo m. The mean over all permutations is invariant. It is approximated by one random
    permutation in every training step (π-SGD in the paper) and by k permutations in evaluation.
    Weights of edges are factors in the sums over neighbors.

    Outputs before the softmax are averaged, also in evaluation, as in the authors' code.

    The defaults are the GIN of this package. The authors' code, with which they measured circular
    skip links, is `learn_epsilon=True, norm=None, num_maps=3, initialization="glorot",
    num_layers=5`, trained in steps over all training graphs at a constant learning rate of 0.01,
    with five folds and the score of the last epoch (protocol "last"):
    `experiments/rp-gin-authors.toml`. There, nodes have identities only; here they also have their
    attributes, a constant for circular skip links.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - colorings: `[permutations, nodes]`, positions of the nodes of each graph, from 0
        - output: `[graphs, out_channels]`
    """

    name = "rp-gin"
    schema = RPGINParameters
    reads_edge_weights = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = RPGINParameters.num_members,
        hidden_channels: int = RPGINParameters.hidden_channels,
        num_layers: int = RPGINParameters.num_layers,
        num_identities: int = RPGINParameters.num_identities,
        num_permutations: int = RPGINParameters.num_permutations,
        dropout: float = RPGINParameters.dropout,
        learn_epsilon: bool = RPGINParameters.learn_epsilon,
        norm: str | None = RPGINParameters.norm,
        num_maps: int = RPGINParameters.num_maps,
        initialization: str = RPGINParameters.initialization,
    ) -> None:
        config = RPGINParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_identities=num_identities,
            num_permutations=num_permutations,
            dropout=dropout,
            learn_epsilon=learn_epsilon,
            norm=norm,
            num_maps=num_maps,
            initialization=initialization,
        )
        super().__init__(config, Permutations())
        self.config: RPGINParameters = config
        self.network = IsomorphismNetwork(
            config.num_members,
            config.in_channels,
            config.hidden_channels,
            config.out_channels,
            num_layers=config.num_layers,
            num_identities=config.num_identities,
            dropout=config.dropout,
            learn_epsilon=config.learn_epsilon,
            norm=config.norm,
            num_maps=config.num_maps,
            initialization=config.initialization,
        )

    def num_colorings_for(self, *, training: bool) -> int:
        """One permutation in training, k in evaluation."""
        return 1 if training else self.config.num_permutations

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`.

        Raises:
            InvalidParameterError: if there are no permutations.
        """
        if colorings is None:
            raise InvalidParameterError(
                "RP-GIN needs a permutation of every graph. Got none. Pass colorings."
            )
        identities = colorings % self.config.num_identities
        return self.network(batch, identities, fused=self.has_kernels(batch)).mean(2)

    def has_kernels(self, batch: Batch) -> bool:
        """Whether `forward_batch` uses fused GPU kernels for the batch."""
        return self.network.has_kernels(batch)
