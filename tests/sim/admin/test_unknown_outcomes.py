"""Changes with a lost response: commands report `unknown`, and the command that shows the result."""

import json
from itertools import chain, repeat

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import Admin, NewTopic
from kctl.client.admin.unconfirmed import Unconfirmed
from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import KafkaError
from kctl.client.network.connection import Connection
from kctl.client.network.request_table import RequestTable
from kctl.client.protocol.schema import Request
from kctl.sandbox import Fault
from kctl.sandbox.cluster import Cluster
from tests.sim.admin.test_commands import TIMEOUT_MS, Run, with_commands
from tests.sim.kit import SimCluster, run_with_admin
from tests.support.in_process import run_in_process

FORWARDED = "KRaft brokers forward CreateTopics to the controller. Check the controllers with: kctl why cluster"

COMMANDS = {
    "topics create new": "kctl topics describe new",
    "topics alter t --config retention.ms=1": "kctl topics describe t",
    "topics alter t --partitions 9": "kctl topics describe t",
    "topics trim t --before end --execute": "kctl topics offsets t",
    "topics delete t --execute": "kctl topics describe t",
    "configs set topic t retention.ms=1": "kctl configs show topic t",
    "configs set broker 1 log.cleaner.threads=2": "kctl configs show broker 1",
    "configs unset broker-defaults log.retention.ms": "kctl configs show broker-defaults",
    "quotas set --user ann producer_byte_rate=5": "kctl quotas list",
    "acls create --allow User:ann --operation read --topic t": "kctl acls list",
    "groups delete g --execute": "kctl groups describe g",
    "groups reset-offsets g --to-latest --execute": "kctl groups describe g",
    "groups delete-offsets g --topic t --execute": "kctl groups describe g",
    "groups remove-members s --instance one --execute": "kctl groups members s",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_change_without_a_response_is_unknown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"x", partition=0)
        sent = Unconfirmed.sent

        def and_lose_the_response(self: Unconfirmed, node_id: int, request: Request) -> bool:
            is_change = sent(self, node_id, request)
            for each in (1, 2, 3) if is_change else ():
                cluster.sandbox.start_fault(each, Fault.DROP_RESPONSES)
            return is_change

        with monkeypatch.context() as patched:
            patched.setattr(Unconfirmed, "sent", and_lose_the_response)
            ended = run(f"{command} --output json")
        assert ended.code != 0
        assert {row["result"] for row in json.loads(ended.stdout)["rows"]} - {"nothing to delete"} == {"unknown"}
        assert ". The change may have been made" in ended.stderr
        error = json.loads(ended.stderr.splitlines()[-1])
        assert error["hint"] == f"check the result with: {COMMANDS[command]}"
        cluster.sandbox.heal()
        check, name = COMMANDS[command], command.split()[1]
        if name != "delete":
            shown = run(check.removeprefix("kctl "))
            assert shown.code == 0 or "No Authorizer is configured" in shown.stderr

    with_commands(use, monkeypatch)


TIMED_OUT = {
    "configs set topic t retention.ms=1": "IncrementalAlterConfigs",
    "configs set broker 1 log.cleaner.threads=2": "IncrementalAlterConfigs",
    "groups delete g --execute": "DeleteGroups",
    "groups reset-offsets g --to-latest --execute": "OffsetCommit",
    "groups delete-offsets g --topic t --execute": "OffsetDelete",
    "topics create new": "CreateTopics",
    "partitions elect --all": "ElectLeaders",
    "transactions abort t:0 --start-offset 0 --force --execute": "WriteTxnMarkers",
}


@pytest.mark.parametrize("command", TIMED_OUT)
def test_change_that_brokers_may_complete_later_is_unknown(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        with cluster.producer({"transactional.id": "open"}) as producer:
            producer.init_transactions(timeout=10)
            producer.begin_transaction()
            producer.send("t", b"x", partition=0)
            producer.flush()
            cluster.sandbox.create_topic("r", replication_factor=2)
            cluster.sandbox.move_leader("r", 0, cluster.sandbox.cluster.topics["r"].partitions[0].replicas[1])
            cluster.sandbox.fail_requests(TIMED_OUT[command], ErrorCode.REQUEST_TIMED_OUT, times=1_000)
            ended = run(f"{command} --output json")
            producer.abort_transaction(timeout=10)
        assert ended.code != 0
        assert {row["result"] for row in json.loads(ended.stdout)["rows"]} == {"unknown"}
        assert ". The change may have been made" in ended.stderr

    with_commands(use, monkeypatch)


def test_change_that_was_not_sent_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        for each in (1, 2, 3):
            cluster.sandbox.start_fault(each, Fault.SILENCE)
        ended = run("topics create new --output json")
        assert (ended.code, ended.stdout) == (12, b"")
        assert "may have been made" not in ended.stderr

    with_commands(use, monkeypatch)


def test_request_that_is_repeated_after_a_lost_response_leaves_its_refusal_open() -> None:
    def app(cluster: SimCluster, _admin: Admin) -> None:
        with cluster.admin(request_timeout_ms=5000) as other:
            other.create_topics([NewTopic("a")], timeout=60).raise_first()
            for each in (1, 2, 3):
                cluster.sandbox.start_fault(each, Fault.DROP_RESPONSES)
            cluster.hub.call_later_ms(7000, "heal", cluster.sandbox.heal)
            [error] = other.create_topics([NewTopic("b")], timeout=60).failed.values()
        assert "TOPIC_ALREADY_EXISTS" in str(error)
        assert error.outcome_unknown

    run_with_admin(app)


@pytest.mark.parametrize(
    ("request_timeout", "code", "is_request_first"),
    [
        ("30s", ExitCode.API_TIMEOUT, True),
        ("30s", ExitCode.API_TIMEOUT, False),
        (f"{TIMEOUT_MS // 2}ms", ExitCode.REQUEST_TIMEOUT, True),
    ],
)
def test_stopped_controllers_have_the_same_exit_code_whichever_timeout_passes_first(
    request_timeout: str, code: ExitCode, is_request_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use(cluster: SimCluster, run: Run) -> None:
        cluster.sandbox.stop_controllers()
        ended = run(f"topics create new --request-timeout {request_timeout}")
        assert (ended.code, FORWARDED in ended.stderr) == (code, True), ended.stderr
        cluster.sandbox.start_controllers()

    if not is_request_first:
        expire_requests_late(monkeypatch)
    with_commands(use, monkeypatch)


def expire_requests_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call pass its deadline before its last request."""
    expire = RequestTable.expire

    def expire_late(self: RequestTable, connection: Connection, now_ms: int) -> KafkaError | None:
        return expire(self, connection, now_ms - 1)

    monkeypatch.setattr(RequestTable, "expire", expire_late)


def test_failed_connection_is_not_the_cause_while_a_forwarded_request_is_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Metadata lists a frozen broker as the controller first, then another broker gets no response.

    Kafka lists frozen brokers while the quorum has no majority.
    """

    def use(cluster: SimCluster, _run: Run) -> None:
        cluster.sandbox.stop_controllers()
        cluster.sandbox.start_fault(1, Fault.FREEZE)
        named = chain([1], repeat(3))
        monkeypatch.setattr(Cluster, "forwarding_id", property(lambda _: next(named)))
        limits = "-X socket.connection.setup.timeout.ms=500 -X socket.connection.setup.timeout.max.ms=500"
        last = cluster.bootstrap.rpartition(",")[2]
        line = f"topics create new --request-timeout 30s {limits} -b {last} --api-timeout 4s"
        ended = run_in_process(*line.split(), runtime=cluster.runtime)
        assert (ended.code, FORWARDED in ended.stderr) == (ExitCode.API_TIMEOUT, True), ended.stderr

    expire_requests_late(monkeypatch)
    with_commands(use, monkeypatch)
