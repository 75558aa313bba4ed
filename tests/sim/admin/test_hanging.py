"""Hanging transactions in virtual time: detection, transactions that are only open, and abort."""

import pytest

from kctl.client.acls import CLUSTER_NAME
from kctl.client.admin import (
    AclOperation,
    AclPermission,
    AclResourceType,
    AclRule,
    Admin,
    PatternType,
    Results,
    Verdict,
)
from kctl.client.admin.at_leaders import ask_leaders
from kctl.client.admin.hanging import HIDDEN_MS
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConnectionLost
from kctl.client.producer import Producer
from kctl.sandbox import ClusterSettings, Fault
from kctl.sandbox.faults import NodeFaults
from tests.sim.admin.test_transactions import PARTITIONS, begin, coordinator
from tests.sim.kit import SimCluster, run, run_with_admin

T0 = PARTITIONS[0]


def hang(cluster: SimCluster, transactional_id: str, *partitions: int) -> None:
    """Leave a transaction behind that its coordinator takes for complete."""
    cluster.sandbox.lose_markers(transactional_id)
    with begin(cluster, transactional_id, *partitions) as producer:
        producer.commit_transaction(timeout=10)


def wait(cluster: SimCluster, ms: int) -> None:
    driver = cluster.runtime.driver
    driver.wait(driver.waiter(), cluster.clock.now_ms() + ms)


def stable_end(cluster: SimCluster, partition: int) -> int:
    return cluster.sandbox.cluster.topics["t"].partitions[partition].log.last_stable_offset


def test_running_transaction_is_not_hanging() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = begin(cluster, "alpha", 0, 1)
        found = admin.open_transactions(PARTITIONS)
        assert [(each.partition, each.verdict, each.transactional_id) for each in found.transactions] == [
            (PARTITIONS[0], Verdict.RUNNING, "alpha"),
            (PARTITIONS[1], Verdict.RUNNING, "alpha"),
        ]
        assert (found.failed, found.missing) == ({}, {})
        producer.commit_transaction(timeout=10)
        assert admin.open_transactions(PARTITIONS).transactions == ()
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


def test_transaction_whose_marker_was_lost_is_hanging_and_can_be_aborted() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        with cluster.producer() as plain:
            plain.send("t", b"behind", partition=0)
        assert stable_end(cluster, 0) == 0
        [found] = admin.open_transactions(PARTITIONS).transactions
        assert (found.partition, found.verdict, found.start_offset, found.transactional_id) == (
            T0, Verdict.HANGING, 0, "alpha",
        )  # fmt: skip
        assert "CompleteCommit without this partition" in found.reason
        assert admin.abort_transaction(T0, 0).producer_id == found.producer.producer_id
        assert stable_end(cluster, 0) == 3
        assert admin.open_transactions(PARTITIONS).transactions == ()
        with pytest.raises(error_class(ErrorCode.INVALID_TXN_STATE), match="no open transaction begins at offset 0"):
            admin.abort_transaction(T0, 0)

    run_with_admin(use, topics={"t": 3})


def test_producer_that_no_coordinator_knows_is_hanging() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        del cluster.sandbox.cluster.transactions._by_id["alpha"]
        wait(cluster, HIDDEN_MS)
        [found] = admin.open_transactions([T0]).transactions
        assert (found.verdict, found.transactional_id) == (Verdict.HANGING, None)
        assert found.reason == "no coordinator knows the producer of the transaction"

    run_with_admin(use, topics={"t": 3})


def test_producer_that_no_coordinator_reports_is_undecided_for_15_minutes() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        del cluster.sandbox.cluster.transactions._by_id["alpha"]
        [found] = admin.open_transactions([T0]).transactions
        wait(cluster, found.producer.last_timestamp_ms + HIDDEN_MS - cluster.clock.wall_ms() - 5_000)
        [found] = admin.open_transactions([T0]).transactions
        assert found.verdict is Verdict.UNDECIDED
        wait(cluster, 5_000)
        [found] = admin.open_transactions([T0]).transactions
        assert found.verdict is Verdict.HANGING

    run_with_admin(use, topics={"t": 3})


def test_running_transaction_whose_id_may_not_be_described_is_undecided() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        authorizer = cluster.sandbox.cluster.authorizer
        for kind in (AclResourceType.TOPIC, AclResourceType.TRANSACTIONAL_ID, AclResourceType.CLUSTER):
            name = CLUSTER_NAME if kind is AclResourceType.CLUSTER else "*"
            authorizer.create(rule(kind, name, AclOperation.ALL, AclPermission.ALLOW))
        producer = begin(cluster, "alpha", 0)
        assert [each.verdict for each in admin.open_transactions([T0]).transactions] == [Verdict.RUNNING]
        hidden = rule(AclResourceType.TRANSACTIONAL_ID, "alpha", AclOperation.DESCRIBE, AclPermission.DENY)
        authorizer.create(hidden)
        found = admin.open_transactions([T0])
        assert [(each.verdict, each.transactional_id) for each in found.transactions] == [(Verdict.UNDECIDED, None)]
        assert (found.failed, found.missing) == ({}, {})
        assert "or you need Describe on its transactional.id" in found.transactions[0].reason
        producer.close(0)

    run_with_admin(use, topics={"t": 3}, settings=ClusterSettings(authorizer=True))


def rule(kind: AclResourceType, name: str, operation: AclOperation, permission: AclPermission) -> AclRule:
    return AclRule(kind, name, PatternType.LITERAL, "User:*", "*", operation, permission)


def test_verdict_is_left_open_while_a_broker_does_not_report_its_transactions() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = begin(cluster, "alpha", 0)
        down = coordinator(cluster, "alpha")
        for index in range(3):
            if cluster.leader(index) == down:
                cluster.sandbox.move_leader("t", index, 1 + down % 3)
        cluster.sandbox.start_fault(down, Fault.REFUSE)
        found = admin.open_transactions([T0], timeout=10)
        assert [each.verdict for each in found.transactions] == [Verdict.UNDECIDED]
        assert [name.endswith(f"(id {down})") for name in found.missing] == [True]
        cluster.sandbox.heal()
        assert [each.verdict for each in admin.open_transactions([T0]).transactions] == [Verdict.RUNNING]
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


def test_transaction_that_ends_during_the_look_is_none() -> None:
    """The coordinator has completed the transaction before its response; the second read shows this."""

    def use(cluster: SimCluster, admin: Admin) -> None:
        for delay_ms in range(12):
            producer = begin(cluster, "alpha", 0)
            cluster.at(delay_ms, lambda: _end(cluster))
            found = admin.open_transactions([T0])
            assert [each for each in found.transactions if each.verdict is not Verdict.RUNNING] == [], delay_ms
            producer.close(0)

    run_with_admin(use, topics={"t": 3})


def _end(cluster: SimCluster) -> None:
    transactions = cluster.sandbox.cluster.transactions
    found = transactions.get("alpha")
    assert found is not None
    transactions.end("alpha", found.identity, commit=True, has_own_epoch=False)


def test_transaction_that_its_coordinator_does_not_time_out_is_overdue() -> None:
    def app(cluster: SimCluster) -> None:
        with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
            producer = begin(cluster, "alpha", 0)
            found = cluster.sandbox.cluster.transactions.get("alpha")
            assert found is not None
            found.started_at_ms -= found.timeout_ms + 59_000
            assert [each.verdict for each in admin.open_transactions([T0]).transactions] == [Verdict.RUNNING]
            found.started_at_ms -= 2_000
            [overdue] = admin.open_transactions([T0]).transactions
            assert (overdue.verdict, overdue.timeout_ms) == (Verdict.OVERDUE, found.timeout_ms)
            producer.close(0)

    run(app, topics={"t": 1}, settings=ClusterSettings(transaction_version=1))


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.SILENCE])
def test_marker_whose_response_was_lost_is_not_written_again(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second marker would end the next transaction of the producer."""

    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        log = cluster.sandbox.cluster.topics["t"].partitions[0].log
        append = log.append_marker
        written: list[int] = []

        def append_and_lose_the_response(producer_id: int, *rest: int, commit: bool, by_epoch: int) -> None:
            append(producer_id, *rest, commit=commit, by_epoch=by_epoch)
            written.append(producer_id)
            if len(written) == 1:
                cluster.sandbox.start_fault(cluster.leader(0), fault)
                cluster.at(500, cluster.sandbox.heal)

        monkeypatch.setattr(log, "append_marker", append_and_lose_the_response)
        assert admin.abort_transaction(T0, 0, timeout=60).producer_id == written[0]
        assert len(written) == 1

    run_with_admin(use, topics={"t": 3})


def test_transaction_that_ended_before_any_marker_was_sent_was_not_aborted(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = begin(cluster, "alpha", 0)

        def fail_to_connect(*_: object, **__: object) -> Results[TopicPartition, None]:
            producer.commit_transaction(timeout=10)
            monkeypatch.setattr("kctl.client.admin.abort.ask_leaders", ask_leaders)
            return Results({}, {T0: ConnectionLost("the leader is down")})

        monkeypatch.setattr("kctl.client.admin.abort.ask_leaders", fail_to_connect)
        with pytest.raises(error_class(ErrorCode.INVALID_TXN_STATE), match="no open transaction begins at offset 0"):
            admin.abort_transaction(T0, 0)
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


def test_transaction_that_ended_after_a_broker_refused_the_marker_was_not_aborted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker no longer leads, and while the new leader is found the transaction is committed."""

    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = begin(cluster, "alpha", 0)
        cluster.sandbox.fail_requests("WriteTxnMarkers", ErrorCode.NOT_LEADER_OR_FOLLOWER)
        pop_error = NodeFaults.pop_error

        def refuse_and_end(faults: NodeFaults, api_key: int) -> ErrorCode | None:
            code = pop_error(faults, api_key)
            if code is not None:
                _end(cluster)
            return code

        monkeypatch.setattr(NodeFaults, "pop_error", refuse_and_end)
        with pytest.raises(error_class(ErrorCode.INVALID_TXN_STATE), match="no open transaction begins at offset 0"):
            admin.abort_transaction(T0, 0)
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


def test_leader_that_has_moved_gets_the_marker() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        admin.describe_producers([T0])
        cluster.sandbox.move_leader("t", 0, 1 + cluster.leader(0) % 3)
        admin.abort_transaction(T0, 0)
        assert stable_end(cluster, 0) == 2

    run_with_admin(use, topics={"t": 3})


def test_several_transactions_of_a_partition_have_a_verdict_each() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        hang(cluster, "alpha", 0)
        running: Producer = begin(cluster, "beta", 0)
        found = admin.open_transactions([T0, TopicPartition("t", 9)])
        assert sorted((each.start_offset, each.verdict.value) for each in found.transactions) == [
            (0, "hanging"),
            (1, "running"),
        ]
        assert list(found.failed) == [TopicPartition("t", 9)]
        running.abort_transaction(timeout=10)
        running.close(0)

    run_with_admin(use, topics={"t": 3})
