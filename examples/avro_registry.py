"""Send and read Avro records whose schema is in a registry.

python avro_registry.py SERVERS REGISTRY_URL TOPIC GROUP
"""

import sys
from dataclasses import asdict, dataclass

from kctl.client import Consumer, Producer
from kctl.serdes import Mapped, Registry, Serde, Text, TypedConsumer, TypedProducer

SCHEMA = """{
    "type": "record", "name": "Order",
    "fields": [{"name": "item", "type": "string"}, {"name": "count", "type": "int"}]
}"""


@dataclass
class Order:
    """Value of a record."""

    item: str
    count: int


def orders_of(registry: Registry) -> Serde[Order]:
    """Return the format of orders."""
    return Mapped(registry.avro(SCHEMA), lambda found: Order(**found), asdict)


def send(servers: str, registry_url: str, topic: str, orders: dict[str, Order]) -> None:
    """Send orders by customer."""
    with (
        Registry({"schema.registry.url": registry_url}) as registry,
        TypedProducer(Producer({"bootstrap.servers": servers}), Text(), orders_of(registry)) as producer,
    ):
        for customer, order in orders.items():
            producer.send(topic, order, customer)


def read(servers: str, registry_url: str, topic: str, group: str, count: int) -> dict[str, Order]:
    """Return the next orders by customer."""
    config = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
    found: dict[str, Order] = {}
    with (
        Registry({"schema.registry.url": registry_url}) as registry,
        TypedConsumer(Consumer(config), Text(), orders_of(registry)) as consumer,
    ):
        consumer.client.subscribe([topic])
        for record in consumer:
            if record.key is not None and record.value is not None:
                found[record.key] = record.value
            if len(found) == count:
                break
    return found


if __name__ == "__main__":
    servers, registry_url, topic, group = sys.argv[1:]
    send(servers, registry_url, topic, {"ann": Order("apples", 2), "bob": Order("pears", 3)})
    print(read(servers, registry_url, topic, group, 2))
