"""Whole commands in conversations with a broker that answers anything: they end, with an exit code of their own."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import pytest

from kctl.client import metadata
from kctl.client.admin.coordinators import Coordinators
from kctl.client.cluster import Node, TopicInfo
from kctl.client.errors import RemoteProtocolError
from kctl.client.probe import AddressReport
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from tests.sim.hostile.edits import Stuffing, array_paths, mutated
from tests.sim.hostile.stage import Run, Stage, play

LINES = b"".join(b"%d\n" % number for number in range(20))
APPLIED = b"topics: [{name: new}, {name: t, configs: {retention.ms: 5}, partitions: 9}]"
COMMANDS: Mapping[str, bytes] = {
    **dict.fromkeys(
        [
            "topics list",
            "topics create new",
            "topics trim t --before end --execute",
            "topics describe t",
            "topics offsets t",
            "topics delete t --execute",
            "groups list",
            "groups describe g",
            "groups describe live",
            "groups members live",
            "groups lag g",
            "groups delete g --execute",
            "groups reset-offsets g --to-earliest --execute",
            "why topic t",
            "why group live",
            "why cluster",
            "doctor",
            "probe",
            "cluster describe",
            "cluster quorum",
            "brokers disks",
            "configs show topic t",
            "configs set topic t retention.ms=1",
            "quotas set --user ann producer_byte_rate=1MB",
            "quotas list",
            "users list",
            "acls list",
            "acls create --allow User:a --topic t --operation read",
            "acls delete --principal User:ann --execute",
            "partitions list",
            "partitions plan t --to 1,2",
            "transactions list",
            "transactions hanging",
            "wait topic t",
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


def check_stuffed(line: str, api: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fill each array of each response, or of the responses of one API, of a conversation."""

    def scene(stage: Stage) -> None:
        stage.run(line, COMMANDS[line])
        for cls, version in dict.fromkeys(stage.conversation):
            for path in array_paths(cls, version) if api in (None, cls.NAME) else ():
                for are_same in (False, True):
                    wrong = stage.run(line, COMMANDS[line], Stuffing(cls, path, are_same=are_same)).wrong()
                    assert not wrong, f"{cls.__name__} {'.'.join(path)}, same items: {are_same}: {wrong}"

    play(monkeypatch, scene)


@pytest.mark.parametrize(("line", "api"), [("topics describe t", "Metadata"), ("groups list", "ListGroups")])
@pytest.mark.nightly  # a bound on CPU
def test_response_of_a_megabyte_of_items_is_bounded(line: str, api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_stuffed(line, api, monkeypatch)


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.nightly
def test_each_array_of_each_response_is_bounded(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check_stuffed(line, None, monkeypatch)


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
        check_stuffed("topics describe t", "Metadata", monkeypatch)
