"""`kctl produce` as a whole command in virtual time: it ends within --api-timeout when no record is delivered."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub
from tests.support.in_process import Ended, run_in_process

LINES = b"".join(b"%0999d\n" % number for number in range(3000))
BUFFER = ("-X", "buffer.memory=1048576", "-X", "batch.size=16384")


@pytest.mark.parametrize("options", [(), ("-X", "delivery.timeout.ms=8000", "-X", "request.timeout.ms=3000")])
@pytest.mark.parametrize("is_file", [True, False])
def test_input_that_fills_the_memory_of_a_dead_cluster_ends_within_api_timeout(
    tmp_path: Path, options: tuple[str, ...], is_file: bool
) -> None:
    file = tmp_path / "lines"
    file.write_bytes(LINES)
    ends: list[tuple[Ended, int]] = []
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics={"t": 2})

        def app() -> None:
            started_ms = hub.now_ms

            def freeze() -> None:
                for node_id in (1, 2, 3):
                    cluster.sandbox.start_fault(node_id, Fault.FREEZE)

            hub.call_later_ms(50, "fault", freeze)
            words = ["produce", "t", *([str(file)] if is_file else []), "-b", cluster.bootstrap]
            words += ["--api-timeout", "12s", "--rate", "2000/s", *BUFFER, *options]
            ended = run_in_process(*words, stdin=b"" if is_file else LINES, runtime=cluster.runtime)
            ends.append((ended, hub.now_ms - started_ms))

        cluster.run(app)
    ((ended, took_ms),) = ends
    assert ended.code == ExitCode.UNDELIVERED, ended
    assert took_ms <= 12_000 + 200, ended.stderr
    assert "no input after" in ended.stderr


@pytest.mark.parametrize(
    ("options", "limit", "request_limit"),
    [
        (("--api-timeout", "1s"), "1s (--api-timeout)", "995ms (the rest of --api-timeout)"),
        (("--api-timeout", "1s", "--output", "json"), "1s (--api-timeout)", "995ms (the rest of --api-timeout)"),
        (("--api-timeout", "9s", "--request-timeout", "1s"), "9s (--api-timeout)", "1s (--request-timeout)"),
        (("--delivery-timeout", "9s", "--request-timeout", "1s"), "9s (--delivery-timeout)", "1s (--request-timeout)"),
    ],
)
def test_message_names_the_limit_that_the_user_gave(options: tuple[str, ...], limit: str, request_limit: str) -> None:
    ended: list[Ended] = []
    with Hub(seed=3) as hub:
        cluster = SimCluster(hub, topics={"t": 1})

        def app() -> None:
            leader = cluster.sandbox.cluster.topics["t"].partitions[0].leader_id
            other = next(each for each in cluster.sandbox.cluster.nodes if each != leader)
            cluster.sandbox.start_fault(leader, Fault.FREEZE)
            words = ("produce", "t", "-b", f"10.0.0.{other}:9092", *options)
            ended.append(run_in_process(*words, stdin=b"a\n", runtime=cluster.runtime))

        cluster.run(app)
    assert ended[0].code == ExitCode.ADVERTISED_ADDRESS, ended
    assert f"timed out after {limit} while waiting for a connection to broker" in ended[0].stderr
    assert f"no ApiVersions response within {request_limit} [phase apiversions]" in ended[0].stderr
