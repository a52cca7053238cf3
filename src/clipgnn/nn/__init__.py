"""Eqs. (5) and (9): the network, and its file."""

from clipgnn.nn.clip import CLIP
from clipgnn.nn.files import load, save

__all__ = ["CLIP", "load", "save"]
