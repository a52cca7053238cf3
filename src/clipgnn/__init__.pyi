# The public API: one line for each name that users type. `__init__.py` reads this file.
from clipgnn.baselines.awl import AWL as AWL
from clipgnn.baselines.dcnn import DCNN as DCNN
from clipgnn.baselines.dgcnn import DGCNN as DGCNN
from clipgnn.baselines.gin import GIN as GIN
from clipgnn.baselines.patchy_san import PatchySAN as PatchySAN
from clipgnn.baselines.ring_gnn import RingGNN as RingGNN
from clipgnn.baselines.rp_gin import RPGIN as RPGIN
from clipgnn.baselines.wl import WL as WL
from clipgnn.coloring import Scheme as Scheme
from clipgnn.coloring.precomputed import All as All
from clipgnn.coloring.precomputed import Precomputed as Precomputed
from clipgnn.coloring.random import Random as Random
from clipgnn.coloring.transform import AddColorings as AddColorings
from clipgnn.datasets import hold_out as hold_out
from clipgnn.datasets import load_dataset as load_dataset
from clipgnn.datasets import load_tu as load_tu
from clipgnn.datasets import stratified_folds as stratified_folds
from clipgnn.estimators import CLIPClassifier as CLIPClassifier
from clipgnn.estimators import CLIPEmbedding as CLIPEmbedding
from clipgnn.estimators import CLIPRegressor as CLIPRegressor
from clipgnn.graphs import PackedGraphs as PackedGraphs
from clipgnn.nn import CLIP as CLIP
from clipgnn.nn import load as load
from clipgnn.nn import save as save
from clipgnn.nn.explain import Explainer as Explainer
from clipgnn.nn.occlusion import Occlusion as Occlusion
from clipgnn.parameters import Recipe as Recipe
from clipgnn.training import ModelSpec as ModelSpec
from clipgnn.training import Split as Split
from clipgnn.training import TrainedModel as TrainedModel
from clipgnn.training import TrainedModels as TrainedModels
from clipgnn.training import fit_kernel as fit_kernel
from clipgnn.training import train as train

__all__: list[str]
__version__: str
