"""Addresses that brokers advertise and that lead to another broker, to the client itself, or nowhere; with the twin."""

import pytest

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.why import Finding, Scope, Selection, diagnose, take_looks
from tests.sim.why.story import Story, run_story

CLUSTER = Selection(topics=None, has_brokers=True)
TIMEOUT_MS = 30_000
PORT = 9092
CLOSED_PORT = 1


def found_by_a_new_client(story: Story) -> dict[str, Finding]:
    """Return what a client finds that knows the address of the first broker alone."""
    config = {"bootstrap.servers": story.sim.bootstrap.split(",")[0]}
    with Admin(config, story.sim.runtime) as admin, admin.within(TIMEOUT_MS / 1000):
        looks = take_looks(admin, story.sim.runtime, Timer(story.sim.clock, TIMEOUT_MS), CLUSTER, 0)
    return {each.id: each for each in diagnose(looks, (Scope.CLUSTER,)).findings}


@pytest.mark.parametrize(
    ("node_id", "place", "finding", "text"),
    [
        (2, ("127.0.0.1", PORT), "advertised-loopback", "broker 2 advertises 127.0.0.1:9092, your bootstrap was 10."),
        (1, ("10.0.0.1", CLOSED_PORT), "advertised-unusable", "bootstrap ok; broker 1 advertises 10.0.0.1:1: "),
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
