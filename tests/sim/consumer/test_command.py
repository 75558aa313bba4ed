"""`kctl consume` on a simulated cluster: where a group continues, the last commit, and offsets that are gone."""

from collections.abc import Callable, Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub, LinkFault
from tests.support.in_process import Ended, run_in_process

pytestmark = pytest.mark.slow
TRANSIENT = [
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
]


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=5) as hub:
        yield SimCluster(hub, topics={"t": 3})


def consume(cluster: SimCluster, line: str) -> Ended:
    idle = () if "--idle-timeout" in line else ("--idle-timeout", "40s")  # rather than forever
    return run_in_process("consume", *line.split(), *idle, "-b", cluster.bootstrap, runtime=cluster.runtime)


def committed(cluster: SimCluster, group: str = "g") -> dict[int, int]:
    offsets = cluster.sandbox.cluster.groups.offsets.get(group, {})
    return {partition: each.offset for (_, partition), each in offsets.items()}


def play(cluster: SimCluster, line: str, *others: Callable[[], None]) -> Ended:
    ended: list[Ended] = []
    cluster.play(lambda: ended.append(consume(cluster, line)), *others)
    return ended[0]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("start", ["end", "-10", "@-1h"])
def test_group_continues_where_each_partition_began(cluster: SimCluster, protocol: str, start: str) -> None:
    given = f"t -g g -o {start} -X group.protocol={protocol}"

    def writer() -> None:
        cluster.hub.sleep_ms(4000)
        cluster.write(0, 1, first=0)

    cluster.write(1, 12)
    first = play(cluster, f"{given} -n {11 if start == '-10' else 1}", writer)
    assert first.code == ExitCode.OK, first
    assert sorted(committed(cluster)) == [0, 1, 2], "also of partitions without a record"
    cluster.hub.sleep_ms(10)
    for partition in range(3):
        cluster.write(partition, 1, first=100)
    assert play(cluster, f"{given} -e").stdout.split() == [b"100"] * 3


@pytest.mark.parametrize("ending", ["-e", "-n 50"])
@pytest.mark.parametrize("code", TRANSIENT, ids=lambda code: code.name)
def test_last_commit_is_retried(cluster: SimCluster, code: ErrorCode, ending: str) -> None:
    cluster.write(0, 50)
    replies = Replies()
    replies.refuse("OffsetCommit", code, 1)
    with replies.installed():
        assert play(cluster, f"t -g g -o start {ending}").code == ExitCode.OK
    assert committed(cluster)[0] == 50
    cluster.hub.sleep_ms(10)
    assert play(cluster, "t -g g -e").stdout == b""


def test_last_commit_that_is_refused_until_the_close_timeout_names_the_cause(cluster: SimCluster) -> None:
    cluster.write(0, 50)
    replies = Replies()
    replies.refuse("OffsetCommit", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 10_000)
    with replies.installed():
        ended = play(cluster, "t -g g -o start -e --close-timeout 7s")
    assert ended.code == ExitCode.CLOSE_TIMEOUT
    assert "close timed out after 7000ms (--close-timeout) in phase commit; offsets committed: no" in ended.stderr
    assert "COORDINATOR_LOAD_IN_PROGRESS" in ended.stderr


def recreate(cluster: SimCluster, count: int, pause_ms: int = 3000) -> None:
    cluster.sandbox.cluster.delete_topic("t")
    cluster.sandbox.create_topic("t", 3)
    cluster.hub.sleep_ms(pause_ms)
    cluster.write(0, count, word="new")


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("away_ms", [1, 100, 250, 1500])
def test_position_that_is_not_committed_yet_is_not_committed_to_the_recreated_topic(
    cluster: SimCluster, protocol: str, away_ms: int
) -> None:
    """A commit is repeated while the topic is away: it must not reach the topic that takes the name."""

    def operator() -> None:
        cluster.hub.sleep_ms(500)
        cluster.sandbox.cluster.delete_topic("t")
        cluster.hub.sleep_ms(away_ms)
        cluster.sandbox.create_topic("t", 3)
        cluster.write(0, 30, word="new")

    cluster.write(0, 20)
    given = f"t -g g -o start -n 50 -X group.protocol={protocol} -X metadata.max.age.ms=500"
    ended = play(cluster, given, operator)
    assert ended.code == ExitCode.OK, ended
    assert ended.stdout.split()[-30:] == [b"new%d" % number for number in range(30)]


@pytest.mark.parametrize("is_longer", [False, True], ids=["shorter", "longer"])
@pytest.mark.parametrize("group", ["", " -g g"])
@pytest.mark.parametrize("start", ["start", "end", "-20"])
def test_reader_of_a_recreated_topic_continues_with_the_new_one(
    cluster: SimCluster, group: str, start: str, is_longer: bool
) -> None:
    """A log with an offset of that number already is not continued in its midst."""

    def operator() -> None:
        cluster.hub.sleep_ms(5000)
        recreate(cluster, 30, pause_ms=0 if is_longer else 3000)

    cluster.write(0, 20)
    count = 30 if start == "end" else 50
    ended = play(cluster, f"t -o {start} -n {count}{group} -X metadata.max.age.ms=1000", operator)
    assert ended.code == ExitCode.OK, ended
    assert ended.stdout.split()[-30:] == [b"new%d" % number for number in range(30)]
    assert (
        "offset 20 of t-0 no longer exists: continuing at offset 0, the log was truncated or the topic was recreated"
        in (ended.stderr)
    )


def test_exit_at_end_ends_where_a_shorter_new_log_ends(cluster: SimCluster) -> None:
    def operator() -> None:
        cluster.hub.sleep_ms(3000)
        recreate(cluster, 5)

    for number in range(50):
        cluster.write(0, 1, first=number, value_bytes=100)
    slow = Replies()
    slow.late_ms["Fetch"] = 200
    with slow.installed():
        ended = play(cluster, "t -o start -e -X max.partition.fetch.bytes=100", operator)
    assert ended.code == ExitCode.OK, ended


@pytest.mark.parametrize("group", ["", " -g g"])
@pytest.mark.parametrize("start", ["start", "end"])
def test_records_that_retention_deleted_are_counted_and_the_rest_is_read(
    cluster: SimCluster, group: str, start: str
) -> None:
    def operator() -> None:
        cluster.hub.sleep_ms(4000)
        cluster.network.faults.start(LinkFault.REFUSE)
        for connection in cluster.network.connections_of():
            connection.cut()
        cluster.write(0, 20, first=20)
        cluster.write(0, 15, first=40)
        cluster.sandbox.delete_records("t", 0, 40)
        cluster.hub.sleep_ms(1000)
        cluster.network.faults.heal()

    cluster.write(0, 20)
    ended = play(cluster, f"t -o {start} -n {15 if start == 'end' else 35}{group}", operator)
    assert ended.code == ExitCode.OK, ended
    assert ended.stdout.split()[-15:] == [b"%d" % number for number in range(40, 55)]
    assert "offset 20 of t-0 no longer exists: continuing at offset 40, 20 offsets were lost" in ended.stderr
    assert committed(cluster).get(0, 55) == 55


@pytest.mark.parametrize("option", ["--exit-on-loss", "-X auto.offset.reset=none"])
def test_exit_on_loss_ends_with_24(cluster: SimCluster, option: str) -> None:
    def operator() -> None:
        cluster.hub.sleep_ms(4000)
        cluster.sandbox.cluster.delete_topic("t")
        cluster.sandbox.create_topic("t", 3)

    cluster.write(0, 20)
    ended = play(cluster, f"t -o start -n 50 {option} -X metadata.max.age.ms=1000", operator)
    assert ended.code == ExitCode.DATA
    assert "offset 20 of t-0 no longer exists" in ended.stderr
    assert "hint: to continue at the next offset, remove --exit-on-loss" in ended.stderr


def test_exit_on_loss_and_a_reset_policy_exclude_each_other(cluster: SimCluster) -> None:
    ended = play(cluster, "t --exit-on-loss -X auto.offset.reset=latest")
    assert ended.code == ExitCode.USAGE
    assert "--exit-on-loss cannot be combined with auto.offset.reset" in ended.stderr


def test_group_commits_where_a_reset_policy_led(cluster: SimCluster) -> None:
    """The next run must neither reset again nor skip records."""
    cluster.play(lambda: cluster.commit("g", {("t", 0): 5}))
    cluster.write(0, 20)
    cluster.sandbox.delete_records("t", 0, 10)
    cluster.hub.sleep_ms(10)
    ended = play(cluster, "t -g g --idle-timeout 3s -X auto.offset.reset=latest")
    assert "offset 5 of t-0 no longer exists: continuing at offset 20" in ended.stderr
    assert committed(cluster) == {0: 20, 1: 0, 2: 0}


def test_asynchronous_commit_before_close_is_retried(cluster: SimCluster) -> None:
    replies = Replies()

    def actor() -> None:
        with cluster.consumer(group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            replies.refuse("OffsetCommit", ErrorCode.NOT_COORDINATOR, 1)
            consumer.commit_async({TopicPartition("t", 0): 7})
            assert consumer.close(10).committed is True

    with replies.installed():
        cluster.play(actor)
    assert committed(cluster) == {0: 7}
