"""CLIP and its layers: Eqs. (5) and (9)."""

from clipgnn.nn.clip import CLIP
from clipgnn.nn.files import load, save
from clipgnn.nn.network import Network

__all__ = ["CLIP", "Network", "load", "save"]
