"""A broker that holds a fetch closes its session as it is asked to, although the connection is closed meanwhile.

So `kctl.client.consumer.fetch.sessions` does not wait for the response to a request behind a fetch that is held.
"""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

VERSION = 12
NO_SUCH_EPOCH = 1000
HELD_MS = 500


def fetch(session_id: int, epoch: int, topics: list[FetchTopic] | None = None, *, held_ms: int = 0) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=held_ms,
        min_bytes=int(held_ms > 0),
        max_bytes=1000,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics or [],
    )


@pytest.mark.parametrize("is_closed", [True, False])
def test_session_close_behind_a_held_fetch_is_handled_after_the_connection_closed(
    kafka_newest: KafkaCluster, is_closed: bool
) -> None:
    topic = kafka_newest.create_topic()
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    address = (host, int(port))
    wanted = [FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])]

    def state() -> int:
        """Return the error of a request with an epoch that the session never has."""
        with Peer(address) as other:
            return other.call(fetch(session_id, NO_SUCH_EPOCH), FetchResponse, VERSION).error_code

    with Peer(address) as peer:
        session_id = peer.call(fetch(0, 0, wanted), FetchResponse, VERSION).session_id
        assert session_id != 0
        assert state() == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        peer.send(fetch(session_id, 1, held_ms=HELD_MS), VERSION)
        if is_closed:
            peer.send(FetchRequest(session_id=session_id, session_epoch=-1, max_bytes=0), VERSION)
    if is_closed:
        wait_until(lambda: state() == ErrorCode.FETCH_SESSION_ID_NOT_FOUND, bound(10_000), "the close of the session")
    else:
        assert state() == ErrorCode.INVALID_FETCH_SESSION_EPOCH
