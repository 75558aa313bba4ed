"""Responses to a consumer with missing or duplicate items: an error with API and broker."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.sandbox import connection
from tests.sim.kit import SimCluster, run_with_admin

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CALLS: dict[str, Callable[[Consumer], object]] = {
    "Fetch": lambda consumer: consumer.poll(5),
    "OffsetFetch": lambda consumer: consumer.committed([T0, T1], timeout=5),
    "OffsetCommit": lambda consumer: consumer.commit_sync({T0: 1, T1: 1}, timeout=5),
    "ListOffsets": lambda consumer: consumer.end_offsets([T0, T1], timeout=5),
}
PARTITIONS = {"Fetch": "responses"}
"""Field of the topics in a response, if it is not `topics`."""


def leave_out(items: list[Any]) -> None:
    if items:
        items.pop()


def repeat(items: list[Any]) -> None:
    items.extend(items[-1:])


@pytest.mark.parametrize("edit", [leave_out, repeat])
@pytest.mark.parametrize("api", CALLS)
def test_response_without_an_item_or_with_two_of_it_is_malformed(
    api: str, edit: Callable[[list[Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = encode_response

    def encode_edited(response: Response, **how: Any) -> bytes:
        if api == response.NAME:
            response = deepcopy(response)
            part: Any = (getattr(response, "groups", None) or [response])[0]
            for topic in getattr(part, PARTITIONS.get(api, "topics")):
                edit(topic.partitions)
        return encode(response, **how)

    def use(cluster: SimCluster, admin: Admin) -> None:
        admin.alter_group_offsets("g", {T0: 0, T1: 0}).raise_first()
        consumer = cluster.enter(cluster.consumer(group_id="g", enable_auto_commit=False))
        consumer.assign([T0, T1])
        consumer.seek(T0, 0)
        consumer.seek(T1, 0)
        monkeypatch.setattr(connection, "encode_response", encode_edited)
        before_ms = cluster.clock.now_ms()
        with pytest.raises(RemoteProtocolError) as caught:
            CALLS[api](consumer)
        assert cluster.clock.now_ms() - before_ms < 2000, "it was retried"
        monkeypatch.setattr(connection, "encode_response", encode)
        assert explain(caught.value).code == ExitCode.WRONG_PROTOCOL
        assert caught.value.api == api
        assert str(caught.value).startswith(f"the {api} response from 10.0.0."), caught.value

    run_with_admin(use)
