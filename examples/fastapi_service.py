"""A FastAPI service that sends orders and counts the records of their topic.

KAFKA_SERVERS=127.0.0.1:9092 uvicorn --factory fastapi_service:service
"""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request

from kctl.client.aio import AsyncConsumer, AsyncProducer
from kctl.client.errors import KafkaError


def make_app(servers: str, topic: str, group: str) -> FastAPI:
    """Return the service."""
    counts: dict[str, int] = {}

    async def count_orders(consumer: AsyncConsumer) -> None:
        async for record in consumer:
            customer = (record.key or b"").decode(errors="replace")
            counts[customer] = counts.get(customer, 0) + 1

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        reading = {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"}
        async with (
            AsyncProducer({"bootstrap.servers": servers}) as app.state.producer,
            AsyncConsumer(reading) as consumer,
        ):
            consumer.subscribe([topic])
            task = asyncio.create_task(count_orders(consumer))
            yield
            task.cancel()
            await asyncio.wait([task])

    app = FastAPI(lifespan=lifespan)

    @app.post("/orders/{customer}")
    async def order(customer: str, request: Request) -> dict[str, int]:
        """Return after the broker has acknowledged the order."""
        try:
            async with asyncio.timeout(10):
                place = await request.app.state.producer.send(topic, await request.body(), customer.encode())
        except (KafkaError, TimeoutError) as error:
            raise HTTPException(503, str(error)) from error
        return {"partition": place.partition, "offset": place.offset}

    @app.get("/orders")
    async def orders() -> dict[str, int]:
        return counts

    return app


def service() -> FastAPI:
    """Return the service for the servers in KAFKA_SERVERS."""
    return make_app(os.environ["KAFKA_SERVERS"], "orders", "orders-service")
