"""Entire commands with a hostile broker: they exit with a documented exit code."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

from kctl.cli.command_tree import read_tree
from kctl.client import metadata
from kctl.client.admin.coordinators import Coordinators
from kctl.client.cluster import Node, TopicInfo
from kctl.client.errors import RemoteProtocolError
from kctl.client.probe import AddressReport
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from tests.sim.growth.command_table import ONE_WORD
from tests.sim.hostile.edits import megabyte_edits, mutated
from tests.sim.hostile.stage import Run, Stage, play, run_alone
from tests.unit.source_trees import ROOT

LINES = b"".join(b"%d\n" % number for number in range(20))
PLAN = Path(__file__).with_name("plan.json")
APPLIED = b"topics: [{name: new}, {name: t, configs: {retention.ms: 5}, partitions: 9}]"
COMMANDS: Mapping[str, bytes] = {
    **dict.fromkeys(
        [
            "topics list",
            "topics create new",
            "topics trim t --before end --execute",
            "topics describe t",
            "topics alter t --config retention.ms=1",
            "topics offsets t",
            "topics delete t --execute",
            "groups list",
            "groups describe g",
            "groups describe live",
            "groups members live",
            "groups lag g",
            "groups delete g --execute",
            "groups reset-offsets g --to-earliest --execute",
            "groups delete-offsets g --topic t --execute",
            "groups remove-members live --instance one --execute",
            "why topic t",
            "why group live",
            "why cluster",
            "doctor",
            "probe",
            "cluster describe",
            "cluster quorum",
            "brokers log-dirs",
            "configs show topic t",
            "configs set topic t retention.ms=1",
            "configs unset topic t retention.ms",
            "quotas set --user ann producer_byte_rate=1MB",
            "quotas unset --user ann producer_byte_rate",
            "quotas describe --user ann",
            "quotas list",
            "users list",
            "users create bob --password-from env:SECRET",
            "users alter ann --password-from env:SECRET",
            "users delete ann --execute",
            "acls list",
            "acls create --allow User:a --topic t --operation read",
            "acls delete --principal User:ann --execute",
            "acls check User:ann --topic t --operation read",
            "apply --export",
            "partitions list",
            "partitions plan t --to-brokers 1,2",
            "partitions elect --all --execute",
            f"partitions move {PLAN}",
            "transactions list",
            "transactions hanging",
            "transactions describe x",
            "transactions abort t:0 --execute",
            "wait topic t",
            "wait brokers 1",
            "wait group g --state Empty",
            "api Metadata {}",
            "consume t -e",
            "consume t -e --output jsonl",
            "consume t -e -g other",
            "consume t --tail 2",
            "bench produce -n 20",
            "bench consume -n 20",
            "bench end-to-end -n 3",
        ],
        b"",
    ),
    "apply -f -": APPLIED,
    "produce t": LINES,
    "produce t --transactional": LINES,
}
ELSEWHERE = {
    "schemas": "tests/loopback/test_hostile_registries.py",
    **dict.fromkeys(
        ["pipeline", "probe report", "completion", "explain", "help-json", "options", "profile", "sandbox"], ""
    ),
}
QUICK_SEEDS, DEEP_SEEDS = 4, 60
MOST_REMEMBERED = 50
UNEDITED_APIS = ("ApiVersions", "SaslHandshake")
"""Edited in one response of ten: a command that cannot negotiate versions says nothing else."""


def talk(stage: Stage, line: str, seed: int) -> Run:
    """Run a command whose responses are edited, by the seed."""
    random = Random(f"{line} {seed}")
    others: list[bytes] = []

    def edit(response: Response, version: int, correlation_id: int) -> bytes | None:
        if len(others) < MOST_REMEMBERED:
            others.append(encode_response(response, version, correlation_id)[8:])
        if random.random() < (0.9 if response.NAME in UNEDITED_APIS else 0.5):
            return None
        return mutated(random, response, version, correlation_id, others)

    return stage.run(line, COMMANDS[line], edit)


def check_seeds(line: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    def scene(stage: Stage) -> None:
        for seed in seeds:
            wrong = talk(stage, line, seed).wrong()
            assert not wrong, f"talk(stage, {line!r}, {seed}): {wrong}"

    play(monkeypatch, scene)


@pytest.mark.parametrize("line", COMMANDS)
def test_command_survives_edited_responses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seeds(line, range(QUICK_SEEDS), monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("line", COMMANDS)
def test_command_survives_many_edited_responses(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_seeds(line, range(QUICK_SEEDS, DEEP_SEEDS), monkeypatch)


# --- a megabyte of items ----------------------------------------------------------------------------------------------


def check_megabytes(line: str, api: str | None) -> None:
    """Fill each array and each text of each response, or of the responses of one API, of a conversation."""
    _, conversation = run_alone(line, COMMANDS[line])
    for cls, version in dict.fromkeys(conversation):
        for name, edit in megabyte_edits(cls, version) if api in (None, cls.NAME) else ():
            run, _ = run_alone(line, COMMANDS[line], edit)
            assert not run.wrong(), f"{name}: {run.wrong()}"


def test_each_command_is_attacked() -> None:
    """Commands without a broker are tested in the listed file; jobs of Spark are not."""
    commands = {command.name.removeprefix("kctl ") for command in read_tree().walk() if command.runs}
    elsewhere = {name for name in commands if name in ELSEWHERE or name.split()[0] in ELSEWHERE}
    attacked = {" ".join(line.split()[: 1 if line.split()[0] in ONE_WORD else 2]) for line in COMMANDS}
    assert commands - elsewhere == attacked
    assert all((ROOT / file).exists() for file in ELSEWHERE.values() if file)


@pytest.mark.parametrize(("line", "api"), [("topics describe t", "Metadata"), ("groups list", "ListGroups")])
@pytest.mark.nightly  # a bound on CPU
def test_response_of_a_megabyte_is_bounded(line: str, api: str) -> None:
    check_megabytes(line, api)


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.nightly
def test_each_part_of_each_response_is_bounded(line: str) -> None:
    check_megabytes(line, None)


# --- planted bugs -----------------------------------------------------------------------------------------------------


def lookup_of_any_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group in a response is looked up among the requested groups."""

    def node(self: Coordinators, group_id: str) -> Node | None:
        return self._call.client.metadata.cluster.node(self._found[group_id])

    monkeypatch.setattr(Coordinators, "node", node)


def first_of_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first broker of a response is used, whether there is one or not."""
    malformed = metadata.malformed_metadata

    def check(response: MetadataResponse, *words: str) -> RemoteProtocolError | None:
        assert response.topics[-1].partitions[0].replica_nodes[0] is not None
        return malformed(response, *words)

    monkeypatch.setattr("kctl.client.metadata.malformed_metadata", check)


def order_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers with the same address are ordered by racks, of which one is None."""

    def brokers(reports: Sequence[AddressReport]) -> list[Node]:
        return sorted({broker for report in reports if report.view for broker in report.view.brokers})

    monkeypatch.setattr("kctl.cli.probe.verdict.brokers", brokers)
    monkeypatch.setattr("kctl.cli.probe.view.objects.brokers", brokers)


def room_for_the_highest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers and epochs have a place by their number, up to 400 MB."""
    topics_in = metadata.topics_in

    def places(response: MetadataResponse) -> list[TopicInfo]:
        parts = [part for topic in response.topics for part in topic.partitions]
        numbers = [number for part in parts for number in (part.leader_id, part.leader_epoch)]
        ids = [response.controller_id, *(broker.node_id for broker in response.brokers)]
        assert len(b"x" * min(max(*numbers, *ids, 0), 400 << 20)) >= 0
        return topics_in(response)

    monkeypatch.setattr("kctl.client.metadata.topics_in", places)


PLANTED: Mapping[Callable[[pytest.MonkeyPatch], None], str] = {
    lookup_of_any_group: "groups describe g",
    first_of_none: "topics create new",
    order_of_nothing: "probe",
    room_for_the_highest_number: "partitions list",
}
SEEDS_FOR_A_BUG = 40


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_edited_responses_find_a_planted_bug(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def scene(stage: Stage) -> None:
        plant(monkeypatch)
        found.extend(seed for seed in range(SEEDS_FOR_A_BUG) if not found and talk(stage, PLANTED[plant], seed).wrong())

    play(monkeypatch, scene)
    assert found


@pytest.mark.nightly
def test_items_of_a_megabyte_find_a_quadratic_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(_kind: str, keys: Sequence[object]) -> str | None:
        seen: list[object] = []
        for key in keys:
            if key in seen:
                return str(key)
            seen.append(key)
        return None

    monkeypatch.setattr("kctl.client.metadata._twice", twice)
    with pytest.raises(AssertionError, match="CPU"):
        check_megabytes("topics describe t", "Metadata")
