"""The paper's other systems, measured here and not quoted: one file each."""

from clipgnn.baselines.awl import AWL
from clipgnn.baselines.dcnn import DCNN
from clipgnn.baselines.dgcnn import DGCNN
from clipgnn.baselines.gin import GIN
from clipgnn.baselines.patchy_san import PatchySAN
from clipgnn.baselines.ring_gnn import RingGNN
from clipgnn.baselines.rp_gin import RPGIN
from clipgnn.baselines.wl import WL

__all__ = ["AWL", "DCNN", "DGCNN", "GIN", "RPGIN", "WL", "PatchySAN", "RingGNN"]
