"""Estimators of scikit-learn: from lists of graphs to predictions."""

from clipgnn.estimators.classifier import CLIPClassifier
from clipgnn.estimators.embedding import CLIPEmbedding
from clipgnn.estimators.loading import load_estimator
from clipgnn.estimators.regressor import CLIPRegressor

__all__ = ["CLIPClassifier", "CLIPEmbedding", "CLIPRegressor", "load_estimator"]
