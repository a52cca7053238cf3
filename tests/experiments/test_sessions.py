"""Sessions: how processes and machines are identified, and when a session is alive."""

import os
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from clipgnn.experiments.sessions import EXPIRY_SECONDS, Heartbeats, Session


def test_a_process_is_known_by_its_start_time_too():
    session = Session.of_this_process()
    assert session.process == os.getpid()
    assert session.is_alive(silence=1e9)  # the PID counts, not the heartbeat
    assert not replace(session, started="1").is_alive(silence=0.0)


def test_a_process_elsewhere_is_known_by_its_heartbeats():
    elsewhere = replace(Session.of_this_process(), machine="elsewhere", process=1)
    assert elsewhere.is_alive(silence=EXPIRY_SECONDS / 2)
    assert not elsewhere.is_alive(silence=EXPIRY_SECONDS)


@pytest.mark.parametrize(("ahead", "first"), [(-50.0, 50.0), (0.0, 0.0), (1e6, 0.0)])
def test_silence_is_measured_by_the_clock_of_this_machine(monkeypatch, ahead, first):
    clock = {"wall": 1e9, "here": 500.0}
    monkeypatch.setattr(time, "time", lambda: clock["wall"])
    monkeypatch.setattr(time, "monotonic", lambda: clock["here"])
    session = replace(Session.of_this_process(), machine="elsewhere")
    heartbeats = Heartbeats()
    assert heartbeats.silence(session, 1e9 + ahead) == first
    clock.update(wall=2e9, here=600.0)  # the wall clock was set, 100 s have passed
    assert heartbeats.silence(session, 1e9 + ahead) == first + 100.0
    assert heartbeats.silence(session, 1e9 + ahead + 15) == 0.0  # a new heartbeat
    clock["here"] = 601.0
    assert heartbeats.silence(session, 1e9 + ahead + 15) == 1.0


def test_a_machine_is_known_by_its_name_its_boot_and_its_namespace(monkeypatch):
    here = Session.of_this_process()
    names = iter(["here", "there"])
    monkeypatch.setattr(platform, "node", lambda: next(names))
    one, other = Session.of_this_process(), Session.of_this_process()
    assert one.machine != other.machine
    if sys.platform == "linux":
        assert Path("/proc/sys/kernel/random/boot_id").read_text().strip() in here.machine
        assert os.readlink("/proc/self/ns/pid") in here.machine
