"""What is predicted, and how the targets of files are recognized, without torch."""

from enum import StrEnum

USUAL_NAMES = ("target", "label", "class", "y")
"""Names of columns that are targets if none is chosen."""

MOST_CLASSES = 20
"""Largest number of different whole numbers that are classes if no task is chosen."""


class Task(StrEnum):
    """What is predicted."""

    auto = "auto"
    classification = "classification"
    regression = "regression"
