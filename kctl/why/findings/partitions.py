"""Findings about topics and partitions: leaders, in-sync replicas, timestamps, and risky configs.

Each topic has one finding, about its worst partition.
"""

from collections.abc import Iterable, Iterator, Mapping

from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.wording import brokers_text, counted, size_text
from kctl.grammar.command_lines import fill_command
from kctl.grammar.integers import integer_in
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.look import FUTURE_MS, ConfigValue, Look, Looks, in_sync_missing
from kctl.why.table import FINDINGS
from kctl.why.wording import age_text, by_partition, date_text, each_of, more_text, place, source_text, worst_of

_MIN_ISR, _UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
_TIMESTAMP_TYPE, _BY_BROKERS = "message.timestamp.type", "LogAppendTime"
_LIMIT = "kctl configs set topic {topic} message.timestamp.after.max.ms=3600000"
_OLD = {
    "message.format.version": (
        ("0.8", "0.9", "0.10"),
        "records cannot have headers or be part of transactions, and brokers convert records for newer clients",
    ),
    "compression.type": (("zstd",), "clients older than Kafka 2.1 cannot read zstd"),
}
"""Dict from config to values, or prefixes of values, that exclude some clients, with the reason."""
_ABSENT = {
    "not registered": "start {brokers}",
    "fenced": "start {brokers}, or restore the network between {brokers} and the controllers",
    "offline disk": "find the offline log directory of {brokers} with kctl brokers log-dirs, repair the disk, and "
    "restart {brokers}",
}
"""States in which a replica cannot lead, with the fix."""
_CONTROLLER = "find the active controller with kctl cluster quorum, and search its log for election errors"
_COORDINATED = ("__consumer_offsets", "__transaction_state")


def partitions(looks: Looks) -> Iterator[Finding]:
    look = looks.now
    yield from _records_lost(looks)
    yield from _not_compacted(look)
    yield from _future(look)
    leaderless = look.leaderless()
    for topic, infos in look.topics.items():
        configs = look.topic_configs.get(topic, {})
        yield from _no_leader(look, leaderless.get(topic))
        yield from _min_isr(topic, list(infos.values()), configs.get(_MIN_ISR))
        yield from _settings(topic, list(infos.values()), configs)


def _records_lost(looks: Looks) -> Iterator[Finding]:
    """Yield records of the first look that are lost: its leader epoch now ends below its high watermark."""
    if looks.before is None:
        return
    leaders, led = looks.now.partitions, looks.before.partitions
    by_topic: dict[str, dict[TopicPartition, tuple[int, int]]] = {}
    for tp, info in led.items():
        end, now = looks.before.ends.get(tp), looks.now.epoch_ends.get((tp, info.leader_epoch))
        if end is not None and now is not None and 0 <= now.end_offset < end.offset:
            by_topic.setdefault(tp.topic, {})[tp] = (end.offset, now.end_offset)
    for lost in by_topic.values():
        worst = max(lost, key=lambda tp: lost[tp][0] - lost[tp][1])
        info, (had, has) = led[worst], lost[worst]
        new = leaders[worst].leader_id
        is_unclean = new not in info.isr
        yield FINDINGS["records-lost"].found(
            {
                "lost": had - has,
                "seconds": looks.apart,
                "epoch": info.leader_epoch,
                "old": info.leader_id,
                "before": f"{had:,}",
                "election": f"Broker {new} was elected leader although it was not in sync"
                if is_unclean
                else f"Broker {new} was elected leader from the in-sync replicas",
                "end": f"The new leader has records of epoch {info.leader_epoch} only up to offset {has:,}"
                if has
                else f"The new leader has no records of epoch {info.leader_epoch}",
                "more": more_text(len(lost) - 1),
                **place(worst),
            },
            [
                Evidence(
                    "Metadata",
                    f"{worst} in the first sample",
                    {"leader": info.leader_id, "leader_epoch": info.leader_epoch, "isr": _ids(info.isr)},
                ),
                Evidence(
                    "ListOffsets", "log end offsets in the first sample", by_partition({tp: lost[tp][0] for tp in lost})
                ),
                Evidence(
                    "OffsetForLeaderEpoch",
                    f"end of epoch {info.leader_epoch} in the log of broker {new}",
                    by_partition({tp: lost[tp][1] for tp in lost}),
                ),
            ],
        )


def _not_compacted(look: Look) -> Iterator[Finding]:
    by_topic: dict[str, list[TopicPartition]] = {}
    known = look.partitions if look.old_keys else {}
    for tp, old in look.old_keys.items():
        if old.sample.repeated > 0 and tp in known:
            by_topic.setdefault(tp.topic, []).append(tp)
    for topic, found in by_topic.items():
        worst = max(found, key=lambda tp: look.old_keys[tp].size_bytes)
        old = look.old_keys[worst]
        yield FINDINGS["compaction-stalled"].found(
            {
                "policy": look.topic_configs[topic]["cleanup.policy"].value,
                "records": old.sample.records,
                "offset": old.start_offset,
                "age": age_text(old.age_ms),
                "repeated": old.sample.repeated,
                "size": size_text(old.size_bytes),
                "broker": known[worst].leader_id,
                "more": more_text(len(found) - 1),
                **place(worst),
            },
            [
                Evidence(
                    "Fetch",
                    f"keys of {worst} from offset {old.start_offset}",
                    {"records": old.sample.records, "keys": old.sample.records - old.sample.repeated},
                ),
                Evidence(
                    "DescribeLogDirs",
                    f"log sizes in bytes on the leaders (leader of {worst}: broker {known[worst].leader_id})",
                    by_partition({tp: look.old_keys[tp].size_bytes for tp in found}),
                ),
            ],
        )


def _no_leader(look: Look, without: list[PartitionInfo] | None) -> Iterator[Finding]:
    if not without:
        return
    info = without[0]
    reason, fix = _why_no_leader(look, info)
    tp = TopicPartition(info.topic, info.partition)
    seen: dict[str, Value] = {"leader": info.leader_id, "replicas": _ids(info.replicas), "isr": _ids(info.isr)}
    if info.offline_replicas:
        seen["offline_replicas"] = _ids(info.offline_replicas)
    yield FINDINGS["coordinator-offline" if tp.topic in _COORDINATED else "no-leader"].found(
        {
            "reason": reason,
            "fix": fix,
            "more": more_text(len(without) - 1),
            **place(tp),
        },
        [Evidence("Metadata", str(tp), seen), *_eligible_evidence(look, tp)],
    )


def _why_no_leader(look: Look, info: PartitionInfo) -> tuple[str, str]:
    states = _replica_states(look, info)
    *first, last = [f"{brokers_text(of)} ({state})" for state, of in states.items()] or ["unknown brokers"]
    places = f"{', '.join(first)}{',' if len(first) > 1 else ''} and {last}" if first else last
    reasons = [f"The replicas are on {places}"]
    if info.leader_id >= 0:
        reasons.insert(0, f"Metadata lists broker {info.leader_id} as the leader, but this broker is not registered")
    away = [node_id for state, node_ids in states.items() if state in _ABSENT for node_id in node_ids]
    known = look.eligible.get(TopicPartition(info.topic, info.partition))
    if known is not None and known.eligible:
        waiting = known.eligible
        reasons.append(f"Replicas that can be elected without data loss: {brokers_text(waiting)}")
    elif known is not None and known.last_known:
        waiting = known.last_known
        reasons += ["No replica can be elected without data loss", f"Last eligible replicas: {brokers_text(waiting)}"]
    elif info.isr:
        waiting = info.isr
        if not set(away) <= set(waiting):  # the other replicas do not help
            reasons.append(f"Last in-sync replicas: {brokers_text(waiting)}")
    else:
        waiting = tuple(away)
    fixes = [
        _ABSENT.get(state, _CONTROLLER).format(brokers=brokers_text(those))
        for state, node_ids in states.items()
        if (those := [node_id for node_id in node_ids if node_id in waiting])
    ]
    return ". ".join(reasons), ", or ".join(dict.fromkeys(fixes)) or _CONTROLLER


def _replica_states(look: Look, info: PartitionInfo) -> dict[str, list[int]]:
    registered, fenced = {node.node_id for node in look.nodes}, {node.node_id for node in look.fenced}
    found: dict[str, list[int]] = {}
    for node_id in info.replicas:
        if node_id in fenced:
            state = "fenced"
        elif node_id not in registered:
            state = "not registered"
        elif node_id in info.offline_replicas:
            state = "offline disk"
        else:
            state = "in sync and available, but not elected" if node_id in info.isr else "not in sync"
        found.setdefault(state, []).append(node_id)
    order = [*_ABSENT, "in sync and available, but not elected", "not in sync"]
    return {state: found[state] for state in order if state in found}


def _eligible_evidence(look: Look, tp: TopicPartition) -> list[Evidence]:
    known = look.eligible.get(tp)
    if known is None:
        return []
    values = {"eligible_leader_replicas": _ids(known.eligible), "last_known_elr": _ids(known.last_known)}
    return [Evidence("DescribeTopicPartitions", str(tp), dict(values))]


def _min_isr(topic: str, infos: list[PartitionInfo], config: ConfigValue | None) -> Iterator[Finding]:
    least = None if config is None else integer_in(config.value)
    if config is None or least is None or not infos:
        return
    evidence = Evidence("DescribeConfigs", f"topic {topic}", {_MIN_ISR: least, "source": source_text(config)})
    few = [info for info in infos if len(info.replicas) < least]
    if few:
        yield _impossible(topic, few[0], least, config, evidence)
        return
    under = [info for info in infos if info.leader_id >= 0 and len(info.isr) < least]
    if under:
        yield _under(under, least, config, evidence)


def _impossible(topic: str, info: PartitionInfo, least: int, config: ConfigValue, evidence: Evidence) -> Finding:
    return FINDINGS["impossible-min-isr"].found(
        {
            "topic": topic,
            "replicas": counted(len(info.replicas), "replica"),
            "least": least,
            "source": source_text(config),
            "possible": max(1, len(info.replicas) - 1),
        },
        [evidence, Evidence("Metadata", f"topic {topic}", {"replicas": _ids(info.replicas)})],
    )


def _under(under: list[PartitionInfo], least: int, config: ConfigValue, evidence: Evidence) -> Finding:
    worst = min(under, key=lambda info: len(info.isr))
    tp = TopicPartition(worst.topic, worst.partition)
    return FINDINGS["under-min-isr"].found(
        {
            "in_sync": len(worst.isr),
            "replicas": len(worst.replicas),
            "least": least,
            "source": source_text(config),
            "brokers": brokers_text({node_id for info in under for node_id in in_sync_missing(info)}),
            "more": more_text(len(under) - 1),
            **place(tp),
        },
        [evidence, Evidence("Metadata", str(tp), {"replicas": _ids(worst.replicas), "isr": _ids(worst.isr)})],
    )


def _future(look: Look) -> Iterator[Finding]:
    by_topic: dict[str, dict[TopicPartition, int]] = {}
    for tp, newest in look.newest.items():
        ahead_ms = newest.timestamp_ms - look.wall_ms
        if ahead_ms > FUTURE_MS:
            by_topic.setdefault(tp.topic, {})[tp] = ahead_ms
    for ahead in by_topic.values():
        worst, where = worst_of(ahead)
        newest = look.newest[worst]
        evidence = by_partition({tp: look.newest[tp].timestamp_ms for tp in ahead})
        leader = _dating_leader(look, worst)
        yield FINDINGS["future-timestamps"].found(
            {
                "offset": newest.offset,
                "date": date_text(newest.timestamp_ms),
                "ahead": age_text(ahead[worst]),
                "fix": _fix_of_future(look, worst, leader, ahead),
                **where,
            },
            [
                Evidence("ListOffsets", f"newest timestamps (offset {newest.offset} of {worst})", evidence),
                *([] if leader is None else _evidence_of_dates(worst, leader)),
            ],
        )


def _dating_leader(look: Look, tp: TopicPartition) -> PartitionInfo | None:
    kind = look.topic_configs.get(tp.topic, {}).get(_TIMESTAMP_TYPE)
    return look.partition(tp) if kind is not None and kind.value == _BY_BROKERS else None


def _evidence_of_dates(tp: TopicPartition, info: PartitionInfo) -> list[Evidence]:
    return [
        Evidence("DescribeConfigs", f"topic {tp.topic}", {_TIMESTAMP_TYPE: _BY_BROKERS}),
        Evidence("Metadata", str(tp), {"leader": info.leader_id, "replicas": _ids(info.replicas)}),
    ]


def _fix_of_future(
    look: Look, tp: TopicPartition, leader: PartitionInfo | None, ahead: Iterable[TopicPartition]
) -> str:
    """Return the fix. A limit rejects timestamps that clients set, and not those that brokers set."""
    ends = ({"next": look.newest[each].offset + 1, **place(each)} for each in ahead)
    trim = each_of("kctl topics trim {topic}:{number} --before {next}", ends)
    if leader is None:
        return fill_command(_LIMIT, {"topic": tp.topic}) + trim
    return (
        f"synchronize the clocks of {brokers_text(leader.replicas)} (NTP), because the leader sets the timestamps "
        f"({_TIMESTAMP_TYPE}={_BY_BROKERS}). Then delete these records and all earlier records with: "
        f"{trim.removeprefix(' && ')}"
    )


def _settings(topic: str, infos: list[PartitionInfo], configs: Mapping[str, ConfigValue]) -> Iterator[Finding]:
    unclean = configs.get(_UNCLEAN)
    if unclean is not None and unclean.value == "true" and any(len(info.replicas) > 1 for info in infos):
        yield FINDINGS["unclean-election"].found(
            {"topic": topic, "source": source_text(unclean)},
            [Evidence("DescribeConfigs", f"topic {topic}", {_UNCLEAN: unclean.value})],
        )
    for name, (olds, reason) in _OLD.items():
        found = configs.get(name)
        if found is not None and found.value.startswith(olds):
            yield FINDINGS["old-message-format"].found(
                {"topic": topic, "name": name, "value": found.value, "reason": reason},
                [Evidence("DescribeConfigs", f"topic {topic}", {name: found.value, "source": source_text(found)})],
            )


def _ids(node_ids: tuple[int, ...]) -> str:
    return ",".join(map(str, node_ids))
