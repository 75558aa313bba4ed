"""TopicIds: names of topics whose ids a coordinator reports, from the metadata or from any broker."""

from collections.abc import Iterable
from random import Random

from kctl.client.cluster import NO_TOPIC_ID
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.requests.request import Poll
from kctl.client.requests.retry import RetryPause, retry_backoff
from kctl.client.requests.topics import metadata_by_id_request


class TopicIds:
    def __init__(self, config: ConsumerConfig, client: ClusterClient, rng: Random) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._client = client
        self._pause = RetryPause(retry_backoff(config, rng))
        self._names: dict[bytes, str] = {}
        self._missing: dict[bytes, None] = {}
        self._seen_version = -1
        self._is_in_flight = False

    @property
    def missing(self) -> int:
        return len(self._missing)

    def want(self, topic_ids: Iterable[bytes]) -> None:
        wanted = dict.fromkeys(topic_ids)
        self._names = {each: self._names[each] for each in wanted if each in self._names}
        self._missing = {each: None for each in wanted if each not in self._names}
        self._seen_version = -1

    def known(self) -> dict[bytes, str]:
        metadata = self._client.metadata
        if self._missing and metadata.version != self._seen_version:
            self._seen_version = metadata.version
            self._take((info.topic_id, info.name) for info in metadata.cluster.topics.values())
        return self._names

    def successors(self, topic_ids: Iterable[bytes]) -> dict[str, bytes]:
        """Return the current ids of topics that were recreated, by name.

        Args:
            topic_ids: former ids.
        """
        topics = self._client.metadata.cluster.topics
        found = {}
        for topic_id in topic_ids:
            present = topics.get(self._names.get(topic_id, ""))
            if present is not None and present.topic_id not in (topic_id, NO_TOPIC_ID):
                found[present.name] = present.topic_id
        return found

    def poll(self, now_ms: int) -> Poll:
        self.known()
        if not self._missing or self._is_in_flight:
            return Poll([])
        if self._pause.until_ms > now_ms:
            return Poll([], self._pause.until_ms)
        node = self._client.network.any_ready_node()
        if node is None:
            return Poll([])
        self._is_in_flight = True
        request = metadata_by_id_request(self._missing)
        timeout_ms = self._request_timeout_ms
        return Poll([Outgoing(node.node_id, request, timeout_ms, self._on_answer, is_for_any=True)])

    def _on_answer(self, answer: Answer) -> None:
        self._is_in_flight = False
        if isinstance(answer.response, MetadataResponse):
            self._take((topic.topic_id, topic.name or "") for topic in answer.response.topics if not topic.error_code)
        if not self._missing:
            self._pause.succeeded()
            return
        self._pause.failed(answer.received_at_ms)

    def _take(self, found: Iterable[tuple[bytes, str]]) -> None:
        for topic_id, name in found:
            if topic_id in self._missing and name:
                del self._missing[topic_id]
                self._names[topic_id] = name
