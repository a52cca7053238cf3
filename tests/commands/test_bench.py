"""The command line of the benchmark: errors and their status."""

import sys

import pytest
import torch

from clipgnn import cli


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
