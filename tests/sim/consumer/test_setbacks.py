"""Errors that repeat although each response allows a retry: the last error is the reason of the wait."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import WaitKind
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, drain, run
from tests.sim.kit.command_lines import run_line, use_hub

T0 = TopicPartition("t", 0)
ALWAYS = 1000


@pytest.mark.parametrize("end", ["--idle-timeout 6s", "-e"])
@pytest.mark.parametrize("more", ["", "-X auto.offset.reset=earliest"])
def test_reading_without_a_valid_offset_ends_with_the_error(
    end: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = Replies()
    replies.refuse("Fetch", ErrorCode.OFFSET_OUT_OF_RANGE, ALWAYS)

    def app(cluster: SimCluster) -> None:
        cluster.write(0, 3)
        use_hub(monkeypatch, cluster)
        with replies.installed():
            ended = run_line(cluster, f"consume t -o 0 {end} {more}", api_timeout="8s")
        assert "OFFSET_OUT_OF_RANGE" in ended.stderr
        assert ended.code == ExitCode.DATA, ended

    run(app)


@pytest.mark.parametrize(
    ("api", "protocol"),
    [("JoinGroup", "classic"), ("SyncGroup", "classic"), ("ConsumerGroupHeartbeat", "consumer")],
)
@pytest.mark.parametrize("end", ["--idle-timeout 3s", "-n 1"])
def test_member_that_the_group_does_not_accept_ends_with_the_error(
    api: str, protocol: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = Replies()
    replies.refuse(api, ErrorCode.UNKNOWN_MEMBER_ID, ALWAYS)

    def app(cluster: SimCluster) -> None:
        use_hub(monkeypatch, cluster)
        with replies.installed():
            ended = run_line(cluster, f"consume t -g g {end} -X group.protocol={protocol}")
        assert "UNKNOWN_MEMBER_ID" in ended.stderr.splitlines()[-1], ended
        assert ended.code != ExitCode.OK

    run(app)


@pytest.mark.parametrize(("policy", "count"), [("earliest", 3), ("latest", 0)])
def test_error_is_forgotten_after_records_and_at_the_end(policy: str, count: int) -> None:
    replies = Replies()
    replies.refuse("Fetch", ErrorCode.OFFSET_OUT_OF_RANGE, 1)

    def app(cluster: SimCluster) -> None:
        cluster.write(0, 3)
        with replies.installed(), cluster.consumer(auto_offset_reset=policy) as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 0)
            drain(consumer, count)
            assert consumer.poll(2) == []
            assert len(cluster.resets()) == 1
            assert consumer.waiting_for()[T0].kind is WaitKind.AT_END

    run(app)


@pytest.mark.parametrize(
    ("more", "api"), [("", "Metadata"), ("", "ApiVersions"), ("-g g", "Metadata"), ("-g g", "FindCoordinator")]
)
def test_idle_timeout_also_limits_the_start(more: str, api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = Replies()
    replies.unanswered.add(api)

    def app(cluster: SimCluster) -> None:
        use_hub(monkeypatch, cluster)
        began_ms = cluster.hub.now_ms
        with replies.installed():
            ended = run_line(cluster, f"consume t --idle-timeout 4s {more}", api_timeout="60s")
        assert cluster.hub.now_ms - began_ms < 6000
        assert "no records for 4s (--idle-timeout): " in ended.stderr
        assert ended.code != ExitCode.OK

    run(app)
