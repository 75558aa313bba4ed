"""Fleets with a known truth: probe and trace files as kctl writes them, drawn from given distributions by a seed."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

DAY_MS = 86_400_000
START_MS = 1_700_000_000_000
INTERVAL_MS = 10_000
NEVER = 10**9


class Times(NamedTuple):
    """A log-normal distribution of milliseconds."""

    median_ms: float
    sigma: float = 0.3

    def draw(self, random: Random) -> int:
        return round(self.median_ms * math.exp(self.sigma * random.gauss(0, 1)))

    def later_than(self, ms: float) -> float:
        """Return the true share above `ms`."""
        return 0.5 * math.erfc(math.log(ms / self.median_ms) / (self.sigma * math.sqrt(2)))

    def quantile_ms(self, share: float) -> float:
        low, high = 0.0, self.median_ms * 1000
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.later_than(max(middle, 1e-9)) > 1 - share else (low, middle)
        return high


class NodeTruth(NamedTuple):
    """What a node is really like.

    Attributes: is_up: by round; metadata: of requests; ends_at_ms: of its certificate.
    """

    name: str
    tcp: Times = Times(2)
    tls: Times = Times(10)
    metadata: Times = Times(5)
    is_up: Callable[[int], bool] = lambda _round: True
    ends_at_ms: int | None = None


def probe_lines(
    nodes: list[NodeTruth], random: Random, rounds: int, *, limit_ms: int = 10_000, first_round: int = 0
) -> Iterator[str]:
    """Yield what `kctl probe --watch --output jsonl` writes: an event or two, and a summary, for each round."""
    for number in range(first_round, first_round + rounds):
        at_ms = number * INTERVAL_MS
        yield json.dumps(_started(nodes[0], number, at_ms, limit_ms))
        addresses = [_address(node, random, number, limit_ms) for node in nodes]
        yield json.dumps(
            {
                "v": 1,
                "event": "summary",
                "round": number + 1,
                "at_ms": at_ms,
                "elapsed_ms": max(address["elapsed_ms"] for address in addresses),
                "time_ms": START_MS + at_ms,
                "kctl": "0.1.0",
                "exit_code": 0,
                "ready": sum(address["outcome"] == "ready" for address in addresses),
                "failed": sum(address["outcome"] != "ready" for address in addresses),
                "unfinished": 0,
                "brokers": [],
                "coordinator": None,
                "findings": [],
                "addresses": addresses,
                "statistics": None,
            }
        )


def _target(node: NodeTruth) -> dict[str, Any]:
    host, _, port = node.name.rpartition(":")
    return {"node_id": -1, "host": host, "port": int(port), "address": f"10.0.0.1:{port}"}


def _started(node: NodeTruth, number: int, at_ms: int, limit_ms: int) -> dict[str, Any]:
    place = {"v": 1, "event": "started", "round": number + 1, "at_ms": at_ms, "attempt": 1}
    return {**place, **_target(node), "address": None, "phase": "dns", "limit_ms": limit_ms}


def _address(node: NodeTruth, random: Random, number: int, limit_ms: int) -> dict[str, Any]:
    tcp_ms = node.tcp.draw(random) if node.is_up(number) else NEVER
    needed = {"dns": 0, "tcp": tcp_ms, "tls": node.tls.draw(random), "apiversions": 1}
    passed: dict[str, int] = {}
    phase = "ready"
    for name, ms in needed.items():
        if sum(passed.values()) + ms >= limit_ms:
            phase = name
            break
        passed[name] = ms
    if phase == "ready":
        passed["metadata"] = node.metadata.draw(random)
    return {
        **_target(node),
        "advertised": False,
        "outcome": "ready" if phase == "ready" else "expired",
        "phase": phase,
        "elapsed_ms": sum(passed.values()) if phase == "ready" else limit_ms,
        "limit_ms": limit_ms,
        "phases_ms": passed,
        "error": None if phase == "ready" else _error("ConnectTimeout", 12),
        "works_with": None,
        "answers_as": None,
        "advertised_as": None,
        "cluster_id": "c",
        "controller_id": 1,
        "tls": None if node.ends_at_ms is None else _tls(node.ends_at_ms),
        "sasl_mechanisms": [],
        "api_versions": {"Metadata": [0, 13]},
        "features": {},
        "idle": None,
    }


def _error(name: str, code: int) -> dict[str, Any]:
    return {"name": name, "message": "no answer", "hint": "", "exit_code": code}


def _tls(ends_at_ms: int) -> dict[str, Any]:
    leaf = {"subject": "CN=leaf", "issuer": "CN=ca", "not_before_ms": 0, "not_after_ms": ends_at_ms, "names": []}
    ca = {**leaf, "subject": "CN=ca", "not_after_ms": START_MS + 5000 * DAY_MS}
    return {
        "version": "TLSv1.3",
        "cipher": "A",
        "asked_for": "a",
        "client_certificate_asked": False,
        "chain": [leaf, ca],
    }


def trace_lines(
    node: NodeTruth, random: Random, attempts: int, *, limit_ms: int = 10_000, fetches: int = 3
) -> Iterator[str]:
    """Yield the `--trace-file` of one client that connects again and again; every tenth attempt loses a race."""
    clock_ms = 0

    def event(kind: str, **fields: Any) -> str:
        return json.dumps({"v": 1, "event": kind, "at_ms": clock_ms, **fields})

    yield event("trace", time_ms=START_MS, kctl="0.1.0")
    for number in range(1, attempts + 1):
        at = {"attempt": number, **_target(node)}
        yield event("started", **{**at, "address": None}, phase="dns", limit_ms=limit_ms)
        yield event("phase_done", **{**at, "address": None}, phase="dns", elapsed_ms=0, detail="10.0.0.1:1")
        yield event("started", **at, phase="tcp", limit_ms=limit_ms)
        tcp_ms, tls_ms = node.tcp.draw(random), node.tls.draw(random)
        if number % 10 == 0:
            clock_ms += min(tcp_ms + tls_ms, 1)
            yield event("closed", **at, reason="another connection attempt succeeded first")
            continue
        if tcp_ms + tls_ms >= limit_ms:
            clock_ms += limit_ms
            error = _error("ConnectTimeout", 12)
            yield event("expired", **at, phase="tls", limit_ms=limit_ms, elapsed_ms=limit_ms, error=error)
            continue
        clock_ms += tcp_ms
        yield event("phase_done", **at, phase="tcp", elapsed_ms=tcp_ms, detail="")
        clock_ms += tls_ms
        yield event("phase_done", **at, phase="tls", elapsed_ms=tls_ms, detail="")
        yield event("connected", **at, elapsed_ms=tcp_ms + tls_ms)
        for correlation_id in range(fetches):
            ms = node.metadata.draw(random)
            sent = {"api": "Fetch", "version": 17, "correlation_id": correlation_id, "size_bytes": 90}
            yield event("request_sent", **at, **sent, expects_response=True)
            clock_ms += ms
            yield event(
                "response_received",
                **at,
                api="Fetch",
                version=17,
                correlation_id=correlation_id,
                size_bytes=90,
                elapsed_ms=ms,
            )
        yield event("closed", **at, reason="idle")
        clock_ms += 1000
    yield event("end")


def write(path: Path, lines: Iterator[str]) -> None:
    """Write lines to a file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for line in lines:
            file.write(line + "\n")
