"""From a name, or a network, to members that can be trained."""

from dataclasses import replace

import pytest
import torch
from tests.training.examples import CLIP4, every_network, multitask, regressed, some_graphs

from clipgnn.errors import InvalidParameterError
from clipgnn.graphs.packed import PackedGraphs
from clipgnn.nn.clip import CLIP
from clipgnn.training import ModelSpec, Recipe
from clipgnn.training.models import check_model, copies, new_members, output_channels


@every_network
def test_weights_depend_on_the_seed_of_a_member_only(spec: ModelSpec) -> None:
    spec = ModelSpec(spec.name, {**spec.parameters, "dropout": 0.5})
    graphs, recipe, before = some_graphs(), Recipe(), torch.get_rng_state()
    three = new_members(spec, graphs, recipe, [4, 5, 4]).state_dict()
    one = new_members(spec, graphs, recipe, [5]).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in three.items():
        assert torch.equal(value[0], value[2]), name
        assert torch.equal(value[1:2], one[name]), name
    assert any(not torch.equal(value[0], value[1]) for value in three.values())


@every_network
def test_copies_have_the_weights_of_the_network(spec: ModelSpec) -> None:
    graphs, recipe, before = some_graphs(), Recipe(), torch.get_rng_state()
    network = new_members(spec, graphs, recipe, [7]).double()
    members = copies(network, graphs, recipe, [1, 2, 3])
    assert torch.equal(torch.get_rng_state(), before)
    assert members.config == replace(network.config, num_members=3)
    assert type(members.scheme) is type(network.scheme)
    for name, value in members.state_dict().items():
        assert value.dtype == torch.float64
        for own in value:
            assert torch.equal(own, network.state_dict()[name][0]), name


def test_a_coloring_scheme_of_the_user_is_kept() -> None:
    from clipgnn.coloring.random import Permutations

    graphs, scheme = some_graphs(), Permutations()
    spec = ModelSpec("clip", {"coloring": scheme})
    assert new_members(spec, graphs, Recipe(), [1, 2]).scheme is scheme
    network = CLIP(2, 2, coloring=scheme, num_colors=9)
    assert copies(network, graphs, Recipe(), [1, 2]).scheme is scheme
    assert copies(network, graphs, Recipe(), [1, 2]).member(1).scheme is scheme


@pytest.mark.parametrize(
    ("loss", "make", "channels"),
    [
        ("cross-entropy", lambda graphs: graphs, 2),
        ("cross-entropy", lambda graphs: replace(graphs, y=torch.tensor([0, 4] * 4)), 5),
        ("binary-cross-entropy", lambda graphs: graphs, 1),
        ("binary-cross-entropy", multitask, 3),
        ("squared-error", regressed, 1),
        ("absolute-error", lambda graphs: regressed(graphs, 4), 4),
    ],
)
def test_output_channels(loss: str, make: object, channels: int) -> None:
    graphs: PackedGraphs = make(some_graphs())  # type: ignore[operator]
    recipe = Recipe(loss=loss)
    assert output_channels(graphs, recipe) == channels
    assert new_members(CLIP4, graphs, recipe, [0]).config.out_channels == channels


def test_output_channels_of_loss_functions_depend_on_the_targets() -> None:
    recipe = Recipe(loss=lambda outputs, targets: outputs.sum(1), metric="accuracy")
    assert output_channels(some_graphs(), recipe) == 2
    assert output_channels(multitask(some_graphs()), recipe) == 3


@pytest.mark.parametrize(
    ("name", "trained", "words"),
    [
        ("rp_gin", True, "Got 'rp_gin'. Did you mean 'rp-gin'"),
        ("wl", True, "The network must be one of clip, .* Use fit_kernel for it"),
        ("gin", False, "The kernel must be one of wl, awl, walks. Got 'gin'. Use train for it"),
        (None, True, "Got None"),
    ],
)
@pytest.mark.usefixtures("without_shape_checks")
def test_names_that_are_refused(name: str, trained: bool, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        check_model(name, trained=trained)
