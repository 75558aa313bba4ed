"""kafka-python as a filter: the command line is in client.py, the lines are in record.py, both beside this file.

The caller bounds the time.
"""

import base64
import json
import sys
from collections.abc import Iterator
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.net.sasl.oauth import AbstractTokenProvider

from kctl.client.clock import SystemClock
from tests.conformance.foreign.login import jaas_options
from tests.conformance.foreign.record import ForeignRecord

WAIT_S = 30.0
TOKEN_LIFE_S = 3600


class UnsecuredToken(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
    """A token that names a subject and is signed by nobody."""

    def __init__(self, subject: str) -> None:
        super().__init__()
        self._subject = subject

    def token(self) -> str:
        """Return the token, valid for an hour."""
        now_s = SystemClock().wall_ms() // 1000
        claims = {"sub": self._subject, "iat": now_s, "exp": now_s + TOKEN_LIFE_S}
        parts = [json.dumps(part).encode() for part in ({"alg": "none"}, claims)]
        return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


def settings(properties: dict[str, str]) -> dict[str, Any]:
    """Return kafka-python's arguments for Kafka's properties."""
    login = jaas_options(properties)
    renamed = {
        "ssl.truststore.location": "ssl_cafile",
        "ssl.keystore.location": "ssl_certfile",  # the key is in the same file
        "ssl.truststore.type": "",
        "ssl.keystore.type": "",
        "sasl.jaas.config": "",
    }
    names = {key: renamed.get(key, key.replace(".", "_")) for key in properties}
    found: dict[str, Any] = {names[key]: to_value(value) for key, value in properties.items() if names[key]}
    if properties.get("sasl.mechanism") == "OAUTHBEARER":
        found["sasl_oauth_token_provider"] = UnsecuredToken(login["unsecuredLoginStringClaim_sub"])
    elif login:
        found |= {"sasl_plain_username": login["username"], "sasl_plain_password": login["password"]}
    if found.get("compression_type") == "none":
        found["compression_type"] = None
    return found


def to_value(text: str) -> str | int | bool:
    """Return a property's value as the type that the library wants."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text


def produce(topic: str, properties: dict[str, str]) -> None:
    """Send the lines of standard input."""
    defaults = {"acks": "all", "linger_ms": 50, "max_request_size": 1 << 26}
    producer = KafkaProducer(**(defaults | settings(properties)))
    try:
        sent = [
            producer.send(
                topic,
                value=record.value,
                key=record.key,
                headers=list(record.headers),
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
            )
            for record in map(ForeignRecord.from_line, sys.stdin)
        ]
        producer.flush(WAIT_S)
        for one in sent:
            one.get(WAIT_S)
    finally:
        producer.close(WAIT_S)


def consume(topic: str, properties: dict[str, str]) -> Iterator[str]:
    """Yield all records up to the present ends."""
    consumer = KafkaConsumer(**settings(properties), enable_auto_commit=False, fetch_max_wait_ms=50)
    try:
        partitions = [TopicPartition(topic, partition) for partition in consumer.partitions_for_topic(topic)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for batch in consumer.poll(timeout_ms=500).values():
                for message in batch:
                    yield to_record(message).to_line()
    finally:
        consumer.close()


def to_record(message: Any) -> ForeignRecord:
    """Return what a message carries."""
    return ForeignRecord(
        value=message.value,
        key=message.key,
        headers=tuple(message.headers),
        partition=message.partition,
        timestamp_ms=message.timestamp,
        offset=message.offset,
    )


def list_topics(properties: dict[str, str]) -> Iterator[str]:
    """Yield the names of all topics."""
    admin = KafkaAdminClient(**settings(properties))
    try:
        yield from (f"{name}\n" for name in admin.list_topics())
    finally:
        admin.close()


def main() -> None:
    """Do what the command line says."""
    mode, topic, *pairs = sys.argv[1:]
    properties = dict(pair.split("=", 1) for pair in pairs)
    if mode == "produce":
        produce(topic, properties)
    elif mode == "consume":
        sys.stdout.writelines(consume(topic, properties))
    elif mode == "list":
        sys.stdout.writelines(list_topics(properties))


main()
