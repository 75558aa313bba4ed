"""Other people's transactional producers and read_committed consumers are content with the sandbox."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.quotas import Quota
from kctl.sandbox.server import ServedSandbox
from tests.conformance.foreign import CONFLUENT, JAVA, ForeignClient, ForeignRecord
from tests.conformance.foreign.transaction_steps import CONFLUENT_STEPS, JAVA_STEPS, StepsClient, TransactionSteps
from tests.support.bounds import bound
from tests.support.kafka.requirements import have
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

PATIENCE_MS = bound(30_000)
LEVELS = pytest.mark.parametrize("level", [1, 2])
STEPS = pytest.mark.parametrize("client", [JAVA_STEPS, CONFLUENT_STEPS], ids=lambda client: client.name)
READERS = (JAVA, CONFLUENT)


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[ServedSandbox, TransactionSteps]]]:
    """Start a sandbox and a process with producers, which end with the test."""
    with ExitStack() as stack:

        def make(client: StepsClient, level: int, **properties: str) -> tuple[ServedSandbox, TransactionSteps]:
            have(client.command)
            settings = ClusterSettings(transaction_version=level, transaction_marker_delay_ms=5)
            served = stack.enter_context(Sandbox(nodes=3, topics={"t": 3}, settings=settings).serve())
            return served, stack.enter_context(TransactionSteps(client, served.bootstrap, **properties))

        yield make


def committed_values(served: ServedSandbox, reader: ForeignClient, count: int) -> list[bytes | None]:
    have(reader.require)
    read = reader.consume(served.bootstrap, "t", count, "read_committed")
    return [record.value for record in read]


def offset_of(served: ServedSandbox, group_id: str) -> int | None:
    committed = served.sandbox.cluster.groups.offsets.get(group_id, {}).get(("t", 0))
    return None if committed is None else committed.offset


@STEPS
@LEVELS
def test_committed_transaction_is_read_and_aborted_one_is_not(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient, level: int
) -> None:
    served, steps = start(client, level)
    steps.all("a init")
    for number in range(6):
        sends = [f"a send t {partition} {number}" for partition in (0, 1)]
        steps.all("a begin", *sends, "a commit" if number % 2 else "a abort")
    for reader in READERS:
        assert committed_values(served, reader, 6) == [b"1", b"3", b"5"] * 2
    steps.all("a begin", "a send t 2 open")
    assert committed_values(served, JAVA, 6) == [b"1", b"3", b"5"] * 2
    steps.all("a commit")
    assert committed_values(served, JAVA, 7) == [*[b"1", b"3", b"5"] * 2, b"open"]


@STEPS
@LEVELS
def test_offsets_count_when_the_transaction_commits(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient, level: int
) -> None:
    served, steps = start(client, level)
    steps.all("a init", "a begin", "a send t 0 v", "a offsets g t 0 7")
    assert offset_of(served, "g") is None
    steps.all("a commit")
    wait_until(lambda: offset_of(served, "g") == 7, PATIENCE_MS, "a committed offset")
    steps.all("a begin", "a offsets g t 0 9", "a abort", "a begin", "a offsets h t 0 3", "a commit")
    wait_until(lambda: offset_of(served, "h") == 3, PATIENCE_MS, "a committed offset")
    assert offset_of(served, "g") == 7


@STEPS
@LEVELS
def test_a_second_producer_fences_the_first(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient, level: int
) -> None:
    served, steps = start(client, level)
    steps.all("a/1 init", "a/1 begin", "a/1 send t 0 lost", "a/2 init", "a/2 begin", "a/2 send t 0 kept")
    fenced = ("ProducerFencedException", "InvalidProducerEpochException", "FENCED", "INVALID_PRODUCER_EPOCH")
    assert steps("a/1 commit") in fenced
    assert steps("a/1 begin") != "ok"
    steps.all("a/2 commit")
    assert committed_values(served, JAVA, 1) == [b"kept"]


@STEPS
@LEVELS
def test_a_transaction_that_takes_too_long_is_aborted(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient, level: int
) -> None:
    served, steps = start(client, level, transaction_timeout_ms="1000")
    steps.all("a init", "a begin", "a send t 0 late")
    known = served.sandbox.cluster.transactions.get("a")
    assert known is not None
    wait_until(lambda: known.state.value == "CompleteAbort", PATIENCE_MS, "the end of a transaction's time")
    assert steps("a commit") != "ok"
    assert committed_values(served, JAVA, 0) == []


@STEPS
@LEVELS
def test_producers_find_coordinators_that_move_and_leaders_that_wait(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient, level: int
) -> None:
    served, steps = start(client, level)
    sandbox = served.sandbox
    steps.all("a init")
    for node_id in (1, 2, 3):
        steps.all("a begin", f"a send t 0 before-{node_id}")
        sandbox.move_transaction_coordinator("a", node_id)
        sandbox.move_leader("t", 0, node_id)
        sandbox.fail_requests("AddPartitionsToTxn", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        sandbox.fail_requests("EndTxn", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        steps.all(f"a send t 0 after-{node_id}", f"a send t 1 {node_id}")
        sandbox.elect_late("t", 1, node_id, ms=100)
        steps.all("a commit")
        sandbox.heal()
    expected = [b"%s-%d" % (word, node_id) for node_id in (1, 2, 3) for word in (b"before", b"after")]
    assert committed_values(served, JAVA, 9) == [*expected, b"1", b"2", b"3"]


@STEPS
def test_repeated_batch_is_written_once(
    start: Callable[..., tuple[ServedSandbox, TransactionSteps]], client: StepsClient
) -> None:
    served, steps = start(client, 2)
    steps.all("a init", "a begin")
    for number in range(5):
        served.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        served.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS)
        steps.all(f"a send t 0 {number}")
    steps.all("a commit")
    served.sandbox.heal()
    assert committed_values(served, JAVA, 5) == [b"0", b"1", b"2", b"3", b"4"]


@pytest.mark.parametrize("client", [JAVA, CONFLUENT], ids=lambda client: client.name)
def test_clients_over_their_quota_get_all_the_same_what_they_want(client: ForeignClient) -> None:
    have(client.require)
    records = [ForeignRecord(b"%d" % number + b"x" * 1_000) for number in range(20)]
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.limit(Quota.PRODUCE, 20_000)
        served.sandbox.limit(Quota.FETCH, 20_000)
        client.produce(served.bootstrap, "t", records, "none", {"batch.size": "5000"})
        client.produce(served.bootstrap, "t", records, "none", {"batch.size": "5000"})
        assert len(client.consume(served.bootstrap, "t", 40, properties={"max.partition.fetch.bytes": "5000"})) == 40
