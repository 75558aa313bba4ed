"""What changed between two saved results."""

import copy
import json
from typing import Any

import pytest

from kctl.cli.probe.view.diff import differences, read_summary
from kctl.cli.probe.view.objects import event_object, summary_object
from kctl.cli.probe.view.text import LoggedEvent
from tests.unit.cli.probe.view.scenario import EVENTS, START_MS, result

BEFORE = summary_object(result(), START_MS)
GOOD = 0


def changed(change: Any) -> list[str]:
    after = copy.deepcopy(BEFORE)
    change(after)
    return [str(difference) for difference in differences(BEFORE, after)]


def test_nothing_changed() -> None:
    assert changed(lambda _: None) == []


def test_addresses_come_and_go() -> None:
    def move(after: Any) -> None:
        after["addresses"][1]["host"] = after["addresses"][1]["address"] = "10.9.9.9"

    assert changed(move) == ["10.0.0.2:9092: gone (was failed in tcp (ConnectionRefused))",
                             "10.9.9.9:9092: new (failed in tcp (ConnectionRefused))"]  # fmt: skip


def test_outcomes() -> None:
    def fail(after: Any) -> None:
        after["addresses"][GOOD] |= {"outcome": "expired", "phase": "tcp", "error": {"name": "ConnectTimeout"}}

    assert changed(fail) == ["kafka-a.example:9092 [10.0.0.1]: ready -> expired in tcp (ConnectTimeout)"]


@pytest.mark.parametrize(("after_ms", "is_logged"), [(240, False), (241, True), (1, False)])
def test_phases_that_became_much_slower(after_ms: int, is_logged: bool) -> None:
    def slow(after: Any) -> None:
        after["addresses"][GOOD]["phases_ms"]["tcp"] = after_ms

    wanted = f"kafka-a.example:9092 [10.0.0.1]: tcp is slower: 120 ms -> {after_ms} ms"
    assert changed(slow) == ([wanted] if is_logged else [])


def test_a_few_milliseconds_are_noise() -> None:
    before, after = copy.deepcopy(BEFORE), copy.deepcopy(BEFORE)
    before["addresses"][GOOD]["phases_ms"]["tcp"] = 1
    after["addresses"][GOOD]["phases_ms"]["tcp"] = 5
    assert differences(before, after) == []
    after["addresses"][GOOD]["phases_ms"]["tcp"] = 6
    assert len(differences(before, after)) == 1


def test_cluster_versions_and_certificates() -> None:
    def renew(after: Any) -> None:
        good = after["addresses"][GOOD]
        good["cluster_id"], good["answers_as"] = "xyz", 2
        good["api_versions"] = {"Produce": [3, 13], "Fetch": [4, 17]}
        good["tls"]["chain"][0]["not_after_ms"] += 1
        good["tls"]["version"] = "TLSv1.2"

    where = "kafka-a.example:9092 [10.0.0.1]"
    assert changed(renew) == [
        f"{where}: cluster: abc -> xyz",
        f"{where}: responds as broker: 1 -> 2",
        f"{where}: API versions: Fetch none -> 4 to 17, Metadata 0 to 13 -> none, Produce 3 to 12 -> 3 to 13",
        f"{where}: tls version: TLSv1.3 -> TLSv1.2",
        f"{where}: certificate: CN=kafka-a.example, issuer CN=test-ca, not after 1700864000000 -> "
        "CN=kafka-a.example, issuer CN=test-ca, not after 1700864000001",
    ]


def test_brokers_and_findings() -> None:
    def move(after: Any) -> None:
        after["brokers"][0]["host"] = "other.example"
        after["brokers"][1]["node_id"] = 3
        after["findings"].append({"id": "misrouted"})

    assert changed(move) == [
        "broker 1: kafka-a.example:9092 -> other.example:9092",
        "broker 2: gone, was at 10.0.0.6:9092",
        "broker 3: new, at 10.0.0.6:9092",
        "finding: misrouted is new",
    ]


def test_a_saved_result_is_its_last_summary() -> None:
    events = [event_object(event, START_MS) for event in EVENTS if isinstance(event, LoggedEvent)]
    first = summary_object(result()._replace(reports=[]), START_MS)
    text = "\n".join(json.dumps(one) for one in (*events, first, *events, BEFORE)) + "\n\n"
    assert read_summary(text) == BEFORE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no summary"),
        ("hello", "line 1 is not JSON"),
        ("[" * 100_000, "line 1 is not JSON"),
        ('{"event": "started"}\n[1]\n3', "no summary"),
        ('{"event": "summary", "v": 2}', "version 2"),
        ('{"event": "summary", "v": 1}', "no list of addresses"),
        ('{"event": "summary", "v": 1, "addresses": [{}], "brokers": [], "findings": []}', "address without host"),
        ('{"event": "summary", "v": 1, "addresses": [3], "brokers": [], "findings": []}', "address without host"),
    ],
)
def test_file_that_is_no_saved_result_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_summary(text)
