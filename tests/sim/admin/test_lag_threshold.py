"""`groups lag --threshold`: 3 means a lag above it, and a lag that cannot be read has the code of its error."""

import json

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run_with_admin
from tests.sim.kit.command_lines import run_line, use_hub


@pytest.mark.parametrize(
    ("behind", "is_frozen", "options", "code"),
    [
        (0, False, "--threshold 5", ExitCode.OK),
        (6, False, "--threshold 5", ExitCode.PARTIAL_FAILURE),
        (6, True, "--threshold 5", ExitCode.PARTIAL_FAILURE),
        (0, True, "--threshold 5", ExitCode.CONNECT_TIMEOUT),
        (0, True, "", ExitCode.PARTIAL_FAILURE),
    ],
)
def test_lag_above_the_threshold_and_unknown_lag_have_their_own_codes(
    behind: int, is_frozen: bool, options: str, code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, _admin: object) -> None:
        use_hub(monkeypatch, cluster)
        cluster.commit("g", {("t", number): 0 for number in range(4)})
        frozen = next(node_id for node_id in (1, 2, 3) if node_id != cluster.coordinator())
        with cluster.producer() as producer:
            for number in range(4):
                for _ in range(behind if cluster.leader(number) != frozen else 0):
                    producer.send("t", b"x", partition=number)
        if is_frozen:
            cluster.sandbox.start_fault(frozen, Fault.FREEZE)
        ended = run_line(cluster, f"groups lag g {options}")
        assert ended.code == code, ended.stderr

    run_with_admin(use)


@pytest.mark.parametrize("line", ["groups lag", "groups describe"])
def test_groups_of_live_brokers_are_shown_if_a_frozen_broker_does_not_list_its_groups(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, _admin: object) -> None:
        use_hub(monkeypatch, cluster)
        cluster.commit("g", {("t", number): 0 for number in range(4)})
        frozen = next(node_id for node_id in (1, 2, 3) if node_id != cluster.coordinator())
        cluster.sandbox.start_fault(frozen, Fault.FREEZE)
        ended = run_line(cluster, f"{line} --output json", api_timeout="5s")
        assert ended.code == ExitCode.PARTIAL_FAILURE, ended.stderr
        assert json.loads(ended.stdout)["rows"]

    run_with_admin(use)


def test_group_whose_offsets_are_not_read_is_not_below_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, _admin: object) -> None:
        use_hub(monkeypatch, cluster)
        cluster.commit("g", {("t", 0): 0})
        cluster.sandbox.fail_requests("ListOffsets", ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=1_000)
        assert run_line(cluster, "groups lag g --threshold 5").code == ExitCode.NOT_AUTHORIZED

    run_with_admin(use)
