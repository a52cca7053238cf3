"""Loading of an estimator whose class is not known."""

import os
from typing import cast

from clipgnn.estimators.classifier import CLIPClassifier
from clipgnn.estimators.files import restored
from clipgnn.estimators.regressor import CLIPRegressor
from clipgnn.nn.descriptions import load_kind


def load_estimator(path: str | os.PathLike[str]) -> CLIPClassifier | CLIPRegressor:
    """Load a classifier or a regressor that was written by `save`, on the CPU.

    Raises:
        ModelNotFoundError: if the file does not exist.
        ModelFileError: if the file is damaged, or is not that of such an estimator.
    """
    network, description = load_kind(path, CLIPClassifier.__name__, CLIPRegressor.__name__)
    is_classifier = description["kind"] == CLIPClassifier.__name__
    kind = CLIPClassifier if is_classifier else CLIPRegressor
    return cast(CLIPClassifier | CLIPRegressor, restored(kind, network, description, path))
