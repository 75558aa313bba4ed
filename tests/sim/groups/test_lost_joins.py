"""A JoinGroup that gets lost on its way is made again long before max.poll.interval.ms, for which it could be held."""

from collections.abc import Iterator

import pytest

from kctl.client.events import Event, RequestSent
from kctl.client.requests.coordinator import HELD, PROMPT
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub

MAX_POLL_MS = 300_000
REQUEST_MS = 8000


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=4) as hub:
        yield GroupCluster(hub)


class Loser:
    """Takes a client's events; the broker's side of a connection is gone before the n-th JoinGroup arrives on it."""

    def __init__(self, cluster: GroupCluster, number: int) -> None:
        self.sent: list[tuple[int, int]] = []
        """Time and node of each JoinGroup."""
        self._scene = cluster
        self._number = number

    def append(self, event: Event) -> None:
        if isinstance(event, RequestSent) and event.api == "JoinGroup":
            self.sent.append((self._scene.hub.now_ms, event.target.node_id))
            if len(self.sent) == self._number:
                connections = self._scene.network.connections_of("c1")
                held, prompt = sorted(connections, key=lambda one: one._up._name)[-2:]  # in the order of their making
                (prompt if event.target.node_id == PROMPT else held).forget_broker()


@pytest.mark.parametrize(
    ("number", "on", "least_ms", "most_ms"),
    [(1, PROMPT, REQUEST_MS, REQUEST_MS + 1000), (2, HELD, 5000, 9000)],
    ids=["which asks for a member id", "which is held"],
)
def test_a_join_that_got_lost_is_made_again(
    cluster: GroupCluster, number: int, on: int, least_ms: int, most_ms: int
) -> None:
    loser = Loser(cluster, number)
    cluster.events = loser  # type: ignore[assignment]  # all that is wanted of it is append

    def actor() -> None:
        given = {"request_timeout_ms": REQUEST_MS, "heartbeat_interval_ms": 3000, "session_timeout_ms": 45_000}
        with cluster.member("a", max_poll_interval_ms=MAX_POLL_MS, **given) as consumer:
            cluster.read(consumer, most_ms / 1000 + 5)
            assert len(consumer.assignment) == 6
        cluster.hub.sleep_ms(10)

    cluster.play(actor)
    lost, again = loser.sent[number - 1 : number + 1]
    assert lost[1] == on
    assert least_ms <= again[0] - lost[0] <= most_ms
    group = cluster.sandbox.cluster.groups.get(GROUP)
    assert group is not None
    assert not group.members, "nobody is left behind"
