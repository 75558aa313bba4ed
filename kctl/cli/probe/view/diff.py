"""What changed between two saved results of a probe. Pure: two summaries in, lines out.

A saved result is what `--output json` wrote, or the last summary of `--output jsonl`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kctl.cli.probe.view.objects import SCHEMA_VERSION

Summary = Mapping[str, Any]

SLOWER = 2
"""How many times as long a phase has to take to be reported."""
SLOWER_BY_MS = 5
"""A phase that took less than that more is noise, however many times as long it is."""
_LISTED = ("addresses", "brokers", "findings")
_ADDRESS_FIELDS = ("host", "port", "address", "outcome", "phase", "phases_ms", "error", "api_versions", "tls")


class Difference(NamedTuple):
    """One change: where, and what."""

    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def _parsed(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"line {number} is not JSON: save it with --output json or jsonl") from None


def read_summary(text: str) -> Summary:
    """Return the last summary in a saved result.

    Raises: ValueError: saying what is wrong, with the line.
    """
    found: Summary | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        one = _parsed(line, number)
        if isinstance(one, dict) and one.get("event") == "summary":
            found = _checked(one, number)
    if found is None:
        raise ValueError("it has no summary of a probe: save it with --output json or jsonl")
    return found


def _checked(one: dict[str, Any], number: int) -> Summary:
    if one.get("v") != SCHEMA_VERSION:
        raise ValueError(f"line {number} has schema version {one.get('v')!r}, this kctl reads {SCHEMA_VERSION}")
    for name in _LISTED:
        if not isinstance(one.get(name), list):
            raise ValueError(f"line {number} has no list of {name}")
    for address in one["addresses"]:
        missing = [name for name in _ADDRESS_FIELDS if not isinstance(address, dict) or name not in address]
        if missing:
            raise ValueError(f"line {number} has an address without {missing[0]}")
    return one


def differences(before: Summary, after: Summary) -> list[Difference]:
    """Return what changed, addresses first, in the order of `before` and then of `after`."""
    old, new = _by_place(before), _by_place(after)
    found = [Difference(place, f"gone (was {_outcome(old[place])})") for place in old if place not in new]
    found += [Difference(place, f"new ({_outcome(new[place])})") for place in new if place not in old]
    for place, address in old.items():
        if place in new:
            found += [Difference(place, text) for text in _of_address(address, new[place])]
    found += _of_cluster(before, after)
    return found


def _by_place(summary: Summary) -> dict[str, Summary]:
    return {_place(address): address for address in summary["addresses"]}


def _place(address: Summary) -> str:
    ip = str(address["address"] or "").rpartition(":")[0].strip("[]")
    place = f"{address['host']}:{address['port']}"
    return f"{place} [{ip}]" if ip and ip != address["host"] else place


def _outcome(address: Summary) -> str:
    error = address["error"]
    name = f" ({error['name']})" if isinstance(error, dict) and "name" in error else ""
    ended = "" if address["outcome"] == "ready" else f" in {address['phase']}"
    return f"{address['outcome']}{ended}{name}"


def _of_address(old: Summary, new: Summary) -> Iterable[str]:
    if _outcome(old) != _outcome(new):
        yield f"{_outcome(old)} -> {_outcome(new)}"
    for phase, before_ms in old["phases_ms"].items():
        after_ms = new["phases_ms"].get(phase)
        if after_ms is not None and after_ms > SLOWER * before_ms and after_ms - before_ms >= SLOWER_BY_MS:
            yield f"{phase} is slower: {before_ms} ms -> {after_ms} ms"
    for name, words in (("cluster_id", "cluster"), ("answers_as", "responds as broker"), ("sasl_mechanisms", "sasl")):
        if None not in (old.get(name), new.get(name)) and old[name] != new[name]:
            yield f"{words}: {_shown(old[name])} -> {_shown(new[name])}"
    yield from _of_versions(old["api_versions"], new["api_versions"])
    yield from _of_tls(old["tls"], new["tls"])


def _of_versions(old: Summary, new: Summary) -> Iterable[str]:
    if not old or not new:
        return
    changed = [api for api in sorted({*old, *new}) if old.get(api) != new.get(api)]
    if changed:
        shown = [f"{api} {_range(old.get(api))} -> {_range(new.get(api))}" for api in changed[:3]]
        more = f", and {len(changed) - 3} more" if len(changed) > 3 else ""
        yield f"API versions: {', '.join(shown)}{more}"


def _range(offer: Any) -> str:
    return f"{offer[0]} to {offer[1]}" if isinstance(offer, list) and len(offer) == 2 else "none"


def _of_tls(old: Summary | None, new: Summary | None) -> Iterable[str]:
    if old is None or new is None:
        return
    for name in ("version", "cipher", "client_certificate_asked"):
        if None not in (old.get(name), new.get(name)) and old[name] != new[name]:
            yield f"tls {name.replace('_', ' ')}: {_shown(old[name])} -> {_shown(new[name])}"
    if old.get("chain") and new.get("chain") and old["chain"] != new["chain"]:
        yield f"certificate: {_certificate(old['chain'][0])} -> {_certificate(new['chain'][0])}"


def _certificate(leaf: Summary) -> str:
    return f"{leaf.get('subject')}, issuer {leaf.get('issuer')}, not after {leaf.get('not_after_ms')}"


def _of_cluster(before: Summary, after: Summary) -> Iterable[Difference]:
    old, new = _brokers(before), _brokers(after)
    for node_id in sorted({*old, *new}):
        was, now = old.get(node_id), new.get(node_id)
        if was != now:
            text = f"new, at {now}" if was is None else f"gone, was at {was}" if now is None else f"{was} -> {now}"
            yield Difference(f"broker {node_id}", text)
    found = [finding_id for finding_id in _findings(after) if finding_id not in _findings(before)]
    for finding_id in found:
        yield Difference("finding", f"{finding_id} is new")


def _brokers(summary: Summary) -> dict[int, str]:
    return {broker["node_id"]: f"{broker['host']}:{broker['port']}" for broker in summary["brokers"]}


def _findings(summary: Summary) -> dict[str, None]:
    return {str(finding.get("id")): None for finding in summary["findings"]}


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
