"""fork(): in the child every call of an inherited client raises at once, and the parent's clients notice nothing."""

import asyncio
import gc
import inspect
import multiprocessing
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from stat import S_ISSOCK
from typing import Any

import pytest

from kctl.client import Admin, Consumer, Producer
from kctl.client.cluster import TopicPartition
from kctl.client.errors import IllegalStateError
from kctl.client.events import Event, Started
from kctl.client.security.tls import server_context
from kctl.sandbox import Fault, ListenerSecurity, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.support.bounds import bound
from tests.support.kafka.certificates import make_certificates
from tests.support.kafka.requirements import have

PATIENCE_S = bound(60)
"""A hang fails the test after this time."""
ROOT = Path(__file__).parents[2]
T0 = TopicPartition("t", 0)
CREATED_BEFORE_FORK = "created before fork"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork() on this system")


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=3, topics={"t": 3}).serve() as served:
        yield served


@pytest.fixture
def events() -> list[Event]:
    return []


def in_child(work: Callable[[], object]) -> Any:
    """Return what `work` returns in a forked child, or raise what it raises."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks beside threads: this is one
        pid = os.fork()
    if pid == 0:
        try:
            try:
                report: tuple[bool, object] = (True, work())
            except BaseException as error:  # noqa: BLE001 - the parent raises it
                report = (False, error)
            os.write(writer, pickle.dumps(report))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        ready, _, _ = select.select([reader], [], [], PATIENCE_S)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            pytest.fail("the child hangs")
        is_done, result = pickle.loads(os.read(reader, 1_000_000))
    finally:
        os.close(reader)
        os.waitpid(pid, 0)
    if not is_done:
        raise result
    return result


def outcome(call: Callable[[], object]) -> str:
    """Return the text of the IllegalStateError that a call raises, or what it did in its place."""
    try:
        returned = call()
        return f"returned {asyncio.run(returned) if inspect.iscoroutine(returned) else returned!r}"
    except IllegalStateError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the wrong one
        return f"{type(error).__name__}: {error}"


def refused(outcomes: dict[str, str]) -> dict[str, str]:
    """Return those of the outcomes that are not a refusal because of the fork."""
    return {name: text for name, text in outcomes.items() if CREATED_BEFORE_FORK not in text}


def test_producer_in_child_refuses_every_call(served: ServedSandbox) -> None:
    with Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 0}) as producer:
        delivered = producer.send("t", b"1")
        delivered.result(PATIENCE_S)
        for node_id in (1, 2, 3):
            served.sandbox.start_fault(node_id, Fault.FREEZE)
        pending, columns = producer.send("t", b"2"), producer.send_columns("t", [b"3"])

        def work() -> dict[str, str]:
            assert delivered.result().offset == 0, "a fate that is known stays known"
            with producer:
                pass
            return {
                "send": outcome(lambda: producer.send("t", b"4")),
                "send_columns": outcome(lambda: producer.send_columns("t", [b"4"])),
                "flush": outcome(producer.flush),
                "partitions_for": outcome(lambda: producer.partitions_for("t")),
                "metrics": outcome(producer.metrics),
                "init_transactions": outcome(producer.init_transactions),
                "close": outcome(producer.close),
                "result": outcome(pending.result),
                "exception": outcome(pending.exception),
                "done": outcome(pending.done),
                "columns.result": outcome(columns.result),
                "columns.done": outcome(columns.done),
            }

        assert refused(in_child(work)) == {}
        served.sandbox.heal()
        assert pending.result(PATIENCE_S) is not None
        assert columns.result(PATIENCE_S) == 1


def test_consumer_in_child_refuses_every_call(served: ServedSandbox) -> None:
    with Consumer({"bootstrap.servers": served.bootstrap, "group.id": "g"}) as consumer:
        consumer.subscribe(["t"])
        consumer.poll(0)
        arguments: dict[str, tuple[object, ...]] = {
            "subscribe": (["t"],), "assign": ([T0],), "seek": (T0, 1), "pause": ([T0],), "resume": ([T0],),
            "position": (T0,), "current_lag": (T0,), "committed": ([T0],), "partitions_for": ("t",),
            "beginning_offsets": ([T0],), "end_offsets": ([T0],), "offsets_for_times": ({T0: 1},),
        }  # fmt: skip
        names = [name for name in dir(Consumer) if not name.startswith("_") and name != "metrics"]  # never waits

        def work() -> dict[str, str]:
            with consumer:
                pass
            outcomes = {"iteration": outcome(lambda: next(iter(consumer)))}
            for name in names:
                if isinstance(getattr(Consumer, name), property):
                    outcomes[name] = outcome(lambda name=name: getattr(consumer, name))  # type: ignore[misc]  # bound
                else:
                    given = arguments.get(name, ())
                    outcomes[name] = outcome(
                        lambda name=name, given=given: getattr(consumer, name)(*given)  # type: ignore[misc]  # bound
                    )
            return outcomes

        outcomes = in_child(work)
        assert refused(outcomes) == {}
        assert {"poll", "wakeup", "close", "commit_sync", "assignment", "paused"} < set(outcomes)


def test_admin_in_child_refuses_every_call(served: ServedSandbox) -> None:
    with Admin({"bootstrap.servers": served.bootstrap}) as admin:
        assert "t" in admin.list_topics(timeout=PATIENCE_S)

        def work() -> dict[str, str]:
            with admin:
                pass
            return {
                "list_topics": outcome(admin.list_topics),
                "describe_cluster": outcome(admin.describe_cluster),
                "delete_topics": outcome(lambda: admin.delete_topics(["t"])),
                "close": outcome(admin.close),
            }

        assert refused(in_child(work)) == {}
        assert "t" in admin.list_topics(timeout=PATIENCE_S)


def test_client_made_in_child_works(served: ServedSandbox) -> None:
    with Producer({"bootstrap.servers": served.bootstrap}) as producer:
        producer.send("t", b"parent", partition=0).result(PATIENCE_S)

        def work() -> int:
            with Producer({"bootstrap.servers": served.bootstrap}) as own:
                return own.send("t", b"child", partition=0).result(PATIENCE_S).offset

        assert in_child(work) == 1
        assert producer.send("t", b"parent", partition=0).result(PATIENCE_S).offset == 2


def test_child_closes_inherited_descriptors(served: ServedSandbox) -> None:
    ports = {node.port for node in served.sandbox.cluster.nodes.values()}

    def connected() -> list[int]:
        """Return the ports of nodes that this process has connections to."""
        found: list[int] = []
        for number in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                if not S_ISSOCK(os.fstat(int(number)).st_mode):  # the copy would stay open
                    continue
                with socket.socket(fileno=os.dup(int(number))) as twin:
                    if twin.family == socket.AF_INET:
                        found.append(twin.getpeername()[1])
        return sorted(port for port in found if port in ports)

    with Producer({"bootstrap.servers": served.bootstrap}) as producer:
        producer.send("t", b"1").result(PATIENCE_S)
        assert connected() != []
        assert in_child(connected) == []
        assert connected() != []
        producer.send("t", b"1").result(PATIENCE_S)


def test_children_leave_connections_and_membership_of_the_parent_alone(
    served: ServedSandbox, events: list[Event]
) -> None:
    settings = {"bootstrap.servers": served.bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}
    with Consumer(settings, events=events.append) as consumer, Producer(settings_of(served)) as producer:
        producer.send("t", b"1", partition=0).result(PATIENCE_S)
        consumer.subscribe(["t"])
        assert [record.value for record in polled(consumer, 1)] == [b"1"]
        member, dials = consumer.group_metadata(), sum(isinstance(event, Started) for event in events)

        def work() -> list[str]:
            gc.collect()
            return [outcome(consumer.close), outcome(consumer.unsubscribe), outcome(producer.close)]

        for _ in range(5):
            assert all(CREATED_BEFORE_FORK in text for text in in_child(work))
        producer.send("t", b"2", partition=0).result(PATIENCE_S)
        assert [record.value for record in polled(consumer, 1)] == [b"2"]
        assert consumer.group_metadata() == member
        assert sum(isinstance(event, Started) for event in events) == dials


def test_child_sends_nothing_on_tls_connections_of_the_parent(tmp_path: Path, events: list[Event]) -> None:
    """A close_notify of the child would end TLS for the parent."""
    certificates = have(lambda: make_certificates(tmp_path))
    security = ListenerSecurity(server_context(certificates.broker.read_text()))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        tls = {"security.protocol": "SSL", "ssl.truststore.location": str(certificates.ca), "linger.ms": 0}
        with Producer({"bootstrap.servers": served.bootstrap, **tls}, events=events.append) as producer:
            producer.send("t", b"1").result(PATIENCE_S)
            dials = sum(isinstance(event, Started) for event in events)

            def work() -> str:
                with producer:
                    pass
                return outcome(producer.close)

            for _ in range(3):
                assert CREATED_BEFORE_FORK in in_child(work)
            assert producer.send("t", b"2").result(PATIENCE_S).offset == 1
            assert sum(isinstance(event, Started) for event in events) == dials


def settings_of(served: ServedSandbox) -> dict[str, object]:
    return {"bootstrap.servers": served.bootstrap, "linger.ms": 0}


def polled(consumer: Consumer, count: int) -> list[Any]:
    records: list[Any] = []
    while len(records) < count:
        records += consumer.poll(PATIENCE_S)
    return records


def send_inherited(_: int) -> str:
    """Use the producer of the parent, which a forked process of a pool inherits as a global."""
    return outcome(lambda: INHERITED[0].send("t", b"x").result())


INHERITED: list[Producer] = []


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_pools_report_the_error(served: ServedSandbox) -> None:
    context = multiprocessing.get_context("fork")
    with Producer(settings_of(served)) as producer:
        INHERITED.append(producer)
        try:
            producer.send("t", b"1").result(PATIENCE_S)
            with context.Pool(2) as pool:
                assert CREATED_BEFORE_FORK in pool.apply_async(send_inherited, (0,)).get(PATIENCE_S)
            with ProcessPoolExecutor(1, context) as executor:
                assert CREATED_BEFORE_FORK in executor.submit(send_inherited, 0).result(PATIENCE_S)
            producer.send("t", b"2").result(PATIENCE_S)
        finally:
            INHERITED.clear()


SCRIPT = """
import os, sys
from kctl.client import Consumer, Producer
bootstrap = sys.argv[1]
started = []
producer = Producer({"bootstrap.servers": bootstrap})
producer.send("t", b"1", partition=0).result(30)
consumer = Consumer(
    {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"}, events=started.append
)
consumer.subscribe(["t"])
while not consumer.poll(1):
    pass
before = consumer.group_metadata(), sum(type(event).__name__ == "Started" for event in started)
child = os.fork()
if child == 0:
    with producer, consumer:
        sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
producer.send("t", b"2", partition=0).result(30)
while not consumer.poll(1):
    pass
assert before == (consumer.group_metadata(), sum(type(event).__name__ == "Started" for event in started))
consumer.close()
producer.close()
print("parent is well")
"""


def test_child_that_exits_normally_disturbs_nothing_and_prints_nothing(served: ServedSandbox) -> None:
    command = [sys.executable, "-X", "dev", "-W", "ignore::DeprecationWarning", "-c", SCRIPT, served.bootstrap]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "parent is well\n", "")


def test_no_thread_is_left() -> None:
    assert [thread.name for thread in threading.enumerate() if "kctl" in thread.name or thread.name == "producer"] == []
