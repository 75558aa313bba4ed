"""KafkaSandbox used wrongly: arguments that do not fit, and a process that forks."""

import os
import socket
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kctl.sandbox.socket_loop import SocketLoopError
from kctl.testing import Fault, KafkaSandbox
from tests.support.bounds import bound


@pytest.mark.parametrize("port", [-1, 65_535, 65_536, 1 << 40])
def test_invalid_port_is_named_and_leaves_no_socket_open(port: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OSError, match=r"use ports from 0 to 65535|in use"):
            KafkaSandbox(3, port=port)


def test_topics_that_are_a_list_are_rejected() -> None:
    with pytest.raises(TypeError, match="topics must be a mapping of topic names to partition counts, not list"):
        KafkaSandbox(topics=["orders"])  # type: ignore[arg-type]


WRONG: list[tuple[Callable[[Any], object], type[Exception], str]] = [
    (lambda kafka: kafka.records("t", isolation_level="committed"), ValueError, "invalid isolation_level 'committed'"),
    (lambda kafka: kafka.fail("Produce", "NONE"), ValueError, "invalid error 'NONE'"),
    (lambda kafka: kafka.fail("Produce", "NOT_LEADER_OR_FOLLOWER", 2), TypeError, r"when must be once\(\), times"),
    (lambda kafka: kafka.start_fault("freeze"), TypeError, "fault must be a Fault"),
    (lambda kafka: kafka.fault("freeze").__enter__(), TypeError, "fault must be a Fault"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_argument_of_a_wrong_kind_is_rejected_and_changes_nothing(
    call: Callable[[Any], object], error: type[Exception], text: str
) -> None:
    with KafkaSandbox(1, topics={"t": 1}) as kafka:
        with pytest.raises(error, match=text):
            call(kafka)
        assert kafka.records("t") == []
        assert not kafka.sandbox.cluster.nodes[1].faults.active
        kafka.start_fault(Fault.FREEZE)
        assert kafka.sandbox.cluster.nodes[1].faults.active == (Fault.FREEZE,)


@pytest.mark.parametrize("is_in_its_thread", [False, True])
def test_dropped_cluster_is_closed_with_a_warning(is_in_its_thread: bool) -> None:
    held = [KafkaSandbox(1)]
    loop, (host, port) = held[0]._served._loop, held[0].bootstrap_servers.split(":")
    drop = partial(loop.carry_out, held.clear) if is_in_its_thread else held.clear  # garbage collection runs anywhere
    with pytest.warns(ResourceWarning, match="^unclosed KafkaSandbox: call close"):
        drop()
    loop._thread.join(bound(60))
    assert (loop._thread.is_alive(), loop.failures) == (False, [])
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_forked_child_cannot_use_the_cluster_and_holds_none_of_its_sockets() -> None:
    ends, waits = os.pipe()
    with KafkaSandbox(1, topics={"t": 1}) as kafka:
        host, port = kafka.bootstrap_servers.split(":")
        connected = socket.create_connection((host, int(port)))
        kafka.topics()  # the cluster has accepted the connection by now
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                try:
                    kafka.topics()
                except SocketLoopError as error:
                    kafka.close()
                    code = 0 if "before fork()" in str(error) else 2
                os.close(waits)
                os.read(ends, 1)  # the child lives on
            finally:
                os._exit(code)
        assert kafka.topics() == {"t": 1}
    with connected:
        connected.settimeout(bound(60))
        assert connected.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))
    os.close(waits)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(ends)
