"""GIN, the graph isomorphism network."""

from clipgnn.baselines.isomorphism import IsomorphismNetwork
from clipgnn.graphs.batch import Batch
from clipgnn.nn.network import Network
from clipgnn.parameters import GINParameters, documented
from clipgnn.shapes import Colorings, GraphFeatures


@documented(GINParameters)
class GIN(Network):
    r"""The graph isomorphism network, GIN-0.

    From `"How powerful are graph neural networks?" <https://arxiv.org/abs/1810.00826>`_, Eqs. (4.1)
    and (4.2):

    .. math::
        h_v^{(t)} = \mathrm{MLP}^{(t)}\Big((1 + \epsilon) \, h_v^{(t-1)} +
        \sum_{u \in N(v)} h_u^{(t-1)}\Big), \qquad
        h_G = \sum_t W^{(t)} \sum_v h_v^{(t)}

    with 2-layer MLPs, batch normalization inside and after them, and a readout from the sums of
    every layer, the attributes included. Weights of edges are factors in the sums over neighbors.

    The authors' code counts the attributes as a layer: its five layers are `num_layers=4` here.
    An epoch there is 50 random batches, and a pass over the training graphs here.

    {parameters}

    Raises:
        InvalidParameterError: if a parameter has an invalid value.

    Shapes:
        - x: `[nodes, in_channels]`, or labels `[nodes]`
        - edge_index: `[2, edges]`
        - batch: `[nodes]`
        - output: `[graphs, out_channels]`
    """

    name = "gin"
    schema = GINParameters
    reads_edge_weights = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_members: int = GINParameters.num_members,
        hidden_channels: int = GINParameters.hidden_channels,
        num_layers: int = GINParameters.num_layers,
        dropout: float = GINParameters.dropout,
        learn_epsilon: bool = GINParameters.learn_epsilon,
    ) -> None:
        config = GINParameters(
            in_channels=in_channels,
            out_channels=out_channels,
            num_members=num_members,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            dropout=dropout,
            learn_epsilon=learn_epsilon,
        )
        super().__init__(config)
        self.network = IsomorphismNetwork(
            config.num_members,
            config.in_channels,
            config.hidden_channels,
            config.out_channels,
            num_layers=config.num_layers,
            num_identities=0,
            dropout=config.dropout,
            learn_epsilon=config.learn_epsilon,
            norm="batch",
            num_maps=2,
            initialization="uniform",
        )

    def forward_batch(self, batch: Batch, colorings: Colorings | None) -> GraphFeatures:
        """Compute the output for each graph of each member; see `Network`."""
        return self.network(batch, None, fused=self.has_kernels(batch))[:, :, 0]

    def has_kernels(self, batch: Batch) -> bool:
        """Whether `forward_batch` uses fused GPU kernels for the batch."""
        return self.network.has_kernels(batch)
