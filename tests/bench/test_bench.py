"""The benchmark measures what it says: the peer is the same network, and tables are printed."""

import sys

import pytest
import torch
from torch_geometric.data import Batch

from clipgnn import CLIP, cli
from clipgnn.baselines import ring_gnn
from clipgnn.bench import scaling, together
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
        state[f"readout.{place}.weight"] = peer.readout[number].weight.t()[None]
        state[f"readout.{place}.bias"] = peer.readout[number].bias[None]
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
    before = model.readout[0].weight.clone()
    everything = torch.arange(40)
    accuracy = Peer(graphs, everything[:30], everything[30:], model, 8).epoch()
    assert 0 <= accuracy <= 1
    assert not torch.equal(before, model.readout[0].weight)


def test_growth_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "NODES", 40)
    monkeypatch.setattr(scaling, "training_step", lambda **size: lambda: None)
    scaling.measure(rounds=1)
    printed = capsys.readouterr().out
    assert "exponent" in printed
    assert "T (layers)" in printed


def test_folds_together_and_one_by_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = {name: together.NETWORKS[name] for name in ("gin", "dcnn", "ring-gnn")}
    monkeypatch.setattr(together, "NETWORKS", chosen)
    monkeypatch.setattr(ring_gnn, "MOST_STORED", 10)
    command = ["clipgnn", "bench", "csl", "--together", "--rounds", "1", "--seconds", "0"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines() if "│" in line]
    rates = {cells[1]: cells[3::2] for cells in rows}
    for name in ("gin", "dcnn"):
        assert all(float(rate) > 0 for rate in rates[name][:3])
    assert rates["ring-gnn"][:3] == ["–"] * 3
    assert "ring-gnn is left out: Ring-GNN has a tensor" in printed.err


@pytest.mark.parametrize(
    "arguments", [("--device", "gpu"), ("--device", "cuda"), ("NOPE", "--no-scaling")]
)
def test_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["clipgnn", "bench", "--rounds", "1", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("clipgnn: ")
