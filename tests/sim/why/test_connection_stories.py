"""Addresses that brokers advertise and that lead to another broker, to the client itself, or nowhere; with the twin."""

import pytest

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.sandbox import Fault
from kctl.why import Finding, Looks, Scope, Selection, Severity, diagnose, take_looks
from kctl.why.finding import PROBE
from tests.sim.virtual.link_faults import LinkFault
from tests.sim.why.story import Story, run_story

CLUSTER = Selection(topics=None, has_brokers=True)
TIMEOUT_MS = 30_000
PORT = 9092
CLOSED_PORT = 1


def look_of_a_new_client(story: Story, *further: str, timeout_ms: int = TIMEOUT_MS) -> Looks:
    """Return the look of a client that knows the address of the first broker, and further addresses."""
    config = {"bootstrap.servers": ",".join([story.sim.bootstrap.split(",")[0], *further])}
    with Admin(config, story.sim.runtime) as admin, admin.within(timeout_ms / 1000):
        return take_looks(admin, story.sim.runtime, Timer(story.sim.clock, timeout_ms), CLUSTER, 0)


def found_by_a_new_client(story: Story, *further: str) -> dict[str, Finding]:
    """Return what a client finds that knows the address of the first broker, and further addresses."""
    return {each.id: each for each in diagnose(look_of_a_new_client(story, *further), (Scope.CLUSTER,)).findings}


@pytest.mark.parametrize(
    ("node_id", "place", "finding", "text"),
    [
        (
            2,
            ("127.0.0.1", PORT),
            "advertised-loopback",
            "broker 2 advertises 127.0.0.1:9092, but the bootstrap server is 10.",
        ),
        (1, ("10.0.0.1", CLOSED_PORT), "advertised-unusable", "bootstrap ok, but broker 1 advertises 10.0.0.1:1: "),
    ],
)
def test_address_that_a_broker_does_not_have_is_found(
    node_id: int, place: tuple[str, int], finding: str, text: str
) -> None:
    def body(story: Story) -> None:
        assert found_by_a_new_client(story) == {}
        story.sim.sandbox.advertise(node_id, *place)
        found = found_by_a_new_client(story)
        assert text in found[finding].sentence
        assert ("broker-unreachable" in found) == (finding == "advertised-loopback")

    run_story(body)


def test_addresses_that_two_brokers_have_exchanged_are_found() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.advertise(2, "10.0.0.3", PORT)
        story.sim.sandbox.advertise(3, "10.0.0.2", PORT)
        finding = found_by_a_new_client(story)["misrouted"]
        assert finding.sentence in (
            "10.0.0.3:9092: advertised as broker 2, but broker 3 responds there",
            "10.0.0.2:9092: advertised as broker 3, but broker 2 responds there",
        )

    run_story(body)


@pytest.mark.parametrize(
    ("server", "text"),
    [
        ("10.0.0.9:9092", "10.0.0.9:9092: connection refused"),
        ("nosuch.invalid:9092", "nosuch.invalid:9092: Name or service not known"),
    ],
)
def test_bootstrap_server_that_does_not_work_is_a_note(server: str, text: str) -> None:
    def body(story: Story) -> None:
        assert found_by_a_new_client(story) == {}
        [finding] = found_by_a_new_client(story, server).values()
        assert (finding.id, finding.severity) == ("bootstrap-unreachable", Severity.NOTE)
        assert finding.sentence.startswith(text)

    run_story(body)


def test_broker_that_refuses_and_is_a_bootstrap_server_has_one_finding() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.start_fault(2, Fault.REFUSE)
        assert found_by_a_new_client(story, "10.0.0.2:9092").keys() == {"broker-unreachable"}

    run_story(body)


def test_address_that_was_not_tried_to_the_end_is_not_checked() -> None:
    def body(story: Story) -> None:
        story.sim.network.faults.start(LinkFault.BLACKHOLE, ip="10.0.0.9")
        looks = look_of_a_new_client(story, "10.0.0.9:9092", timeout_ms=12_000)
        diagnosis = diagnose(looks, (Scope.CLUSTER,))
        assert diagnosis.findings == ()
        [unchecked] = diagnosis.unchecked
        assert (unchecked.gap.request, unchecked.gap.of) == (PROBE, "10.0.0.9:9092")
        assert "no SYN-ACK yet" in unchecked.gap.reason
        assert {"bootstrap-unreachable", "certificate-expired"} <= set(unchecked.ids)
        assert not {"bootstrap-unreachable", "certificate-expired"} & set(diagnosis.checked)

    run_story(body)


def test_addresses_are_tried_again_in_the_second_sample() -> None:
    def body(story: Story) -> None:
        found = story.cluster(meanwhile=lambda: story.sim.sandbox.advertise(2, "10.0.0.2", CLOSED_PORT))
        assert "advertised-unusable" in found

    run_story(body)
