"""Findings about brokers and controllers: unavailable, outdated, disks, and leader distribution."""

from collections import Counter
from collections.abc import Iterable, Iterator

from kctl.client.admin import LogDir
from kctl.client.clock import duration_text
from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import (
    AuthenticationError,
    KafkaTimeoutError,
    SaslRequired,
    TlsError,
    TlsNotAnswered,
    WrongPeerError,
)
from kctl.client.wording import brokers_text, counted, size_text
from kctl.grammar.command_lines import fill_command
from kctl.grammar.integers import integer_in
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.look import (
    LEAST_SILENCE_MS,
    THROTTLE_LISTS,
    THROTTLE_RATES,
    Look,
    Looks,
    Silence,
    is_filling,
    set_configs,
)
from kctl.why.table import FINDINGS
from kctl.why.wording import age_text, by_partition, further, place

CLOCK_MS = 30_000
"""Minimum clock difference to report, in ms, because both times are not measured at the same moment."""
BEHIND_MS = 30_000
PAUSE_MS = 100
"""Minimum sum of pauses to report, in ms."""
SKEW_FACTOR = 2
_REFUSALS = (TlsError, TlsNotAnswered, AuthenticationError, SaslRequired, WrongPeerError)
"""Errors of brokers that respond but cannot be used by this client."""
_UNREACHED = "check that the broker is running and that this machine can connect to its advertised address"
MOST_PERCENT = 50
"""Minimum share of a topic that takes most of a disk."""
_RETAIN = "kctl configs set topic {topic} retention.bytes={bytes}"
_ENLARGE = (
    "enlarge the disk, or move replicas to other brokers. List replicas with: kctl brokers log-dirs {broker} --replicas"
)
_ELECT = "kctl partitions elect --all"
_MOVE = "kctl partitions plan --to-brokers {brokers} > plan.json && kctl partitions move plan.json && "
LEAST_SKEWED = 20
"""Minimum average of partitions for each broker. With fewer, leaders are never evenly distributed."""


def brokers(looks: Looks) -> Iterator[Finding]:
    yield from _unreachable(looks.now)
    yield from _missing(looks.now)
    yield from _throttled(looks.now)
    yield from _left_behind(looks.now)
    yield from _stale(looks)
    yield from _controllers(looks.now)
    yield from _quorum(looks.now)
    yield from _disks(looks)
    yield from _leaders(looks.now)


def _unreachable(look: Look) -> Iterator[Finding]:
    registered, elsewhere = {node.node_id for node in look.nodes}, look.probed.elsewhere
    leaders = Counter(info.leader_id for of_topic in look.topics.values() for info in of_topic.values())
    partitions, names = counted(leaders.total(), "partition"), look.node_names()
    for node_id, silence in look.silent.items():
        if node_id not in registered or not silence.is_certain or node_id in elsewhere:
            continue
        is_refused = isinstance(silence.error, _REFUSALS)
        yield FINDINGS["broker-unreachable"].found(
            {
                "broker": node_id,
                "name": names[node_id],
                "state": "cannot be used" if is_refused else "does not respond",
                "reason": silence.reason,
                "hint": (is_refused and getattr(silence.error, "hint", "")) or _UNREACHED,
                "load": further(
                    f"The broker leads {leaders[node_id]} of the {partitions} that kctl checked" if leaders else ""
                ),
            },
            [Evidence("Metadata", f"broker {node_id}", _silence(silence))],
        )


def _silence(silence: Silence) -> dict[str, Value]:
    if not isinstance(silence.error, KafkaTimeoutError):
        return {"error": str(silence.error)}
    return {"waited_ms": silence.error.elapsed_ms, "phase": silence.phase}


def _missing(look: Look) -> Iterator[Finding]:
    registered = {node.node_id for node in look.nodes}
    of_broker: dict[int, list[TopicPartition]] = {}
    partitions = look.partitions
    for tp, info in partitions.items():
        for node_id in info.replicas:
            if node_id not in registered:
                of_broker.setdefault(node_id, []).append(tp)
    names, fenced = look.node_names(), _ids(node.node_id for node in look.fenced)
    for node in look.fenced:
        fenced_replicas = of_broker.pop(node.node_id, [])
        yield FINDINGS["broker-fenced"].found(
            {
                "broker": node.node_id,
                "name": names[node.node_id],
                "load": further(
                    f"The broker has replicas of {counted(len(fenced_replicas), 'partition')}"
                    if fenced_replicas
                    else ""
                ),
            },
            [Evidence("DescribeCluster", "fenced brokers", {"brokers": fenced})],
        )
    for node_id, replicas in sorted(of_broker.items()):
        yield FINDINGS["broker-missing"].found(
            {"broker": node_id, "partitions": counted(len(replicas), "partition"), **place(replicas[0])},
            [
                Evidence("Metadata", "registered brokers", {"brokers": _ids(sorted(registered))}),
                Evidence("Metadata", "replicas", by_partition({tp: _ids(partitions[tp].replicas) for tp in replicas})),
            ],
        )


def _throttled(look: Look) -> Iterator[Finding]:
    for where, paused_ms in look.paused_ms.items():
        if paused_ms >= PAUSE_MS:
            yield FINDINGS["quota-throttled"].found(
                {"broker": where, "paused": age_text(paused_ms)},
                [Evidence("Metadata", f"broker {where}", {"throttle_time_ms": paused_ms})],
            )


def _left_behind(look: Look) -> Iterator[Finding]:
    if look.moving is None or look.moving:
        return
    rates = {node_id: set_configs(look.broker_configs[node_id], THROTTLE_RATES) for node_id in look.throttled_brokers}
    shared = {name: each.value for of in rates.values() for name, each in of.items() if each.is_default_of_brokers}
    if shared:
        yield _throttle_left("broker", str(min(rates)), "broker-defaults", shared)
    for node_id, of in rates.items():
        own = {name: each.value for name, each in of.items() if not each.is_default_of_brokers}
        if own:
            yield _throttle_left("broker", str(node_id), f"broker {node_id}", own)
    for topic in look.throttled_topics:
        lists = set_configs(look.topic_configs[topic], THROTTLE_LISTS)
        yield _throttle_left("topic", topic, f"topic {topic}", {name: each.value for name, each in lists.items()})


def _throttle_left(kind: str, name: str, where: str, found: dict[str, str]) -> Finding:
    resource = where if where == "broker-defaults" else fill_command("{kind} {name}", {"kind": kind, "name": name})
    return FINDINGS["throttle-left-behind"].found(
        {
            "where": where,
            "kind": kind,
            "name": name,
            "what": ", ".join(f"{key}={value}" for key, value in found.items()),
            "fix": f"kctl configs unset {resource} {' '.join(found)}",
        },
        [Evidence("DescribeConfigs", where, dict(found))],
    )


def _stale(looks: Looks) -> Iterator[Finding]:
    if looks.before is None:
        return
    first = looks.before
    led, names = first.partitions, looks.now.node_names()
    for node_id, behind in looks.now.behind.items():
        newest = {
            tp: max((info.leader_epoch, info.leader_id) for info in (led.get(tp), first.newest_leaders.get(tp)) if info)
            for tp in behind
        }
        if behind:
            worst = min(behind)
            yield FINDINGS["stale-metadata"].found(
                {
                    "broker": node_id,
                    "name": names.get(node_id, str(node_id)),
                    "partitions": counted(len(behind), "partition"),
                    "leader": behind[worst].leader_id,
                    "epoch": behind[worst].leader_epoch,
                    "newest": newest[worst][0],
                    "other": newest[worst][1],
                    "seconds": looks.apart,
                    **place(worst),
                },
                [
                    Evidence(
                        "Metadata",
                        f"leader epochs reported by broker {node_id}",
                        by_partition({tp: info.leader_epoch for tp, info in behind.items()}),
                    ),
                    Evidence("Metadata", f"leader reported by broker {node_id}", {str(worst): behind[worst].leader_id}),
                    Evidence(
                        "Metadata",
                        "highest leader epochs in the first sample",
                        by_partition({tp: newest[tp][0] for tp in behind}),
                    ),
                    Evidence(
                        "Metadata", "leader with the highest epoch in the first sample", {str(worst): newest[worst][1]}
                    ),
                ],
            )


def _controllers(look: Look) -> Iterator[Finding]:
    timeouts = [gap.error for gap in look.gaps if gap.request == "DescribeQuorum"]
    timeout = next((each for each in timeouts if isinstance(each, KafkaTimeoutError)), None)
    alive = [node_id for node_id in look.responding if node_id not in look.silent]
    if timeout is None or timeout.elapsed_ms < LEAST_SILENCE_MS or not alive:
        return
    away = sorted({node_id for node_id, each in look.silent.items() if each.is_certain} | _ids_of(look.fenced))
    nodes = _ids_of(look.nodes) | _ids_of(look.fenced)
    yield FINDINGS["no-quorum" if 2 * len(away) >= len(nodes) else "controller-unreachable"].found(
        {
            "alive": brokers_text(alive),
            "seconds": duration_text(timeout.elapsed_ms),
            "silent": len(away),
            "nodes": counted(len(nodes), "broker"),
            "names": brokers_text(away),
        },
        [
            Evidence("DescribeQuorum", "the cluster", {"waited_ms": timeout.elapsed_ms}),
            Evidence("Metadata", "brokers", {"silent": _ids(away), "responding": _ids(alive)}),
        ],
    )


def _ids(node_ids: Iterable[int]) -> str:
    return ",".join(map(str, node_ids))


def _ids_of(nodes: Iterable[Node]) -> set[int]:
    return {node.node_id for node in nodes}


def _quorum(look: Look) -> Iterator[Finding]:
    if look.quorum is None:
        return
    leader = next((each for each in look.quorum.replicas if each.node_id == look.quorum.leader_id), None)
    if leader is None or leader.last_caught_up_at_ms < 0:
        return
    now_ms = leader.last_caught_up_at_ms  # the leader reports its current time in this field
    here_ms = look.wall_ms if look.quorum_at_ms is None else look.quorum_at_ms
    off_ms = now_ms - here_ms
    if abs(off_ms) >= CLOCK_MS:
        yield FINDINGS["controller-clock"].found(
            {
                "node": leader.node_id,
                "off": age_text(abs(off_ms)),
                "direction": "ahead of" if off_ms > 0 else "behind",
            },
            [Evidence("DescribeQuorum", f"node {leader.node_id}", {"last_caught_up_ms": now_ms, "here_ms": here_ms})],
        )
    for replica in look.quorum.replicas:
        age_ms = now_ms - replica.last_caught_up_at_ms
        if replica.lag > 0 and replica.last_caught_up_at_ms >= 0 and age_ms >= BEHIND_MS:
            yield FINDINGS["quorum-lag"].found(
                {
                    "role": "controller" if replica.is_voter else "broker",
                    "node": replica.node_id,
                    "lag": replica.lag,
                    "age": age_text(age_ms),
                },
                [
                    Evidence(
                        "DescribeQuorum",
                        f"node {replica.node_id}",
                        {"log_end_offset": replica.log_end_offset, "last_caught_up_ms": replica.last_caught_up_at_ms},
                    )
                ],
            )


def _disks(looks: Looks) -> Iterator[Finding]:
    for node_id, dirs in looks.now.log_dirs.items():
        for each in dirs:
            if each.error is not None:
                yield FINDINGS["log-dir-offline"].found(
                    {"broker": node_id, "path": each.path, "reason": str(each.error)},
                    [Evidence("DescribeLogDirs", f"broker {node_id}", {"dir": each.path, "error": each.error.name})],
                )
            elif is_filling(each):
                yield _filling(looks, node_id, each)


def _filling(looks: Looks, node_id: int, found: LogDir) -> Finding:
    by_topic: dict[str, list[int]] = {}
    for tp, size in found.replica_bytes.items():
        by_topic.setdefault(tp.topic, []).append(size)
    largest = max(by_topic, key=lambda topic: sum(by_topic[topic]), default=None)
    sizes = [] if largest is None else by_topic[largest]
    used = max(1, found.total_bytes - found.usable_bytes, sum(found.replica_bytes.values()))
    share = sum(sizes) * 100 // used
    bound = None if largest is None or share < MOST_PERCENT else _retention(looks.now, largest, sizes)
    more = further(f"The largest topic is {largest} ({share}% of the used space)")
    return FINDINGS["disk-filling"].found(
        {
            "broker": node_id,
            "free": size_text(found.usable_bytes),
            "total": size_text(found.total_bytes),
            "percent": found.usable_bytes * 100 // found.total_bytes,
            "path": found.path,
            "rate": _rate_text(looks, node_id, found.path, found.usable_bytes),
            "more": "" if largest is None else more,
            "fix": fill_command(
                _ENLARGE if bound is None else _RETAIN, {"broker": node_id, "topic": largest, "bytes": bound}
            ),
        },
        [
            Evidence(
                "DescribeLogDirs",
                f"broker {node_id}",
                {
                    "dir": found.path,
                    "total_bytes": found.total_bytes,
                    "usable_bytes": found.usable_bytes,
                    "largest_topic": largest,
                    "largest_topic_bytes": sum(sizes),
                },
            )
        ],
    )


def _retention(look: Look, topic: str, sizes: list[int]) -> int | None:
    """Return the retention.bytes that halves a topic on a disk, or None if retention.bytes cannot do this."""
    configs = look.topic_configs.get(topic, {})
    names = ("cleanup.policy", "segment.bytes", "retention.bytes")
    policy, *others = (configs[name].value if name in configs else "" for name in names)
    segment_bytes, now_bytes = map(integer_in, others)
    left, bound = sum(sizes) // 2, 0
    for at, size in enumerate(sorted(sizes)):
        bound = left // (len(sizes) - at)
        if bound <= size:
            break
        left -= size
    is_short = segment_bytes is not None and 2 * segment_bytes <= bound  # the last segment is kept
    is_less = now_bytes is None or not 0 <= now_bytes <= bound
    return bound if policy == "delete" and is_short and is_less else None


def _rate_text(looks: Looks, node_id: int, path: str, usable_bytes: int) -> str:
    dirs = [] if looks.before is None else looks.before.log_dirs.get(node_id, [])
    before = next((each.usable_bytes for each in dirs if each.path == path), usable_bytes)
    if before <= usable_bytes or not looks.apart_ms:
        return ""
    per_hour = (before - usable_bytes) * 3_600_000 // looks.apart_ms
    left_ms = usable_bytes * looks.apart_ms // (before - usable_bytes)
    return further(
        f"The disk fills at a rate of {size_text(per_hour)} per hour and will be full in about {age_text(left_ms)}"
    )


def _leaders(look: Look) -> Iterator[Finding]:
    yield from _skew(look)
    yield from _preferred_away(look)


def _skew(look: Look) -> Iterator[Finding]:
    leads: dict[int, int] = dict.fromkeys((node.node_id for node in look.nodes), 0)
    elected: Counter[int] = Counter()
    for info in look.partitions.values():
        if info.leader_id in leads:
            leads[info.leader_id] += 1
            elected[next((each for each in info.replicas[:1] if each in info.isr), info.leader_id)] += 1
    total = sum(leads.values())
    fair = total // len(leads) if leads else 0
    most = fair * SKEW_FACTOR
    move = "" if max(elected.values(), default=0) < most else _MOVE.format(brokers=_ids(sorted(leads)))
    for node_id, count in leads.items():
        if fair >= LEAST_SKEWED and count >= most:
            yield FINDINGS["leader-skew"].found(
                {
                    "broker": node_id,
                    "leads": count,
                    "partitions": counted(total, "partition"),
                    "fair": fair,
                    "fix": f"{move}{_ELECT}",
                },
                [Evidence("Metadata", "leaders by broker", {str(key): value for key, value in sorted(leads.items())})],
            )


def _preferred_away(look: Look) -> Iterator[Finding]:
    registered = {node.node_id for node in look.nodes}
    away: dict[int, list[TopicPartition]] = {}
    known = look.partitions
    for tp, info in known.items():
        preferred = info.replicas[0] if info.replicas else -1
        if preferred in registered and preferred in info.isr and info.leader_id in registered - {preferred}:
            away.setdefault(preferred, []).append(tp)
    for node_id, found in away.items():
        tp = found[0]
        yield FINDINGS["preferred-leader-not-leading"].found(
            {
                "broker": node_id,
                "partitions": counted(len(found), "partition"),
                "leader": f"broker {known[tp].leader_id}",
                **place(tp),
            },
            [Evidence("Metadata", "leaders", by_partition({tp: known[tp].leader_id for tp in found}))],
        )
