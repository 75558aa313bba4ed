"""A real Kafka broker with as many faults as one can have: each listener has another one.

| listener | fault |
|---|---|
| PLAINTEXT | is advertised under a name that does not resolve |
| SSL | asks for a client certificate, speaks TLS 1.3 alone; is advertised as it is |
| SASL_PLAINTEXT | knows PLAIN alone; is advertised as this very machine, on a port where nothing listens |
| SASL_SSL | its certificate has expired |

All of them close connections that were idle for two seconds. No group has a coordinator: the topic of committed offsets
is to have more replicas than there are brokers.
"""

from tests.support.kafka.certificates import certificate_chain, private_key
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.ports import HOST

CLOSED = "127.0.0.1:9"
IDLE_MS = 2_000


def make_strict_kafka(own_kafka: OwnKafka) -> KafkaCluster:
    """Return the cluster, not yet started."""
    properties = {
        "offsets.topic.replication.factor": "3",
        "connections.max.idle.ms": str(IDLE_MS),
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.name.ssl.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.ssl.ssl.protocol": "TLSv1.3",
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "PLAIN",
    }
    cluster = own_kafka(properties)
    expired = cluster.certificates.expired
    advertised = f"PLAINTEXT://no-such.invalid:9092,SASL_PLAINTEXT://{CLOSED},SASL_SSL://{CLOSED}"
    cluster.add_properties(
        {
            "advertised.listeners": f"{advertised},SSL://{HOST}:{cluster.node(1).ports['SSL']}",
            "listener.name.sasl_ssl.ssl.keystore.key": private_key(expired),
            "listener.name.sasl_ssl.ssl.keystore.certificate.chain": certificate_chain(expired),
        }
    )
    return cluster
