"""kctl: `Admin.list_topics(timeout)`, and one connection of `NetworkClient` under its setup limit."""

import threading
import time

from benchmarks.peers.measuring import Attempt, Ended, Options, parse, report
from kctl.client.admin import Admin
from kctl.client.config import AdminConfig
from kctl.client.events import Event, Expired
from kctl.client.metadata_updater import bootstrap_nodes
from kctl.client.network.network_client import NetworkClient
from kctl.client.network.resolver import ThreadResolver
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Address, Runtime

LONG_MS = 60_000


def never_answers(_host: str, _port: int) -> list[Address]:
    threading.Event().wait()
    return []


def runtime_for(options: Options) -> Runtime:
    runtime = system_runtime()
    return runtime._replace(resolver=ThreadResolver(never_answers)) if options.silent_resolver else runtime


def properties(options: Options) -> dict[str, object]:
    config: dict[str, object] = {"bootstrap.servers": options.servers, "security.protocol": options.security}
    if options.security.startswith("SASL"):
        login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="wrong";'
        config |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    return config


def api(options: Options) -> Attempt:
    admin = Admin(properties(options), runtime_for(options))
    seconds = options.limit_ms / 1000

    def attempt() -> None:
        admin.list_topics(timeout=seconds)

    return attempt


def connect(options: Options) -> Attempt:
    limits = {
        "socket.connection.setup.timeout.ms": options.limit_ms,
        "socket.connection.setup.timeout.max.ms": options.limit_ms,
    }
    config = AdminConfig.parse(properties(options) | limits)

    def attempt() -> Ended:
        expired: list[tuple[int, str]] = []

        def watch(event: Event) -> None:
            if isinstance(event, Expired):
                expired.append((time.perf_counter_ns(), str(event.error)))

        client = NetworkClient(config, runtime_for(options), events=watch)
        client.set_nodes(bootstrap_nodes(config))
        started_ns = time.perf_counter_ns()
        client.ready(-1)
        while not expired and client.status.node_error(-1) is None:
            client.poll(LONG_MS)
        error = client.status.node_error(-1)
        ended_ns, text = expired[0] if expired else (time.perf_counter_ns(), str(error))
        client.close()
        return Ended(text, (ended_ns - started_ns) // 1000)

    return attempt


if __name__ == "__main__":
    chosen = parse()
    report(api(chosen) if chosen.mode == "api" else connect(chosen), chosen.runs)
