"""Tables that the tests of this folder share."""

from tests.experiments.fake_training import small_experiment

from clipgnn.experiments.evaluation import MeasuredCell
from clipgnn.experiments.protocol import Choice, Measurement
from clipgnn.report import make_table

SPEC = small_experiment()


CHOICE = (Choice({"num_layers": 2, "batch_size": 32}, epoch=3),)


def measured(*values, finished=None, expected=None, choices=CHOICE):
    count = len(values)
    return Measurement(
        protocol="gin",
        values=dict(enumerate(values)),
        choices=choices if values else (),
        finished=count if finished is None else finished,
        expected=count if expected is None else expected,
    )


def table(cells, spec=SPEC, metric="accuracy"):
    measurements = [
        MeasuredCell(row, dataset, own, metric) for (row, dataset), own in cells.items()
    ]
    provenance = ["Commands: `clipgnn experiment run small`", "Machine: 50 % of one_core"]
    return make_table(spec, measurements, "gin", provenance)


WHOLE = table(
    {
        ("0-CLIP", "connectivity"): measured(0.50, 0.52, 0.54),
        ("16-CLIP", "connectivity"): measured(0.98, 1.0, 0.99),
        ("0-CLIP", "csl"): measured(0.8, 0.6, 1.0),
        ("16-CLIP", "csl"): measured(0.9, 0.7, 1.0),
    }
)


PARTLY = table(
    {
        ("0-CLIP", "connectivity"): measured(0.5, 0.6, finished=2, expected=6),
        ("16-CLIP", "connectivity"): measured(0.4, 0.4, 0.4),
        ("16-CLIP", "csl"): measured(finished=0, expected=6),
    }
)
