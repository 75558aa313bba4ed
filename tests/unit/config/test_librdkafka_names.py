"""Properties of librdkafka: each is accepted, or its error shows what to use instead."""

import pytest

from kctl.client.config import ConsumerConfig, ProducerConfig
from kctl.client.errors import ConfigError

NAMES = """
metadata.broker.list message.max.bytes message.copy.max.bytes receive.message.max.bytes max.in.flight
topic.metadata.refresh.interval.ms topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.sparse
topic.metadata.propagation.max.ms topic.blacklist debug socket.timeout.ms socket.blocking.max.ms
socket.send.buffer.bytes socket.receive.buffer.bytes socket.keepalive.enable socket.nagle.disable socket.max.fails
broker.address.ttl broker.address.family reconnect.backoff.jitter.ms statistics.interval.ms enabled_events error_cb
throttle_cb stats_cb log_cb log_level log.queue log.thread.name log.connection.close background_event_cb socket_cb
connect_cb closesocket_cb open_cb resolve_cb opaque default_topic_conf internal.termination.signal api.version.request
api.version.request.timeout.ms api.version.fallback.ms broker.version.fallback ssl.curves.list ssl.sigalgs.list
ssl.key.location ssl.key.pem ssl.certificate.location ssl.certificate.pem ssl.ca.location ssl.ca.pem
ssl.ca.certificate.stores ssl.crl.location enable.ssl.certificate.verification ssl.certificate.verify_cb
sasl.mechanisms sasl.username sasl.password sasl.oauthbearer.config oauthbearer_token_refresh_cb
sasl.oauthbearer.method plugin.library.paths interceptors group.protocol.type coordinator.query.interval.ms
queued.min.messages queued.max.messages.kbytes fetch.wait.max.ms fetch.queue.backoff.ms fetch.message.max.bytes
fetch.error.backoff.ms offset.store.method consume_cb rebalance_cb offset_commit_cb enable.partition.eof
enable.gapless.guarantee queue.buffering.max.messages queue.buffering.max.kbytes queue.buffering.max.ms
message.send.max.retries queue.buffering.backpressure.threshold compression.codec batch.num.messages
delivery.report.only.error dr_cb dr_msg_cb sticky.partitioning.linger.ms request.required.acks message.timeout.ms
queuing.strategy produce.offset.report partitioner partitioner_cb msg_order_cmp compression.level auto.commit.enable
offset.store.path offset.store.sync.interval.ms consume.callback.max.messages enable.auto.offset.store
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_property_of_librdkafka_is_accepted_or_leads_to_kctls(name: str) -> None:
    advised = []
    for kind in (ConsumerConfig, ProducerConfig):
        try:
            kind.parse({"bootstrap.servers": "h:1", "group.id": "g", name: "1"})
        except ConfigError as error:
            advised.append("unknown property" not in str(error) or f"'{name}': " in str(error))
        else:
            advised.append(True)
    assert any(advised), name
