"""Experiments: trials described by a TOML file, run by an executor, recorded in a store."""

from clipgnn.experiments.artifacts import load_model, load_predictions
from clipgnn.experiments.data import fingerprints
from clipgnn.experiments.evaluation import MeasuredCell, evaluate
from clipgnn.experiments.experiment import Experiment
from clipgnn.experiments.options import RunOptions
from clipgnn.experiments.overrides import Overrides
from clipgnn.experiments.plans import stored_experiment
from clipgnn.experiments.preparing import prepare_experiment
from clipgnn.experiments.protocol import Measurement, fair, gin, last
from clipgnn.experiments.reading import find_experiment, read_experiment
from clipgnn.experiments.repair import repair
from clipgnn.experiments.run import RunProgress, run_experiment
from clipgnn.experiments.store import Store
from clipgnn.experiments.trial import Trial, TrialResult
from clipgnn.experiments.work import run_trials

__all__ = [
    "Experiment",
    "MeasuredCell",
    "Measurement",
    "Overrides",
    "RunOptions",
    "RunProgress",
    "Store",
    "Trial",
    "TrialResult",
    "evaluate",
    "fair",
    "find_experiment",
    "fingerprints",
    "gin",
    "last",
    "load_model",
    "load_predictions",
    "prepare_experiment",
    "read_experiment",
    "repair",
    "run_experiment",
    "run_trials",
    "stored_experiment",
]
