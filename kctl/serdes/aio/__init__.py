"""Typed producers and consumers for asyncio, and their schema registry. Needs the extra `aio` (greenlet).

    async with AsyncRegistry({"schema.registry.url": "http://localhost:8081"}) as registry:
        orders = registry.avro('{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}')

        async with AsyncTypedProducer(AsyncProducer(config), Text(), orders) as producer:
            await producer.send("orders", {"id": 7}, key="ann")

        async with AsyncTypedConsumer(AsyncConsumer(config), Text(), orders) as consumer:
            consumer.client.subscribe(["orders"])
            async for record in consumer:
                print(record.key, record.value["id"])

Formats are the formats of `kctl.serdes`, or classes whose methods are coroutines (`AsyncSerde`).
"""

from kctl.serdes.aio.formats import AsyncMapped, AsyncSerde
from kctl.serdes.aio.registry import AsyncRegistry, AsyncRegistrySerde, AsyncSchemaRegistry
from kctl.serdes.aio.typed import AsyncDeadLetters, AsyncTypedConsumer, AsyncTypedProducer

__all__ = [
    "AsyncDeadLetters",
    "AsyncMapped",
    "AsyncRegistry",
    "AsyncRegistrySerde",
    "AsyncSchemaRegistry",
    "AsyncSerde",
    "AsyncTypedConsumer",
    "AsyncTypedProducer",
]
