"""Names of axes in all signatures, and types of tensors.

| axis | meaning |
| --- | --- |
| members | networks that are computed together (folds, seeds, an ensemble); one by default |
| graphs, nodes, edges | those of a batch, concatenated |
| colorings | the k colorings of Eq. (4) |
| colors | the colors of a network |
| channels | features |
| classes | classes of the targets |

Shapes are checked at run time under pytest only. Public functions check their arguments themselves
and raise errors of clipgnn.
"""

from jaxtyping import Float, Int
from torch import Tensor

Colorings = Int[Tensor, "colorings nodes"]
MemberRows = Float[Tensor, "members rows channels"]
NodeFeatures = Float[Tensor, "members nodes colorings channels"]
GraphFeatures = Float[Tensor, "members graphs channels"]
