"""Metadata: snapshots of the cluster, wanted topics, and the time of the next refresh. Does no I/O."""

from collections.abc import Iterable, Mapping, Sequence

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import STALE_METADATA, ErrorCode, broker_error
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import (
    NO_EPOCH,
    NO_NODE,
    NO_TOPIC_ID,
    NOTHING,
    Cluster,
    NamedLeader,
    Node,
    PartitionInfo,
    TopicInfo,
    TopicPartition,
)
from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.protocol.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kctl.client.protocol.topic_names import TopicNamesResponse
from kctl.client.wording import one_line

MOST_BROKERS = 10_000
"""Maximum number of brokers in a response, above the size of any cluster.

Each broker costs time in every turn of the network loop.
"""


class Metadata:
    """Newest snapshot of the cluster, and its refreshes.

    The first refresh is due when topics are wanted or `request_update()` is called. Later ones are due every
    `max_age_ms`, or earlier while a part is missing or stale.

    Attributes:
        cluster: newest snapshot; any thread.
        version: number of successful refreshes.
        creates_topics: whether missing wanted topics are created.
        created_topics: partition counts of created topics by name.
        last_error: error of the last refresh, or None.
        failing_since_ms: time of the first of consecutive failures.

    Source: KIP-320 and KIP-516 for epochs and ids, KIP-580 for backoff; Java's Metadata.
    """

    def __init__(self, *, max_age_ms: int, backoff: ExponentialBackoff, auto_create_topics: bool = False) -> None:
        self.cluster = Cluster()
        self.version = 0
        self.last_error: KafkaError | None = None
        self.failing_since_ms: int | None = None
        self._max_age_ms = max_age_ms
        self._backoff = backoff
        self.creates_topics = auto_create_topics
        self.created_topics: dict[str, int] = {}
        self._to_create: set[str] = set()
        """Topics that a broker did not know when their creation was requested."""
        self._wants_all = False
        self._wanted: dict[str, None] = {}
        self._unseen: dict[str, None] = {}
        """Wanted topics about which no broker has responded."""
        self._asked: dict[str, None] | None = None
        """Topics of a partial request in flight; None for a full request."""
        self._update_requested = False
        self.is_source_doubted = False
        """Whether the next refresh should use another broker."""
        self._expires_at_ms = FOREVER_MS
        self._not_before_ms = 0
        self._fruitless = 0
        """Number of consecutive refreshes that failed, or after which a part was missing."""
        self._epochs: dict[tuple[str, int], tuple[bytes, int]] = {}

    # --- what is of interest ----------------------------------------------------------------------------------------

    def want_topics(self, names: Iterable[str]) -> None:
        """Replace the wanted topics; new topics are requested immediately."""
        wanted = dict.fromkeys(names)
        self._wants_all = False
        forgotten = [name for name in self._wanted if name not in wanted]
        self._wanted = {name: None for name in self._wanted if name in wanted}
        self._unseen = {name: None for name in self._unseen if name in wanted}
        if forgotten:
            kept = {name: info for name, info in self.cluster.topics.items() if name in wanted}
            self.cluster = self.cluster._replace(topics=kept)
            self._epochs = {key: epoch for key, epoch in self._epochs.items() if key[0] in wanted}
        for name in wanted:
            self.add_topic(name)

    def add_topic(self, name: str) -> None:
        if name in self._wanted:
            return
        self._wanted[name] = None
        if self._wants_all:
            return
        self._unseen[name] = None
        self._hurry()

    def want_all_topics(self) -> None:
        if not self._wants_all:
            self._wants_all = True
            self._update_requested = True
            self._hurry()

    def request_update(self, *, elsewhere: bool = False) -> None:
        """Let the snapshot be refreshed after the backoff, because it is stale.

        Args: elsewhere: whether to use another broker, because the last response was stale.
        """
        self._update_requested = True
        self.is_source_doubted = self.is_source_doubted or elsewhere

    def learn_leaders(self, named: Mapping[TopicPartition, NamedLeader], nodes: Iterable[Node]) -> list[TopicPartition]:
        """Apply the leaders and broker addresses of a response; return the partitions with a newer leader.

        Source: KIP-951. Leaders without a known address are ignored.
        """
        if not self.cluster.nodes:
            return []
        known = dict(self.cluster.nodes)
        addresses = {node.node_id: node for node in nodes}
        news: list[TopicPartition] = []
        changed: dict[str, dict[int, PartitionInfo]] = {}
        for tp, leader in named.items():
            info, topic = self.cluster.partition(*tp), self.cluster.topics.get(tp.topic)
            _, known_epoch = self._epochs.get(tp, (NO_TOPIC_ID, NO_EPOCH))
            if info is None or topic is None or leader.epoch < known_epoch or leader.epoch <= info.leader_epoch:
                continue
            node = addresses.get(leader.node_id) or known.get(leader.node_id)
            if node is None:
                continue
            known[node.node_id] = node
            partitions = changed.setdefault(tp.topic, {})
            partitions[tp.partition] = info._replace(leader_id=leader.node_id, leader_epoch=leader.epoch, error=None)
            self._epochs[tp] = (topic.topic_id, leader.epoch)
            news.append(tp)
        if news:
            topics = dict(self.cluster.topics)
            for name, partitions in changed.items():
                topics[name] = topics[name]._replace(partitions={**topics[name].partitions, **partitions})
            self.cluster = self.cluster._replace(nodes=known, topics=topics)
        return news

    # --- when to ask ------------------------------------------------------------------------------------------------

    def due_at_ms(self) -> int:
        """Return the time of the next refresh, which may be past."""
        if self._update_requested or self._unseen:
            return self._not_before_ms
        return max(self._expires_at_ms, self._not_before_ms)

    def begin(self, now_ms: int) -> MetadataRequest:
        """Return the due request: for all wanted topics, or only for new ones."""
        is_all_new = len(self._unseen) == len(self._wanted)
        is_full = self._update_requested or not self._unseen or is_all_new or now_ms >= self._expires_at_ms
        self._asked = None if is_full else dict(self._unseen)
        if is_full:
            self._update_requested = False
        return MetadataRequest(
            topics=self._request_topics(), allow_auto_topic_creation=is_full and self._creates_missing()
        )

    def _creates_missing(self) -> bool:
        """Return whether a full request creates missing topics.

        Topics are first requested without creation, to distinguish created from existing topics.
        """
        missing = [name for name in self._wanted if _is_unknown(self.cluster.topics.get(name))]
        if not self.creates_topics or self._unseen or self._wants_all:
            return False
        self._to_create.update(missing)
        return bool(missing)

    def _request_topics(self) -> list[MetadataRequestTopic] | None:
        if self._wants_all and self._asked is None:
            return None
        names = self._wanted if self._asked is None else self._asked
        return [MetadataRequestTopic(name=name) for name in names]

    # --- how it ended -----------------------------------------------------------------------------------------------

    def failed(self, error: KafkaError, now_ms: int) -> None:
        self.last_error = error
        if self.failing_since_ms is None:
            self.failing_since_ms = now_ms
        if self._asked is None:
            self._update_requested = True
        self._wait(now_ms, fruitless=True)

    def apply(self, response: MetadataResponse, now_ms: int) -> bool:
        """Apply a response; return False if it is an error (see `last_error`)."""
        if response.error_code:
            self.failed(broker_error(response.error_code, "read metadata"), now_ms)
            return False
        if not response.brokers:
            self.failed(RemoteProtocolError("the response lists no brokers", api="Metadata"), now_ms)
            return False
        wrong = malformed_metadata(response)
        if wrong is not None:
            self.failed(wrong, now_ms)
            return False
        answered = [self._newest(topic) for topic in topics_in(response)]
        self._merge(response, answered)
        self.version += 1
        self.last_error = self._left_out()
        self.failing_since_ms = None
        if self._asked is None:
            self._expires_at_ms = now_ms + self._max_age_ms
        missing = any(_is_missing(self.cluster.topics[info.name]) for info in answered if info.name in self._wanted)
        if missing:
            self._update_requested = True
        self._wait(now_ms, fruitless=missing or self.last_error is not None)
        self._note_created(answered)
        return True

    def _note_created(self, answered: Iterable[TopicInfo]) -> None:
        for info in answered:
            if info.name in self._to_create and info.partitions:
                self._to_create.discard(info.name)
                self.created_topics[info.name] = len(info.partitions)
            elif self.creates_topics and _is_unknown(info) and info.name not in self._to_create:
                self._hurry()

    def rebootstrapped(self) -> None:
        """Forget brokers and leaders until the next refresh; topics and epochs are kept."""
        self.cluster = _reachable(self.cluster._replace(nodes=NOTHING, controller_id=NO_NODE))
        self.failing_since_ms = None
        self._update_requested = True
        self._hurry()

    def _merge(self, response: MetadataResponse, answered: list[TopicInfo]) -> None:
        topics = {} if self._asked is None else dict(self.cluster.topics)
        for info in answered:
            if self._wants_all or info.name in self._wanted:
                topics[info.name] = info
                self._unseen.pop(info.name, None)
        self.cluster = _reachable(
            Cluster(
                nodes={node.node_id: node for node in nodes_in(response)},
                controller_id=response.controller_id,
                cluster_id=response.cluster_id,
                topics=topics,
            )
        )

    def _left_out(self) -> RemoteProtocolError | None:
        asked = () if self._wants_all and self._asked is None else self._wanted if self._asked is None else self._asked
        for name in asked:
            if name in self._wanted and name not in self.cluster.topics:
                return RemoteProtocolError(f"the Metadata response does not contain topic {name}", api="Metadata")
        return None

    def _newest(self, topic: TopicInfo) -> TopicInfo:
        """Return the topic, with the known data for partitions of an older epoch (from a broker that is behind)."""
        partitions = {number: self._newest_partition(topic, info) for number, info in topic.partitions.items()}
        return topic._replace(partitions=partitions)

    def _newest_partition(self, topic: TopicInfo, info: PartitionInfo) -> PartitionInfo:
        key = (topic.name, info.partition)
        known_id, known_epoch = self._epochs.get(key, (NO_TOPIC_ID, NO_EPOCH))
        is_same_topic = NO_TOPIC_ID in (known_id, topic.topic_id) or known_id == topic.topic_id
        if is_same_topic and NO_EPOCH < info.leader_epoch < known_epoch:
            known = self.cluster.partition(*key)
            if known is None or known.leader_epoch < known_epoch:
                return _leaderless(info, "the new leader is not known yet")
            return known
        if info.leader_epoch != NO_EPOCH:
            self._epochs[key] = (topic.topic_id, info.leader_epoch)
        return info

    def _wait(self, now_ms: int, *, fruitless: bool) -> None:
        self._not_before_ms = now_ms + self._backoff.backoff_ms(self._fruitless if fruitless else 0)
        self._fruitless = self._fruitless + 1 if fruitless else 0

    def _hurry(self) -> None:
        self._not_before_ms = 0
        self._fruitless = 0


def nodes_in(response: MetadataResponse) -> tuple[Node, ...]:
    return tuple(Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers)


def malformed_metadata(
    response: MetadataResponse | TopicNamesResponse, broker: str = "a broker"
) -> RemoteProtocolError | None:
    """Return an error if the response has negative or duplicate values."""
    wrong = _invalid_value(response)
    if wrong is None:
        twice = _repeated(response)
        wrong = None if twice is None else f"the Metadata response from {broker} contains {twice} twice"
    return None if wrong is None else RemoteProtocolError(wrong, api="Metadata")


def _invalid_value(response: MetadataResponse | TopicNamesResponse) -> str | None:
    if len(response.brokers) > MOST_BROKERS:
        return f"the Metadata response contains {len(response.brokers)} brokers, more than {MOST_BROKERS}"
    for each in response.brokers:
        if each.node_id < 0:
            return f"the Metadata response contains a broker with the id {each.node_id}"
        if one_line(each.host) != each.host:
            return f"the Metadata response contains the invalid host {one_line(each.host)} for broker {each.node_id}"
    for topic in response.topics:
        for part in topic.partitions:
            if part.partition_index < 0:
                name = one_line(topic.name or "")
                return f"the Metadata response contains partition {part.partition_index} of topic {name}"
    return None


def _repeated(response: MetadataResponse | TopicNamesResponse) -> str | None:
    twice = _twice("broker", [each.node_id for each in response.brokers])
    twice = twice or _twice("topic", [each.name for each in response.topics if each.name is not None])
    for topic in response.topics:
        twice = twice or _twice(f"{topic.name}, partition", [part.partition_index for part in topic.partitions])
    return twice


def _twice(kind: str, keys: Sequence[object]) -> str | None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            return one_line(f"{kind} {key}")
        seen.add(key)
    return None


def topics_in(response: MetadataResponse) -> list[TopicInfo]:
    return [_topic(topic, topic.name) for topic in response.topics if topic.name is not None]


def _topic(answer: MetadataResponseTopic, name: str) -> TopicInfo:
    error = broker_error(answer.error_code, f"describe topic {name}") if answer.error_code else None
    partitions = [] if error else sorted(answer.partitions, key=lambda part: part.partition_index)
    return TopicInfo(
        name,
        answer.topic_id,
        answer.is_internal,
        error,
        {part.partition_index: _partition(name, part) for part in partitions},
    )


def _partition(topic: str, answer: MetadataResponsePartition) -> PartitionInfo:
    index, code = answer.partition_index, answer.error_code
    return PartitionInfo(
        topic,
        index,
        answer.leader_id,
        answer.leader_epoch,
        tuple(answer.replica_nodes),
        tuple(answer.isr_nodes),
        tuple(answer.offline_replicas),
        broker_error(code, f"describe {topic}-{index}") if code else None,
    )


def _reachable(cluster: Cluster) -> Cluster:
    """Return the snapshot without leaders whose address is unknown."""
    topics = {}
    for name, topic in cluster.topics.items():
        partitions = topic.partitions.values()
        lost = [info for info in partitions if info.leader_id != NO_NODE and info.leader_id not in cluster.nodes]
        if lost:
            changed = {info.partition: _leaderless(info, f"broker {info.leader_id} is not reachable") for info in lost}
            topic = topic._replace(partitions={**topic.partitions, **changed})
        topics[name] = topic
    return cluster._replace(topics=topics)


def _leaderless(info: PartitionInfo, why: str) -> PartitionInfo:
    error = broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {info.topic}-{info.partition}", why)
    return info._replace(leader_id=NO_NODE, error=error)


def _is_unknown(info: TopicInfo | None) -> bool:
    return info is not None and info.error is not None and info.error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _is_missing(info: TopicInfo) -> bool:
    errors = [info.error, *(part.error for part in info.partitions.values())]
    return any(error is not None and error.code in STALE_METADATA for error in errors)
