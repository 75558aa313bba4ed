"""Administration of groups when brokers fail: deadlines to the millisecond, coordinators that move, partial lists."""

from collections.abc import Callable, Sequence

import pytest

from kctl.client.admin import Admin, MemberToRemove
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, ConnectTimeout, TransportError
from kctl.client.hedged_requests import SILENCE_MS
from kctl.sandbox import Fault
from tests.sim.admin.test_admin import FAULTS
from tests.sim.kit import SimCluster, run_with_admin

T0 = TopicPartition("t", 0)
Asking = Callable[[Admin, float | None], object]
CALLS: dict[str, Asking] = {
    "list": lambda admin, timeout: admin.list_groups(timeout=timeout),
    "describe": lambda admin, timeout: admin.describe_groups(["g"], timeout=timeout)["g"],
    "offsets": lambda admin, timeout: admin.list_group_offsets("g", timeout=timeout),
    "alter": lambda admin, timeout: admin.alter_group_offsets("g", {T0: 2}, timeout=timeout)[T0],
    "delete-offsets": lambda admin, timeout: admin.delete_group_offsets("g", [T0], timeout=timeout)[T0],
    "delete": lambda admin, timeout: admin.delete_groups(["g"], timeout=timeout)["g"],
    "remove": lambda admin, timeout: admin.remove_members("g", [MemberToRemove("m")], timeout=timeout),
}
OF_THE_COORDINATOR = [name for name in CALLS if name != "list"]


def elapsed_ms(cluster: SimCluster, call: Callable[[], object]) -> int:
    before_ms = cluster.clock.now_ms()
    call()
    return cluster.clock.now_ms() - before_ms


HELD = [Fault.FREEZE, Fault.SILENCE, Fault.RESET_ON_REQUEST]
"""Faults that affect open connections."""


@pytest.mark.parametrize(
    "timeouts_ms", [(0, 100, 1000), pytest.param((70_000,), marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("fault", "is_connected"), [*((fault, False) for fault in FAULTS), *((fault, True) for fault in HELD)]
)
def test_every_call_ends_at_its_deadline(
    name: str, fault: Fault, is_connected: bool, timeouts_ms: Sequence[int]
) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        if is_connected:
            admin.alter_group_offsets("g", {T0: 1})
            admin.list_groups()
        cluster.break_all(fault)
        for timeout_ms in timeouts_ms:
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout) as caught:
                CALLS[name](admin, timeout_ms / 1000)
            assert cluster.clock.now_ms() - before_ms == timeout_ms
            assert (caught.value.timeout_ms, caught.value.elapsed_ms) == (timeout_ms, timeout_ms)
            assert sum(int(entry.split()[-2]) for entry in caught.value.time_breakdown) == timeout_ms

    run_with_admin(use)


def test_look_up_of_coordinator_at_frozen_broker_is_sent_to_another() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(6)]
        for name in names:
            cluster.commit(name, {("t", 0): 1})
        took_ms = []
        for node_id in (1, 2, 3):
            elsewhere = [name for name in names if cluster.coordinator(name) != node_id]
            cluster.sandbox.start_fault(node_id, Fault.FREEZE)
            before_ms = cluster.clock.now_ms()
            admin.describe_groups(elsewhere).raise_first()
            took_ms.append(cluster.clock.now_ms() - before_ms)
            cluster.sandbox.heal()
        assert SILENCE_MS <= max(took_ms) <= SILENCE_MS + 100, took_ms

    run_with_admin(use)


@pytest.mark.parametrize("name", OF_THE_COORDINATOR)
@pytest.mark.parametrize("fault", [Fault.FREEZE, Fault.SILENCE])
def test_a_coordinator_that_stands_still_is_waited_for_until_the_deadline(name: str, fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        cluster.sandbox.start_fault(cluster.coordinator("g"), fault)
        for timeout_ms in (1, 500, 45_000):
            before_ms = cluster.clock.now_ms()
            asked = (
                "10.0.0." if timeout_ms == 1 else f"10.0.0.{cluster.coordinator('g')}:9092"
            )  # a look-up takes longer
            with pytest.raises(ApiTimeout, match=asked) as caught:
                CALLS[name](admin, timeout_ms / 1000)
            assert cluster.clock.now_ms() - before_ms == timeout_ms
            assert caught.value.elapsed_ms == timeout_ms

    run_with_admin(use)


@pytest.mark.parametrize("name", CALLS)
def test_slow_brokers_are_waited_for(name: str) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, Fault.DELAY, ms=700)
        took_ms = elapsed_ms(cluster, lambda: CALLS[name](admin, 30))
        assert 700 <= took_ms < 5000

    run_with_admin(use)


@pytest.mark.parametrize("name", OF_THE_COORDINATOR)
def test_a_coordinator_that_moves_is_followed(name: str) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        cluster.sandbox.trouble_coordinator("g", ErrorCode.NOT_COORDINATOR)

        def move() -> None:
            cluster.sandbox.move_coordinator("g", cluster.elsewhere("g"))
            cluster.sandbox.trouble_coordinator("g", None)

        cluster.at(400, move)
        assert 400 <= elapsed_ms(cluster, lambda: CALLS[name](admin, 30)) < 2000

    run_with_admin(use)


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE])
@pytest.mark.parametrize("name", OF_THE_COORDINATOR)
def test_a_coordinator_in_trouble_is_asked_again(name: str, code: ErrorCode) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        cluster.sandbox.trouble_coordinator("g", code)
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ApiTimeout, match=code.name):
            CALLS[name](admin, 3)
        assert cluster.clock.now_ms() - before_ms == 3000
        cluster.at(500, lambda: cluster.sandbox.trouble_coordinator("g", None))
        assert elapsed_ms(cluster, lambda: CALLS[name](admin, 30)) < 3000

    run_with_admin(use)


def test_a_group_in_trouble_does_not_hold_back_the_answers_of_others() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for name in ("a", "b"):
            admin.alter_group_offsets(name, {T0: 1})
        cluster.sandbox.trouble_coordinator("b", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        results = admin.describe_groups(["a", "b"], timeout=2)
        assert list(results.done) == ["a"]
        assert isinstance(results.failed["b"], ApiTimeout)
        assert "COORDINATOR_LOAD_IN_PROGRESS" in str(results.failed["b"])

    run_with_admin(use)


def test_groups_of_a_frozen_coordinator_fail_and_the_others_are_told() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(6)]
        for name in names:
            admin.alter_group_offsets(name, {T0: 1})
        frozen = cluster.coordinator("g0")
        cluster.sandbox.start_fault(frozen, Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        results = admin.describe_groups(names, timeout=5)
        assert cluster.clock.now_ms() - before_ms == 5000
        assert set(results.failed) == {name for name in names if cluster.coordinator(name) == frozen}
        assert set(results.done) == {name for name in names if cluster.coordinator(name) != frozen}
        assert results.done

    run_with_admin(use)


def test_partial_timeout_holds_once_a_group_was_described() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        names = [f"g{number}" for number in range(6)]
        for name in names:
            admin.alter_group_offsets(name, {T0: 1})
        silent = cluster.coordinator("g0")
        of_silent = [name for name in names if cluster.coordinator(name) == silent]
        cluster.sandbox.start_fault(silent, Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        results = admin.describe_groups(names, timeout=5, partial_timeout=2)
        assert cluster.clock.now_ms() - before_ms == 2000
        assert list(results.failed) == of_silent
        error = results.failed["g0"]
        assert isinstance(error, ApiTimeout)
        assert (error.elapsed_ms, error.timeout_ms) == (2000, 5000)
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ApiTimeout):
            admin.describe_groups(of_silent, timeout=5, partial_timeout=2)
        assert cluster.clock.now_ms() - before_ms == 5000

    run_with_admin(use)


@pytest.mark.parametrize(
    ("fault", "kind", "at_most_ms"),
    [
        (Fault.REFUSE, TransportError, 2000),
        (Fault.RESET, TransportError, 2000),
        (Fault.BLACKHOLE, ConnectTimeout, 12_100),  # the connect limit, with its jitter
        (Fault.FREEZE, ConnectTimeout, 12_100),
    ],
)
def test_a_dead_broker_makes_the_list_partial_and_is_named(
    fault: Fault, kind: type[Exception], at_most_ms: int
) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for number in range(6):
            cluster.commit(f"g{number}", {("t", 0): 0})
        expected = {f"g{n}" for n in range(6) if cluster.coordinator(f"g{n}") != 2}
        cluster.sandbox.start_fault(2, fault)
        before_ms = cluster.clock.now_ms()
        listed = admin.list_groups()
        assert cluster.clock.now_ms() - before_ms <= at_most_ms
        assert set(listed.groups) == expected
        assert [node.node_id for node in listed.failed] == [2]
        error = next(iter(listed.failed.values()))
        assert isinstance(getattr(error, "cause", error), kind)

    run_with_admin(use)


def test_timeout_names_only_the_brokers_that_have_not_responded() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        [error] = admin.list_groups(timeout=3).failed.values()
        assert isinstance(error, ApiTimeout)
        assert [number for number in (1, 2, 3) if f"(id {number})" in error.summary.split(";")[0]] == [2]

    run_with_admin(use)


def freeze_while_listing(cluster: SimCluster, admin: Admin) -> None:
    """Freeze node 2 directly after the request for its groups."""
    admin.list_groups()
    cluster.hub.sleep_ms(1000)  # time after which metadata can be requested again
    cluster.at(2, lambda: cluster.sandbox.start_fault(2, Fault.FREEZE))


def test_a_broker_that_stops_responding_for_a_while_is_asked_again() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        freeze_while_listing(cluster, admin)
        cluster.at(3200, cluster.sandbox.heal)
        before_ms = cluster.clock.now_ms()
        listed = admin.list_groups(timeout=10)
        assert listed.failed == {}
        assert 3200 <= cluster.clock.now_ms() - before_ms < 4000

    run_with_admin(use, request_timeout_ms=1500)


@pytest.mark.parametrize("request_ms", [1500, 30_000])
def test_a_broker_that_stops_responding_for_good_is_asked_until_the_timeout(request_ms: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        freeze_while_listing(cluster, admin)
        before_ms = cluster.clock.now_ms()
        listed = admin.list_groups(timeout=25)
        assert cluster.clock.now_ms() - before_ms == 25_000
        [(node, error)] = listed.failed.items()
        assert node.node_id == 2
        assert isinstance(error, ApiTimeout)

    run_with_admin(use, request_timeout_ms=request_ms)


def test_where_no_broker_responds_the_timeout_of_the_call_is_the_one_that_passed() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_groups()
        cluster.hub.sleep_ms(1000)
        cluster.at(2, lambda: cluster.break_all(Fault.FREEZE))
        for timeout_ms in (1000, 4000):
            with pytest.raises(ApiTimeout):
                admin.list_groups(timeout=timeout_ms / 1000)

    run_with_admin(use, request_timeout_ms=4000)


def test_a_list_that_ends_at_its_deadline_has_what_came() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        admin.list_groups()
        cluster.sandbox.start_fault(cluster.elsewhere("g"), Fault.FREEZE)
        before_ms = cluster.clock.now_ms()
        listed = admin.list_groups(timeout=3)
        assert cluster.clock.now_ms() - before_ms == 3000
        assert list(listed.groups) == ["g"]
        assert [node.node_id for node in listed.failed] == [cluster.elsewhere("g")]

    run_with_admin(use)


@pytest.mark.parametrize("fault", [Fault.BLACKHOLE, Fault.SILENCE])
def test_offsets_of_leaders_that_answer_are_told_where_one_does_not(fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        dead = cluster.leader(0)
        cluster.sandbox.start_fault(dead, fault)
        keys = [TopicPartition("t", index) for index in range(4)]
        before_ms = cluster.clock.now_ms()
        results = admin.list_offsets(dict.fromkeys(keys, -1), timeout=3)
        assert cluster.clock.now_ms() - before_ms == 3000
        assert set(results.done) == {key for key in keys if cluster.leader(key.partition, key.topic) != dead}
        assert all(isinstance(error, ApiTimeout) for error in results.failed.values())

    run_with_admin(use)


def test_a_deletion_whose_answer_was_lost_is_done() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        admin.describe_groups(["g"])
        groups = cluster.sandbox.cluster.groups
        deleting = groups.delete

        def delete_and_die(group_id: str) -> None:
            deleting(group_id)
            cluster.sandbox.start_fault(cluster.coordinator("g"), Fault.SILENCE)
            cluster.at(3500, cluster.sandbox.heal)

        groups.delete = delete_and_die  # type: ignore[method-assign]  # a deletion that kills its node
        assert list(admin.delete_groups(["g"]).done) == ["g"]
        assert isinstance(admin.delete_groups(["g"]).failed["g"], error_class(ErrorCode.GROUP_ID_NOT_FOUND))

    run_with_admin(use, request_timeout_ms=3000)


def test_a_broker_that_came_back_is_not_judged_by_what_it_was() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 1})
        dead = cluster.elsewhere("g")
        for fault in (Fault.BLACKHOLE, Fault.RESET_ON_REQUEST):  # the second one also affects open connections
            cluster.sandbox.start_fault(dead, fault)
        assert [node.node_id for node in admin.list_groups().failed] == [dead]
        cluster.sandbox.heal()
        assert admin.list_groups().failed == {}

    run_with_admin(use)
