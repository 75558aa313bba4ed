"""Typed producers and consumers, formats, schemas, and the client of a schema registry.

    registry = Registry({"schema.registry.url": "http://localhost:8081"})
    orders = registry.avro('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')

    with TypedProducer(Producer(config), Text(), orders) as producer:
        producer.send("orders", {"id": 7}, key="ann")

    letters = DeadLetters(Producer(config), "orders-dead")
    with TypedConsumer(Consumer(config), Text(), orders, on_error=letters) as consumer:
        consumer.client.subscribe(["orders"])
        for record in consumer:
            print(record.key, record.value["id"])

Values are JSON values; `Mapped` converts them to classes of the application. Formats without a registry: `Raw`, `Text`,
`Json`, `Avro`, `MessagePack`. Names and the libraries of formats are imported on first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kctl.serdes.errors import DecodeError as DecodeError
    from kctl.serdes.errors import EncodeError as EncodeError
    from kctl.serdes.errors import RecordDecodeError as RecordDecodeError
    from kctl.serdes.errors import RegistryError as RegistryError
    from kctl.serdes.errors import SchemaError as SchemaError
    from kctl.serdes.errors import SerdesError as SerdesError
    from kctl.serdes.formats import Avro as Avro
    from kctl.serdes.formats import Json as Json
    from kctl.serdes.formats import Mapped as Mapped
    from kctl.serdes.formats import MessagePack as MessagePack
    from kctl.serdes.formats import Raw as Raw
    from kctl.serdes.formats import Serde as Serde
    from kctl.serdes.formats import Text as Text
    from kctl.serdes.registry_formats import Registry as Registry
    from kctl.serdes.typed import DeadLetters as DeadLetters
    from kctl.serdes.typed import TypedConsumer as TypedConsumer
    from kctl.serdes.typed import TypedProducer as TypedProducer
    from kctl.serdes.typed import TypedRecord as TypedRecord

_HOMES = {
    "Avro": "formats",
    "DeadLetters": "typed",
    "DecodeError": "errors",
    "EncodeError": "errors",
    "Json": "formats",
    "Mapped": "formats",
    "MessagePack": "formats",
    "Raw": "formats",
    "RecordDecodeError": "errors",
    "Registry": "registry_formats",
    "RegistryError": "errors",
    "SchemaError": "errors",
    "Serde": "formats",
    "SerdesError": "errors",
    "Text": "formats",
    "TypedConsumer": "typed",
    "TypedProducer": "typed",
    "TypedRecord": "typed",
}
"""Module of each name."""

__all__ = [
    "Avro",
    "DeadLetters",
    "DecodeError",
    "EncodeError",
    "Json",
    "Mapped",
    "MessagePack",
    "Raw",
    "RecordDecodeError",
    "Registry",
    "RegistryError",
    "SchemaError",
    "Serde",
    "SerdesError",
    "Text",
    "TypedConsumer",
    "TypedProducer",
    "TypedRecord",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
