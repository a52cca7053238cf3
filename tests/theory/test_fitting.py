"""Theorem 3 as fitting: ∞-CLIP fits random targets, 0-CLIP is bound by the classes of 1-WL."""

import dataclasses
import json
from functools import cache
from pathlib import Path

import networkx as nx
import pytest
import torch
from results import universality
from results.universality import LABEL, Fit, Graph, fit, graphs_up_to, packed, recipe_for

SEED = 1


def ambiguous_pair() -> list[Graph]:
    """A hexagon and two triangles whose nodes each have a neighbor of both other labels.

    1-WL cannot distinguish them. They have 2! * 2! * 2! colorings, and 6! without labels.
    """
    hexagon = nx.cycle_graph(6)
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    for graph in (hexagon, triangles):
        nx.set_node_attributes(graph, {node: node % 3 for node in graph}, LABEL)
    return [hexagon, triangles]


@cache
def graphs() -> list[Graph]:
    return [*graphs_up_to(4), *ambiguous_pair()]


def fitted(epochs: int, **parameters: object) -> Fit:
    """Without normalization, which the paper does not have either."""
    recipe = recipe_for(len(graphs()), epochs, learning_rate=3e-3, halve_every=80)
    common = {"hidden_channels": 64, "norm": None}
    return fit("CLIP", graphs(), common | parameters, recipe, SEED, every=80)


def test_infinity_clip_with_one_iteration_fits_random_targets() -> None:
    result = fitted(240, coloring="all", num_layers=1)
    assert result.lower_bound > 0.01  # of message passing
    assert result.error < 1e-3
    assert result.relabeled_error == pytest.approx(result.error, abs=1e-5)
    assert result.curve["epoch"] == [80, 160, 240]
    assert result.curve["evaluation"][-1] == pytest.approx(result.error, abs=1e-5)


def test_0_clip_cannot_fit_better_than_the_classes_of_1_wl() -> None:
    result = fitted(100, num_colorings=0, num_layers=3)
    assert result.spread < 1e-5
    assert 0.01 < result.lower_bound <= result.error * (1 + 1e-4)
    assert result.error < 0.9  # it has learned something: the variance of the targets is about 1


def test_classes_of_1_wl() -> None:
    data = packed(graphs(), torch.zeros(len(graphs())))
    classes = universality.wl_classes(data)
    assert len(graphs()) == 18 + 2
    assert [own for own in classes if len(own) > 1] == [[18, 19]]
    six = graphs_up_to(6)
    assert len(six) == 208
    assert len(universality.wl_classes(packed(six, torch.zeros(208)))) == 204


RECORDS = sorted(Path(universality.__file__).parent.glob("universality*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.name)
def test_recorded_fits(path: Path) -> None:
    record = json.loads(path.read_text())
    fits = [Fit(**own) for own in record["fits"]]
    assert {own.model for own in fits} == {"0-CLIP", "∞-CLIP"}
    for own in fits:
        assert "NOT" not in universality.verdict(own)
        assert own.relabeled_error == pytest.approx(own.error, rel=1e-2)
        if own.model == "∞-CLIP":  # which has many rows in its other normalizations
            difference = abs(own.uncorrected_error - own.training_error)
            assert difference < max(1e-6, 0.2 * own.training_error)


def test_lower_bound() -> None:
    targets = torch.tensor([1.0, 3.0, 10.0, 0.0, 2.0, 4.0])
    # (1 + 1) / 6 for the pair, (4 + 0 + 4) / 6 for the three, nothing for the single one.
    assert universality.lower_bound(targets, [[0, 1], [2], [3, 4, 5]]) == pytest.approx(10 / 6)


def test_an_error_below_the_bound_is_reported() -> None:
    found = fit(
        "0-CLIP", graphs_up_to(3), {"num_colorings": 0}, recipe_for(7, 2, 1e-3, 2), SEED, every=2
    )
    assert "not below" in universality.verdict(found)
    impossible = dataclasses.replace(found, lower_bound=found.error + 1)
    with pytest.raises(SystemExit, match="below the lower bound"):
        universality.verdict(impossible)
