"""Experiments: a spec describes trials, an executor runs them, a store keeps their results."""

from clipgnn.experiments.data import fingerprints
from clipgnn.experiments.evaluation import MeasuredCell, evaluate
from clipgnn.experiments.protocol import Measurement, fair, gin
from clipgnn.experiments.reading import find_spec, read_spec
from clipgnn.experiments.run import Progress, run_experiment
from clipgnn.experiments.spec import Overrides, Spec
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial, TrialResult, run_trials

__all__ = [
    "MeasuredCell",
    "Measurement",
    "Overrides",
    "Progress",
    "Spec",
    "Store",
    "Trial",
    "TrialResult",
    "evaluate",
    "fair",
    "find_spec",
    "fingerprints",
    "gin",
    "read_spec",
    "run_experiment",
    "run_trials",
]
