"""The axis words used in every signature, and the tensor types made of them.

| axis | meaning |
| --- | --- |
| members | networks trained or evaluated side by side (folds, seeds, an ensemble); one by default |
| graphs, nodes, edges | the batch: all graphs laid end to end |
| colorings | the k colorings of Eq. (4) that a network sees at once |
| colors | distinct colors a network knows |
| channels | features |

Types are checked at run time under pytest only. Public functions take plain tensors: what a
caller got wrong there is answered by clipgnn's own errors.
"""

from jaxtyping import Float, Int
from torch import Tensor

Colorings = Int[Tensor, "colorings nodes"]
MemberRows = Float[Tensor, "members rows channels"]
NodeFeatures = Float[Tensor, "members nodes colorings channels"]
GraphFeatures = Float[Tensor, "members graphs channels"]
