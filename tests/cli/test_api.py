"""`kctl api`: requests and responses as JSON, which broker is asked, exit codes, and what needs --execute."""

import json

import pytest

from kctl.cli.api import NEEDS_EXECUTE
from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import declared_apis
from tests.cli.processes import kctl


def test_a_response_is_printed_as_json_by_the_names_of_kafka(bootstrap: str, topic: str) -> None:
    ended = kctl("api", "Metadata", json.dumps({"Topics": [{"Name": topic}]}), "-b", bootstrap)
    assert (ended.code, ended.stderr) == (0, "")
    [described] = json.loads(ended.stdout)["topics"]
    assert (described["name"], described["errorCode"], len(described["partitions"])) == (topic, 0, 3)


def test_the_request_is_read_from_stdin_and_the_response_is_one_line_of_jsonl(bootstrap: str) -> None:
    ended = kctl("api", "list-groups", "-", "-b", bootstrap, "--output", "jsonl", stdin=b"{}")
    assert ended.code == 0
    assert len(ended.stdout.splitlines()) == 1
    assert json.loads(ended.stdout)["errorCode"] == 0


def test_version_and_node_are_used_and_told_with_verbose(bootstrap: str) -> None:
    ended = kctl("api", "ListGroups", "-b", bootstrap, "--version", "3", "--node", "1", "-v")
    assert ended.code == 0
    assert "kctl api: received the ListGroups response, version 3, from broker 1" in ended.stderr.splitlines()


def test_without_a_name_every_api_is_listed() -> None:
    ended = kctl("api", "--output", "jsonl")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {"v": 1, "kind": "apis", "name": "CreateAcls", "api_key": 30, "first_version": 1, "last_version": 3} in rows
    assert len(rows) > 75


def test_an_error_of_the_response_is_said_and_decides_the_exit_code(bootstrap: str, topic: str) -> None:
    missing = {"topics": [{"name": f"{topic}-missing", "partitions": [{"partitionIndex": 0}]}]}
    fields = {"topics": [{"name": f"{topic}-missing"}], "allowAutoTopicCreation": False}
    ended = kctl("api", "Metadata", json.dumps(fields), "-b", bootstrap)
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert "UNKNOWN_TOPIC_OR_PARTITION" in ended.stderr
    assert json.loads(ended.stdout)["topics"][0]["errorCode"] == 3
    refused = kctl("api", "DeleteRecords", json.dumps(missing), "-b", bootstrap, "--execute")
    assert (refused.code, refused.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")


def test_parts_that_fail_beside_others_end_with_3(bootstrap: str, topic: str) -> None:
    topics = [{"name": name, "numPartitions": 1, "replicationFactor": 1} for name in (topic, f"{topic}-new")]
    ended = kctl("api", "CreateTopics", json.dumps({"topics": topics}), "-b", bootstrap)
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert ended.stderr.startswith("kctl api: cannot complete CreateTopics: ")


READ = {
    "ApiVersions", "ConsumerGroupDescribe", "DescribeAcls", "DescribeClientQuotas", "DescribeCluster",
    "DescribeConfigs", "DescribeDelegationToken", "DescribeGroups", "DescribeLogDirs", "DescribeProducers",
    "DescribeQuorum", "DescribeShareGroupOffsets", "DescribeTopicPartitions", "DescribeTransactions",
    "DescribeUserScramCredentials", "Fetch", "FindCoordinator", "GetTelemetrySubscriptions", "ListConfigResources",
    "ListGroups", "ListOffsets", "ListPartitionReassignments", "ListTransactions", "Metadata", "OffsetFetch",
    "OffsetForLeaderEpoch", "ReadShareGroupState", "ReadShareGroupStateSummary", "SaslAuthenticate", "SaslHandshake",
    "ShareGroupDescribe", "StreamsGroupDescribe",
}  # fmt: skip
ADD_OR_MOVE_NOTHING_AWAY = {
    "AddOffsetsToTxn", "AddPartitionsToTxn", "AddRaftVoter", "AlterClientQuotas", "AlterReplicaLogDirs",
    "ConsumerGroupHeartbeat", "CreateDelegationToken", "CreatePartitions", "CreateTopics", "Heartbeat", "JoinGroup",
    "Produce", "PushTelemetry", "RenewDelegationToken", "ShareAcknowledge", "ShareFetch", "ShareGroupHeartbeat",
    "StreamsGroupHeartbeat", "SyncGroup",
}  # fmt: skip


def test_every_api_either_needs_execute_or_is_known_to_destroy_nothing() -> None:
    assert {each.name for each in declared_apis()} == READ | ADD_OR_MOVE_NOTHING_AWAY | NEEDS_EXECUTE
    assert not NEEDS_EXECUTE & (READ | ADD_OR_MOVE_NOTHING_AWAY)


def test_request_that_can_destroy_records_is_not_sent_without_execute(bootstrap: str, topic: str) -> None:
    fields = json.dumps({"topics": [{"name": topic}]})
    ended = kctl("api", "DeleteTopics", fields, "-b", bootstrap)
    assert ended.code == ExitCode.USAGE
    assert ended.stderr.splitlines() == [
        "kctl api: cannot send DeleteTopics without --execute: the request can delete records, offsets, or permissions",
        "hint: add --execute to send the request",
    ]
    assert topic in kctl("topics", "list", "-b", bootstrap).stdout.decode()
    assert kctl("api", "DeleteTopics", fields, "-b", bootstrap, "--yes").code == 0
    assert topic not in kctl("topics", "list", "-b", bootstrap).stdout.decode().split()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("Metadata", ""), "The request is not valid JSON: Expecting value"),
        (
            ("Produce", '{"acks": 0}'),
            "Produce: acks must not be 0, because the broker does not respond to requests with acks=0.",
        ),
        (("Metadata", "{"), "The request is not valid JSON: Expecting property name"),
        (("Metadata", "[]"), "The request is not a JSON object."),
        (("Metadata", "[" * 100_000), "The request is not valid JSON: it is nested too deeply."),
        (("Metadata", '{"topics": [{"nam": "a"}]}'), "Metadata: topics[0].nam: unknown field; "),
        (("NoSuchThing",), "Unknown API 'NoSuchThing'. List the APIs with: kctl api."),
        (("ListGroup",), "Unknown API 'ListGroup'. Did you mean 'ListGroups'?"),
        (("ListGroups", "--version", "99"), "ListGroups: invalid version 99: use 0 to 5"),
    ],
)
def test_a_mistake_is_named_before_anything_is_sent(words: tuple[str, ...], text: str) -> None:
    ended = kctl("api", *words, "-b", "127.0.0.1:1", "--api-timeout", "3s")
    assert ended.code == ExitCode.USAGE
    assert text in " ".join(ended.stderr.split())
    assert ended.stdout == b""
