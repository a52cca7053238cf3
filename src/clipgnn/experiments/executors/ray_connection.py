"""Connection to a Ray cluster, or to a new Ray instance on this machine; needs `clipgnn[ray]`."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from clipgnn.errors import ClipGNNError, InvalidParameterError, MissingDependencyError
from clipgnn.experiments.jobs import describe

LOOPBACK = ("127.0.0.1", "::1")

CLUSTER_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Environment variable; with the value 0, all processes of Ray use the loopback interface only, on
every system. The argument `_node_ip_address` is not enough: Ray replaces 127.0.0.1 in it."""

CONNECT_SECONDS = 10.0
"""Seconds that a cluster may take to accept a connection."""


class RayConnection:
    """A connection to Ray.

    Without an address, a new Ray instance is started on this machine, with ports on the loopback
    interface only. With an address, an existing cluster is used. **A Ray cluster runs any code
    that is sent to it.** Clusters started by `ray start` require no authentication by default:
    every machine that can connect to the ports can run programs as the user of the cluster.
    Use a cluster only in a network of trusted machines. From version 2.52 on, Ray supports token
    authentication: set RAY_AUTH_MODE=token on all nodes and on this machine, with the token in
    RAY_AUTH_TOKEN, in the file named by RAY_AUTH_TOKEN_PATH, or in ~/.ray/auth_token. The token
    does not encrypt the traffic.

    Args:
        address: address of the cluster, as `ray start` prints it; by default Ray runs on this
            machine.

    Attributes:
        ray: the module `ray`.

    Raises:
        MissingDependencyError: if Ray is not installed.
        ClipGNNError: if the cluster does not respond, or Ray opens ports to the network.
    """

    def __init__(self, address: str | None = None) -> None:
        try:
            self.ray: Any = import_module("ray")
        except ImportError as error:
            raise MissingDependencyError(
                "The executor 'ray' requires Ray, which is not installed. "
                "Use pip install 'clipgnn[ray]'."
            ) from error
        self._began = not self.ray.is_initialized()
        if not self._began:
            return
        # An instance of our own needs no dashboard and sends no usage statistics.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        _check_responds(address)
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            if address is None:
                with _loopback_only():
                    # "local" starts a new instance even if a cluster runs on this machine.
                    self.ray.init(address="local", include_dashboard=False, **quiet)
            else:
                self.ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            raise ClipGNNError(
                f"The Ray cluster at {address or 'this machine'} does not respond. "
                f"{describe(error)}"
            ) from error
        if address is None:
            self._check_loopback()

    def close(self) -> None:
        """Disconnect from the cluster, which cancels what runs there for this process."""
        if self._began:
            self.ray.shutdown()

    def __enter__(self) -> "RayConnection":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_loopback(self) -> None:
        addresses = {node["NodeManagerAddress"] for node in self.ray.nodes()}
        if not addresses <= set(LOOPBACK):
            self.close()
            raise ClipGNNError(
                f"Ray must listen on {LOOPBACK[0]} only. Got {', '.join(addresses)}. Set "
                f"{CLUSTER_VARIABLE}=0 before Ray is imported, or start a cluster and use its "
                "address."
            )


@contextmanager
def _loopback_only() -> Iterator[None]:
    """Restrict a Ray instance that is started inside to the loopback interface."""
    constants: Any = import_module("ray._private.ray_constants")
    before = os.environ.get(CLUSTER_VARIABLE), constants.ENABLE_RAY_CLUSTER
    os.environ[CLUSTER_VARIABLE], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        variable, constants.ENABLE_RAY_CLUSTER = before
        if variable is None:
            del os.environ[CLUSTER_VARIABLE]
        else:
            os.environ[CLUSTER_VARIABLE] = variable


def _check_responds(address: str | None) -> None:
    """Refuse an address that accepts no connection; Ray itself would wait for minutes."""
    if address in (None, "auto", "local"):
        return
    try:
        parsed = urlsplit(address if "://" in address else f"//{address}")
        endpoint = (parsed.hostname or "", parsed.port or 0)
    except ValueError:
        endpoint = ("", 0)
    if not all(endpoint):
        raise InvalidParameterError(
            "address must be the host and port of a Ray cluster, such as 10.0.0.1:6379. "
            f"Got {address!r}.",
            parameter="address",
        )
    try:
        socket.create_connection(endpoint, timeout=CONNECT_SECONDS).close()
    except OSError as error:
        raise ClipGNNError(
            f"The Ray cluster at {address} does not respond. {describe(error)}"
        ) from error


OWN_ERRORS = "clipgnn.errors."
"""Beginning of the names of our errors in the text of an error of Ray."""


def is_own_error(error: BaseException) -> bool:
    """Return whether an error of Ray is one of ours in a process, which would occur again."""
    return OWN_ERRORS in str(error)


def reason_of(error: BaseException) -> str:
    """The message of the error of a process, in one line."""
    text = str(error)
    found = [line for line in text.splitlines() if OWN_ERRORS in line]
    last = [line for line in text.strip().splitlines() if line.strip()]
    line = found[-1] if found else (last[-1] if last else type(error).__name__)
    return line.split(OWN_ERRORS, 1)[-1].strip()
