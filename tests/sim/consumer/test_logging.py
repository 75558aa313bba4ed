"""Log lines of clients: level, frequency, and logger."""

import logging
from collections.abc import Iterator

import pytest

from kctl.client.errors import KafkaError
from kctl.client.events import AutoCommitFailed, MembershipLost
from kctl.sandbox import Fault
from tests.sim.kit.groups import GroupCluster
from tests.sim.virtual import Hub


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=35) as hub:
        yield GroupCluster(hub, topics={"t": 2})


def lines(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    """Return the lines of one logger."""
    return [f"{each.levelname} {each.getMessage()}" for each in caplog.records if each.name == f"kctl.client.{name}"]


def test_failed_connections_are_warnings_once_a_minute_for_each_broker_and_cause(
    cluster: GroupCluster, caplog: pytest.LogCaptureFixture
) -> None:
    def body() -> None:
        cluster.break_all(Fault.REFUSE)
        with cluster.consumer(group_id="g", client_id="app") as consumer:
            consumer.subscribe(["t"])
            consumer.poll(50)
            first = lines(caplog, "connections")
            assert len(first) == 3, "one for each bootstrap server"
            assert all(line.startswith("WARNING app: connection failed: ") for line in first)
            assert all(": connection refused (RST " in line for line in first)
            consumer.poll(50)
            assert all(
                "similar failures since the last line were not logged)" in line
                for line in lines(caplog, "connections")[3:]
            )
            assert len(lines(caplog, "connections")) == 6

    cluster.run(body)


def test_lost_broker_is_a_warning(cluster: GroupCluster, caplog: pytest.LogCaptureFixture) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.list_topics(timeout=5)
            cluster.break_all(Fault.RESET_ON_REQUEST)
            with pytest.raises(KafkaError):
                consumer.list_topics(timeout=1)
            assert any("connection lost: " in line for line in lines(caplog, "connections"))

    cluster.run(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_life_of_a_member_is_logged(cluster: GroupCluster, caplog: pytest.LogCaptureFixture, protocol: str) -> None:
    def body() -> None:
        with cluster.consumer(group_id="g", group_protocol=protocol) as consumer:
            consumer.subscribe(["t"])
            while not consumer.assignment:
                consumer.poll(1)
        said = lines(caplog, "groups")
        for part in (
            "INFO group g: the coordinator is ",
            " joined generation ",
            ": assigned t-0, t-1",
            "group g: left",
        ):
            assert any(part in line for line in said), f"{part}: {said}"

    with caplog.at_level(logging.INFO, "kctl.client"):
        cluster.run(body)
    assert lines(caplog, "requests") == []


def test_requests_are_logged_at_debug(cluster: GroupCluster, caplog: pytest.LogCaptureFixture) -> None:
    def body() -> None:
        with cluster.consumer() as consumer:
            consumer.list_topics(timeout=5)

    with caplog.at_level(logging.DEBUG, "kctl.client.requests"):
        cluster.run(body)
    assert any(
        ": Metadata " in line and ": sent " in line and " bytes (version " in line for line in lines(caplog, "requests")
    )
    assert any(": Metadata " in line and ": received " in line for line in lines(caplog, "requests"))


def test_lines_name_at_most_five_partitions() -> None:
    partitions = tuple(("t", number) for number in range(2000))
    lost = MembershipLost(0, "g", "m", partitions, "reason", None)
    assert str(lost) == "group g: member m has lost t-0, t-1, t-2, t-3, t-4 and 1995 more: reason"
    failed = AutoCommitFailed(0, "g", tuple((*each, 7) for each in partitions), KafkaError("reason"))
    assert str(failed).count(" at 7") == 5
