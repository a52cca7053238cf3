"""Versions and machine of a result."""

from clipgnn.experiments.machine import installed_versions, this_machine


def test_versions_and_machine_are_recorded_without_host_names():
    versions = installed_versions()
    assert {"python", "clipgnn-source", "numpy", "torch"} <= versions.keys()
    assert set(this_machine()) == {"processor", "cores", "memory", "system"}
