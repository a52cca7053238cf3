"""The peer: the same network as CLIP, and it learns."""

import pytest
import torch
from torch_geometric.data import Batch

from clipgnn import CLIP
from clipgnn.bench.peer import Peer, PeerCLIP
from clipgnn.datasets.properties import circular_skip_links


def test_the_peer_computes_what_we_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    graphs = circular_skip_links(copies=1).to_data_list()[:3]
    batch = Batch.from_data_list(graphs)
    peer = PeerCLIP(1, 4, hidden=8, num_layers=2, num_colorings=3, num_colors=41).eval()
    ours = CLIP(1, 4, hidden_channels=8, num_layers=2, num_colorings=3, num_colors=41).eval()
    # The peer's normalization starts with a bias of zero.
    state = {k: v * (not k.endswith("norm.bias")) for k, v in ours.state_dict().items()}
    for layer, theirs in enumerate(peer.layers):
        for name in ("phi", "psi"):
            mlp = getattr(theirs, name)
            state[f"layers.{layer}.{name}.first.weight"] = mlp[0].weight.t()[None]
            state[f"layers.{layer}.{name}.first.bias"] = mlp[0].bias[None]
            state[f"layers.{layer}.{name}.second.weight"] = mlp[3].weight.t()[None]
            mlp[3].bias.data.mul_(name == "psi")  # our φ has none
            if name == "psi":
                state[f"layers.{layer}.psi.second.bias"] = mlp[3].bias[None]
    for place, number in (("first", 0), ("second", 3)):
        state[f"readout.{place}.weight"] = peer.get_parameter(f"readout.{number}.weight").t()[None]
        state[f"readout.{place}.bias"] = peer.get_parameter(f"readout.{number}.bias")[None]
    ours.load_state_dict(state)
    colors = peer._colors(batch)
    monkeypatch.setattr(peer, "_colors", lambda batch: colors)
    with torch.no_grad():
        expected = peer(batch)
        found = ours(batch.x, batch.edge_index, batch.batch, colorings=colors)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_the_peer_learns() -> None:
    graphs = circular_skip_links(copies=4).to_data_list()
    torch.manual_seed(0)
    model = PeerCLIP(1, 10, hidden=4, num_layers=1, num_colorings=2, num_colors=41)
    weight = model.get_parameter("readout.0.weight")
    before = weight.clone()
    everything = torch.arange(40)
    accuracy = Peer(graphs, everything[:30], everything[30:], model, 8).epoch()
    assert 0 <= accuracy <= 1
    assert not torch.equal(before, weight)
