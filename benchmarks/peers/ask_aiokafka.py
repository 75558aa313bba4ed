"""aiokafka: `AIOKafkaAdminClient` under `asyncio.wait_for`; its connection limit is `request_timeout_ms`."""

import asyncio
import logging

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.helpers import create_ssl_context

from benchmarks.peers.measuring import parse, report

LONG_MS = 60_000

logging.disable(logging.CRITICAL)
options = parse()
config: dict[str, object] = {"bootstrap_servers": options.servers, "security_protocol": options.security}
if options.security.startswith("SASL"):
    config |= {"sasl_mechanism": "PLAIN", "sasl_plain_username": "alice", "sasl_plain_password": "wrong"}
if options.security.endswith("SSL"):
    config["ssl_context"] = create_ssl_context()
is_api = options.mode == "api"
loop = asyncio.new_event_loop()


async def ask() -> None:
    client = AIOKafkaAdminClient(**config, request_timeout_ms=LONG_MS if is_api else options.limit_ms)
    try:
        await client.start()
        await client.list_topics()
    finally:
        await client.close()


def attempt() -> None:
    loop.run_until_complete(asyncio.wait_for(ask(), options.limit_ms / 1000) if is_api else ask())


if __name__ == "__main__":
    report(attempt, options.runs)
