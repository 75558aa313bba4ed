"""Requests to leaders while one broker has outdated metadata: another broker is queried."""

import pytest

from kctl.client.admin import LATEST, Admin, NewTopic
from kctl.client.admin.call import UNKNOWN_CONTROLLER_MS
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, RemoteProtocolError
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.call import Call
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, run_with_admin

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
MOST_MS = 2_000


@pytest.mark.parametrize("stale", [1, 2, 3])
def test_leaders_are_found_although_one_broker_names_former_ones(stale: int) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.list_offsets(dict.fromkeys(PARTITIONS, LATEST))
        cluster.sandbox.hold_metadata(stale)
        for number in range(3):
            cluster.sandbox.move_leader("t", number, 1 + cluster.leader(number) % 3)
        started_ms = cluster.clock.now_ms()
        found = admin.list_offsets(dict.fromkeys(PARTITIONS, LATEST), timeout=30)
        assert (found.failed, len(found.done)) == ({}, 3)
        assert cluster.clock.now_ms() - started_ms < MOST_MS

    run_with_admin(use, topics={"t": 3})


def test_controller_that_is_not_one_of_the_brokers_is_what_the_timeout_names() -> None:
    replies = Replies()

    def misname(_call: Call, _request: Request, response: Response | None) -> None:
        if isinstance(response, MetadataResponse):
            response.controller_id = 99

    def use(_cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises(ApiTimeout, match=r"controller 99, which is not in the list of brokers \(1, 2, 3\)"):
            admin.create_topics([NewTopic("new", 1)], timeout=4)

    replies.on_request(misname)
    with replies.installed():
        run_with_admin(use, topics={"t": 3})


def test_controller_that_stays_no_broker_fails_the_call_long_before_its_deadline() -> None:
    replies = Replies()

    def misname(_call: Call, _request: Request, response: Response | None) -> None:
        if isinstance(response, MetadataResponse):
            response.controller_id = 99

    def use(cluster: SimCluster, admin: Admin) -> None:
        started_ms = cluster.clock.now_ms()
        with pytest.raises(RemoteProtocolError, match="controller 99, which is not in the list of brokers"):
            admin.create_topics([NewTopic("new", 1)], timeout=60)
        assert UNKNOWN_CONTROLLER_MS <= cluster.clock.now_ms() - started_ms <= UNKNOWN_CONTROLLER_MS + 1500

    replies.on_request(misname)
    with replies.installed():
        run_with_admin(use, topics={"t": 3})
