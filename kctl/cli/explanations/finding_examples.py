"""Example findings with sample values, for `kctl explain` and the documentation."""

from kctl.cli.explanations.page import Page
from kctl.grammar.command_lines import Words
from kctl.why.finding import OPTIONAL, Finding, FindingKind, Value
from kctl.why.table import rights_of

_COMMON: dict[str, Value] = {
    "group": "billing", "topic": "orders", "partition": "orders-2", "number": 2, "offset": 40, "next": 41,
    "seconds": "10s", "waiting": 1200, "client": "worker-1", "host": "10.0.0.7",
    "which": "1 partition with unread records",
    "instance": "pod-1", "reason": "its coordinator has no open transaction", "where": "orders: 1,200", "arrived": 5000,
    "read": 800, "changes": "it rebalanced at least 4 times in 6 samples",
    "members": 3, "partitions": "2 partitions", "idle": 1, "lost": 500,
    "start": 540, "numbers": "2", "end": 35, "age": "6d", "retention": "7d", "longer": 1_209_600_000,
    "limit": "1024 bytes/s", "key": "consumer_byte_rate", "entity": "client-id worker-1",
    "options": "--client-id worker-1", "before": 90, "again": 50, "brokers": "brokers 2 and 3", "producer": "4000",
    "epoch": 7, "name": "", "in_sync": 1, "replicas": 3, "least": 2, "source": "set on the topic", "possible": 1,
    "date": "2031-05-01", "ahead": "1,600d", "old": 1, "leader": 2,
    "how": "although it was not in sync", "policy": "compact",
    "records": 10_000, "repeated": 6000, "size": "4.2 GB", "broker": 2, "value": "LogAppendTime",
    "other": 3, "newest": 9, "alive": "broker 1", "silent": 2, "nodes": 3, "names": "controllers 2 and 3",
    "node": 3, "role": "controller", "lag": 900, "off": "42s", "direction": "behind", "free": "12 GB",
    "total": "200 GB", "percent": 6, "path": "/data/kafka", "paused": "800ms",
    "kind": "topic", "follower": "follower.replication.throttled.replicas", "id": "payments-1", "leads": 40,
    "fair": 20, "what": "had 4 member IDs within 10s", "fate": "", "text": "", "hint": "",
    "fix": "", "stop": "stop the consumers of billing, then: ",
}  # fmt: skip
_OF_KIND: dict[str, dict[str, Value]] = {
    "falling-behind": {
        "hot": ". orders-2 received 4,800 of these records, and has 1,100 unread records",
        "fix": "spread the keys of orders evenly, or process records faster: "
        "only one consumer at a time reads orders-2",
    },
    "future-timestamps": {
        "fix": "kctl configs set topic orders message.timestamp.after.max.ms=3600000 && "
        "kctl topics trim orders:2 --before 41"
    },
    "poison-record": {"reason": "The record has 9.4 MB, and earlier records have at most 3.1 kB"},
    "no-leader": {"reason": "its replicas are on brokers 2 and 3 (not registered)", "fix": "start brokers 2 and 3"},
    "coordinator-offline": {
        "partition": "__consumer_offsets-7", "topic": "__consumer_offsets",
        "reason": "its replicas are on brokers 2 and 3 (not registered)", "fix": "start brokers 2 and 3",
        "what": "Groups on these partitions", "fate": "their members cannot join or commit",
    },
    "transaction-hanging": {"reason": "its coordinator has payments-1 in state Empty without this partition"},
    "transaction-open": {"reason": "its coordinator has it in state Ongoing"},
    "transaction-running": {"reason": "its coordinator has it in state Ongoing"},
    "members-idle": {"partitions": 2},
    "no-assignment": {"members": "3 members"},
    "log-truncated": {"where": "its log ends at 35", "lost": 5},
    "impossible-min-isr": {"replicas": "1 replica"},
    "old-message-format": {
        "name": "message.format.version", "value": "0.10.2",
        "reason": "records cannot have headers or transactions, and brokers convert fetches of newer clients",
    },
    "broker-unreachable": {
        "name": "2 (kafka-2:9092)", "state": "does not respond",
        "reason": "no connection was accepted within 10s (--api-timeout 60s)",
        "hint": "check that the broker runs, and that its advertised address is reachable from this machine",
    },
    "broker-fenced": {"name": "2 (kafka-2:9092)"},
    "stale-metadata": {"name": "2 (kafka-2:9092)", "leader": 1},
    "broker-missing": {"partitions": "12 partitions"},
    "log-dir-offline": {"reason": "KAFKA_STORAGE_ERROR"},
    "preferred-leader-not-leading": {"leader": "broker 1"},
    "disk-filling": {
        "more": ". Its largest topic is orders (71 % of the used space)",
        "fix": "kctl configs set topic orders retention.bytes=10000000000",
    },
    "leader-skew": {"partitions": "60 partitions", "fix": "kctl partitions elect --all"},
    "throttle-left-behind": {
        "where": "topic orders", "what": "leader.replication.throttled.replicas=2:1", "name": "orders",
        "fix": "kctl configs unset topic orders leader.replication.throttled.replicas",
    },
    "producer-fenced": {"what": "its epoch rose 3 times", "before": 4},
    "duplicate-instance-id": {"what": "belonged to worker-1 on 10.0.0.7, and 10s later to worker-2 on 10.0.0.8"},
    "quorum-lag": {"age": "40s"},
    "advertised-unusable": {
        "where": "broker 4", "text": "it advertises kafka-4.prod.internal:9092: NXDOMAIN (the name does not exist)",
        "hint": "set advertised.listeners of the broker to an address that clients reach",
    },
    "advertised-loopback": {
        "where": "broker 1", "text": "it advertises localhost:9092, which is this machine",
        "hint": "set advertised.listeners of the broker to an address that clients reach",
    },
    "misrouted": {
        "where": "kafka-2:9092", "text": "broker 3 responds at the address of broker 2",
        "hint": "check the port mapping or proxy of kafka-2:9092",
    },
    "two-clusters": {
        "where": "kafka-2:9092", "text": "its cluster id is B, and the cluster id of the others is A",
        "hint": "remove the servers of the other cluster from --bootstrap",
    },
    "certificate-expired": {
        "where": "kafka-1:9093", "text": "its certificate expired on 2026-01-31",
        "hint": "install a new certificate on the broker",
    },
    "certificate-expiring": {
        "where": "kafka-1:9093", "text": "its certificate expires in 6 days",
        "hint": "install a new certificate on the broker",
    },
    "certificate-name": {
        "where": "kafka-1:9093", "text": "its certificate is for kafka-1.internal",
        "hint": "connect by a name in the certificate, or issue a certificate for this name",
    },
    "certificate-untrusted": {
        "where": "kafka-1:9093", "text": "certificate of CN=kafka-1 is not trusted: issuer CN=Old CA is unknown here",
        "hint": "add the certificate of the issuer to ssl.truststore.location",
    },
    "tls-failed": {
        "where": "kafka-1:9093", "text": "the broker requires a client certificate, but the client sent none",
        "hint": "set ssl.keystore.location",
    },
    "authentication-failed": {
        "where": "kafka-1:9093", "text": "SCRAM-SHA-256 login of ann refused: invalid credentials",
        "hint": "check user name, password, and mechanism",
    },
    "other-protocol": {
        "where": "kafka-1:9093", "text": "a TLS listener (TLS record 15 03 03 00 02 02 46)",
        "hint": "set security.protocol=SSL",
    },
    "broker-unusable": {
        "where": "kafka-2:9092", "text": "broker 2, does not respond: no ApiVersions response within 10s",
        "hint": "check the process, the disk, and the garbage collection of the broker",
    },
    "no-controller": {
        "where": "the cluster", "text": "no broker reports an active controller",
        "hint": "check the controllers",
    },
    "bootstrap-unreachable": {"where": "kafka-9:9092", "text": "connection refused"},
    "dead-address": {
        "where": "kafka-1:9092 [10.0.0.9]", "text": "2 of 3 addresses of kafka-1 work, but this address failed: closed",
        "hint": "remove the stale DNS record, or repair the route to that address",
    },
    "version-skew": {
        "where": "broker 3", "text": "it supports Fetch up to version 15, and the others up to version 17",
        "hint": "finish the upgrade of the brokers",
    },
}  # fmt: skip


def finding_page(kind: FindingKind) -> Page:
    example = example_of(kind)
    facts = [
        ("severity", kind.severity.value),
        ("example", example.sentence),
        ("about", ", ".join(scope.value for scope in kind.scopes)),
        ("looks", "two (--samples 2)" if kind.looks > 1 else "one"),
        ("requests", ", ".join(kind.requests)),
        ("rights", "; ".join(rights_of(kind))),
        ("more", example.show),
        ("cure", example.cure),
    ]
    return Page("finding", kind.id, f"finding {kind.id}: {kind.title}", (kind.leads_to,), facts=tuple(facts))


def example_of(kind: FindingKind) -> Finding:
    return kind.found({**_EMPTY, **_COMMON, **_OF_KIND.get(kind.id, {})}, ())


_EMPTY: dict[str, Value] = dict.fromkeys(OPTIONAL, Words())
