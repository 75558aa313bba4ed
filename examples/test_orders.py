"""Tests of a service, with a Kafka cluster in the process of the tests.

pytest test_orders.py
"""

import pytest

from kctl.client import Consumer, Producer
from kctl.testing import KafkaSandbox, record, times


def invoice_of(order: bytes) -> bytes:
    """Return the invoice of an order such as `2 apples`."""
    count, item = order.split()
    return b"%s: %d" % (item, 3 * int(count))


def serve(servers: str, count: int) -> None:
    """Read orders, and send their invoices."""
    config = {"bootstrap.servers": servers, "group.id": "billing", "auto.offset.reset": "earliest"}
    with Producer({"bootstrap.servers": servers}) as producer, Consumer(config) as consumer:
        consumer.subscribe(["orders"])
        for order in consumer:
            producer.send("invoices", invoice_of(order.value or b""), order.key).result(timeout=30)
            count -= 1
            if count == 0:
                break


pytestmark = pytest.mark.kafka(brokers=1, topics={"orders": 3, "invoices": 1})


def test_each_order_has_an_invoice(kafka: KafkaSandbox) -> None:
    kafka.produce("orders", "2 apples", key="ann")
    kafka.produce("orders", "1 pear", key="bob")
    serve(kafka.bootstrap_servers, 2)
    assert {each.key: each.value for each in kafka.records("invoices")} == {b"ann": b"apples: 6", b"bob": b"pear: 3"}
    assert sum(kafka.commits("billing").values()) == 2


def test_invoice_is_sent_after_the_leader_has_moved(kafka: KafkaSandbox) -> None:
    kafka.fail("Produce", "NOT_LEADER_OR_FOLLOWER", times(2))
    kafka.produce("orders", "2 apples", key="ann")
    serve(kafka.bootstrap_servers, 1)
    assert [each.value for each in kafka.records("invoices")] == [b"apples: 6"]


def test_order_without_a_number_is_an_error() -> None:
    order = record("some apples", key="ann", topic="orders")
    with pytest.raises(ValueError, match="invalid literal"):
        invoice_of(order.value or b"")
