"""TopicsManager: says which topics' metadata is kept fresh, and answers questions about topics.

A question is a Metadata request of its own to any node, so that its answer is newer than the question and neither
creates topics nor disturbs what is kept fresh. Shown by tests/unit/consumer/test_topics_manager.py.
"""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import Node, PartitionInfo
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.events import AskTopics, CallDone, ToApplication
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.metadata import out_of_range
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kctl.client.requests.request import Poll, Progress
from kctl.client.requests.retry import METADATA, retry_backoff


class OpenQuestion:
    """One question that has no answer yet."""

    __slots__ = ("attempts", "error", "node", "question", "retry_at_ms")

    def __init__(self, question: AskTopics) -> None:
        self.question = question
        self.node: Node | None = None
        """The broker that is being asked."""
        self.attempts = 0
        self.retry_at_ms = 0
        self.error: KafkaError | None = None


class TopicsManager:
    """Open questions about topics, each asked again until its deadline."""

    def __init__(
        self, config: ConsumerConfig, client: ClusterClient, chance: Random, report: Callable[[ToApplication], None]
    ) -> None:
        self._request_timeout_ms = config.request_timeout_ms
        self._client = client
        self._report = report
        self._backoff = retry_backoff(config, chance)
        self._open: dict[int, OpenQuestion] = {}

    def use(self, topics: Iterable[str]) -> None:
        """Keep the metadata of exactly these topics fresh."""
        self._client.metadata.want_topics(dict.fromkeys(topics))

    def use_all(self) -> None:
        """Keep the metadata of every topic fresh."""
        self._client.metadata.want_all_topics()

    def ask(self, question: AskTopics) -> None:
        self._open[question.call_id] = OpenQuestion(question)

    def abandon(self, call_id: int) -> None:
        self._open.pop(call_id, None)

    def progress(self, call_id: int) -> Progress | None:
        open_question = self._open.get(call_id)
        if open_question is None:
            return None
        topics = open_question.question.topics
        what = "all topics" if topics is None else ", ".join(topics)
        broker = "" if open_question.node is None else f" from {open_question.node}"
        return Progress(f"waiting for the metadata of {what}{broker}", open_question.error or self._client.last_error())

    def poll(self, now_ms: int) -> Poll:
        requests = []
        deadline_at_ms = FOREVER_MS
        for call_id, each in list(self._open.items()):
            if now_ms >= each.question.deadline_at_ms:
                self.abandon(call_id)
                continue
            deadline_at_ms = min(deadline_at_ms, each.question.deadline_at_ms)
            if each.node is not None:
                continue
            if each.retry_at_ms > now_ms:
                deadline_at_ms = min(deadline_at_ms, each.retry_at_ms)
                continue
            node = self._client.network.any_ready_node()
            if node is not None:
                each.node = node
                request = request_for(each.question.topics)
                requests.append(
                    Outgoing(
                        node.node_id,
                        request,
                        self._request_timeout_ms,
                        partial(self._on_answer, each),
                        is_for_any=True,
                        wanted_until_ms=each.question.deadline_at_ms,
                    )
                )
        return Poll(requests, deadline_at_ms)

    def _on_answer(self, each: OpenQuestion, answer: Answer) -> None:
        each.node = None
        if each.question.call_id not in self._open:
            return
        error = answer.error
        result: dict[str, tuple[PartitionInfo, ...]] = {}
        if isinstance(answer.response, MetadataResponse):
            code = answer.response.error_code
            error = broker_error(code, "Metadata") if code else out_of_range(answer.response)
            for topic in answer.response.topics:
                name = topic.name or ""
                if topic.error_code == ErrorCode.NONE:
                    result[name] = partitions_in_order(topic)
                elif each.question.topics is not None:
                    error = error or broker_error(topic.error_code, f"Metadata of topic {name}")
            absent = [name for name in each.question.topics or () if name not in result]
            if absent and error is None:
                error = RemoteProtocolError(
                    f"Metadata leaves out topic {absent[0]}, which was asked for", api="Metadata"
                )
        if error is None or not METADATA.is_retried(error):
            self.abandon(each.question.call_id)
            self._report(CallDone(each.question.call_id, None if error else result, error))
        else:
            each.error = error
            each.retry_at_ms = answer.received_at_ms + self._backoff.backoff_ms(each.attempts)
            each.attempts += 1


def request_for(topics: tuple[str, ...] | None) -> MetadataRequest:
    """Return the question as a request; None asks for all topics."""
    named = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    return MetadataRequest(topics=named, allow_auto_topic_creation=False)


def partitions_in_order(topic: MetadataResponseTopic) -> tuple[PartitionInfo, ...]:
    """Return the partitions of an answer by number."""
    name = topic.name or ""
    return tuple(
        PartitionInfo(
            name,
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
            broker_error(each.error_code, f"Metadata of {name}-{each.partition_index}") if each.error_code else None,
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    )
