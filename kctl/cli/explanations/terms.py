"""TERMS: words of Kafka that messages and tables use, each with the command that shows the thing."""

from typing import NamedTuple

from kctl.cli.explanations.page import Page


class Term(NamedTuple):
    """A word.

    Attributes:
        means: what it is, for someone who knows what a topic is.
        commands: what shows it.
        names: further spellings, in small letters and singular.
    """

    means: str
    commands: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


TERMS: dict[str, Term] = {
    "acl": Term(
        "A rule that allows or denies a principal an operation on a resource, from some hosts. Without a rule that "
        "allows it an operation is refused, once an authorizer is configured.",
        ("kctl acls list", "kctl acls check PRINCIPAL --topic TOPIC --operation read"),
        ("access control list", "authorizer"),
    ),
    "advertised listener": Term(
        "Host and port that a broker returns as its address. Clients use them after the first request, so a name "
        "that resolves only inside the cluster breaks clients outside.",
        ("kctl probe",),
        ("advertised.listeners", "listener"),
    ),
    "batch": Term(
        "Records of one partition that a producer sends, compresses and stores together.",
        ("kctl explain batch.size", "kctl explain linger.ms"),
        ("record batch",),
    ),
    "bootstrap server": Term(
        "An address that a client connects to first. The broker returns the addresses of all brokers, "
        "which the client uses from then on.",
        ("kctl probe", "kctl explain bootstrap.servers"),
        ("bootstrap",),
    ),
    "broker": Term(
        "A server of a Kafka cluster. It stores replicas of partitions, and clients write to and read from the "
        "broker that leads a partition.",
        ("kctl cluster describe", "kctl brokers disks", "kctl probe"),
        ("node", "server"),
    ),
    "cluster": Term("Brokers that share topics and one controller.", ("kctl cluster describe", "kctl why cluster")),
    "commit": Term(
        "Storing how far a group has read: after a restart its members continue at the committed offset.",
        ("kctl groups describe GROUP", "kctl groups reset-offsets GROUP"),
        ("committed",),
    ),
    "compaction": Term(
        "Cleaning that keeps the newest record of each key and removes older ones, for topics with "
        "cleanup.policy=compact.",
        ("kctl topics describe TOPIC --configs", "kctl explain cleanup.policy"),
        ("compacted topic",),
    ),
    "consumer": Term(
        "A client that reads records, alone or as a member of a group.",
        ("kctl consume TOPIC", "kctl groups members GROUP"),
    ),
    "consumer group": Term(
        "Consumers with one group.id that share the partitions of their topics: each partition is read by one "
        "member, and the group commits how far it has read.",
        ("kctl groups list", "kctl groups describe GROUP"),
        ("group",),
    ),
    "controller": Term(
        "The broker that elects leaders and changes the metadata of the cluster.", ("kctl cluster describe",)
    ),
    "coordinator": Term(
        "The broker that manages a group or a transactional id: it accepts commits and members.",
        ("kctl groups describe GROUP",),
        ("group coordinator", "transaction coordinator"),
    ),
    "dead letter topic": Term(
        "A topic for records that a program could not process.",
        ("kctl pipeline replay TOPIC --to-topic TARGET",),
        ("dead letter", "dead letter queue", "dlq", "dlt"),
    ),
    "epoch": Term(
        "A number that grows with each new holder of a role, so that the former one is recognized and refused: "
        "leader epoch of a partition, producer epoch of a transactional id, member epoch of a group.",
        ("kctl topics describe TOPIC", "kctl transactions describe ID"),
        ("leader epoch", "producer epoch", "member epoch"),
    ),
    "header": Term(
        "A name and a value in addition to the key and value of a record. Names may repeat.",
        ("kctl consume TOPIC -f '%H\\n'", "kctl produce TOPIC -H NAME=VALUE"),
        ("record header",),
    ),
    "heartbeat": Term(
        "The request by which a member of a group shows that it is alive. Without one for the session timeout the "
        "group gives its partitions to others.",
        ("kctl explain session.timeout.ms", "kctl why group GROUP --watch --interval 10s"),
    ),
    "high watermark": Term(
        "The offset up to which all replicas in sync have the records; consumers read no further.",
        ("kctl topics offsets TOPIC",),
        ("hw", "hwm", "watermark"),
    ),
    "idempotence": Term(
        "A producer numbers its batches, and the broker stores each only once however often it is sent.",
        ("kctl explain enable.idempotence",),
        ("idempotent", "idempotent producer", "exactly once"),
    ),
    "isr": Term(
        "In-sync replicas: the replicas of a partition that are up to date with its leader. With fewer than "
        "min.insync.replicas, acks=all fails.",
        ("kctl topics list --under-replicated", "kctl topics describe TOPIC"),
        ("in-sync replica", "in sync replica"),
    ),
    "key": Term(
        "The part of a record that usually chooses its partition: records with the same key keep their order. "
        "Compaction keeps the newest record of each key.",
        ("kctl consume TOPIC -f '%k %v\\n'", "kctl produce TOPIC -f '%k:%v\\n'"),
        ("record key",),
    ),
    "lag": Term(
        "Records of a partition that a group has not read yet: the end offset minus the committed offset. It grows "
        "while records arrive faster than they are read, or while no member reads.",
        ("kctl groups lag GROUP", "kctl groups lag --all --watch", "kctl why group GROUP"),
        ("consumer lag", "current lag"),
    ),
    "last stable offset": Term(
        "The offset up to which no transaction is open; consumers with read_committed read no further.",
        ("kctl transactions list", "kctl consume TOPIC --isolation committed"),
        ("lso",),
    ),
    "leader": Term(
        "The replica of a partition that clients write to and read from. A partition without one is offline.",
        ("kctl topics describe TOPIC", "kctl topics list --offline"),
        ("partition leader",),
    ),
    "member": Term("A consumer of a group.", ("kctl groups members GROUP",), ("group member", "static member")),
    "metadata": Term(
        "Brokers, topics, partitions and leaders, as a broker reports them. Clients refresh it after errors and from "
        "time to time.",
        ("kctl cluster describe", "kctl topics describe TOPIC", "kctl explain metadata.max.age.ms"),
    ),
    "offset": Term(
        "The number of a record in its partition. A committed offset is the offset of the next record that "
        "a group reads.",
        ("kctl topics offsets TOPIC", "kctl groups lag GROUP"),
        ("committed offset",),
    ),
    "partition": Term(
        "An ordered part of a topic. Records with equal keys are in one partition.",
        ("kctl topics describe TOPIC",),
    ),
    "principal": Term(
        "The identity of a client at a broker: User:alice after SASL, the subject of its certificate after TLS.",
        ("kctl acls list", "kctl users list"),
        ("user",),
    ),
    "producer": Term("A client that sends records.", ("kctl produce TOPIC",)),
    "quorum": Term(
        "The controllers that agree on the metadata of the cluster (KRaft); a majority of its voters must be up.",
        ("kctl cluster quorum",),
        ("controller quorum", "voter", "observer"),
    ),
    "quota": Term(
        "A limit of bytes or requests per second of a user or client id. A broker delays the responses of a client "
        "above it.",
        ("kctl quotas list", "kctl explain 'fault 48'"),
        ("throttle", "throttling"),
    ),
    "rack": Term(
        "The location of a broker, from its property broker.rack. Replicas are spread over racks, and a consumer with "
        "client.rack reads from a replica in its own.",
        ("kctl cluster describe", "kctl explain client.rack"),
        ("broker.rack",),
    ),
    "rebalance": Term(
        "A new assignment of the partitions of a group, after a member joined, left, or stopped "
        "responding. Members with the classic protocol stop reading during a rebalance.",
        ("kctl groups members GROUP", "kctl why group GROUP --watch --interval 10s"),
        ("rebalancing", "consumer rebalance"),
    ),
    "record": Term(
        "What a topic holds: key, value, headers and timestamp, with an offset in its partition.",
        ("kctl consume TOPIC -n 1 --output jsonl",),
        ("message", "event"),
    ),
    "replica": Term(
        "The copy of a partition on one broker. One replica is the leader; the others copy from it.",
        ("kctl topics describe TOPIC", "kctl brokers disks"),
        ("follower",),
    ),
    "replication factor": Term(
        "Number of brokers that have a copy of each partition of a topic.",
        ("kctl topics list", "kctl partitions plan TOPIC -r 3"),
        ("rf",),
    ),
    "retention": Term(
        "How long, or how many bytes, a topic keeps records before it deletes segments.",
        ("kctl explain retention.ms", "kctl explain retention.bytes", "kctl topics describe TOPIC --configs"),
    ),
    "sasl": Term(
        "Authentication of a connected client with a password (PLAIN, SCRAM), a token (OAUTHBEARER), or a "
        "Kerberos ticket (GSSAPI). A broker that rejects a mechanism lists its mechanisms.",
        ("kctl probe", "kctl explain sasl.mechanism", "kctl explain sasl.jaas.config"),
        ("login", "kerberos", "gssapi", "oauth", "oauthbearer", "scram"),
    ),
    "schema registry": Term(
        "A server that stores the schemas of keys and values; records have the id of theirs.",
        ("kctl schemas list", "kctl consume TOPIC --decode auto"),
        ("schema", "subject"),
    ),
    "segment": Term(
        "A file of the log of a partition. Records are deleted by whole segments, and never from the one that is "
        "written to.",
        ("kctl explain segment.bytes", "kctl explain segment.ms"),
        ("log segment",),
    ),
    "ssl": Term(
        "The name of TLS in Kafka's properties: security.protocol=SSL or SASL_SSL.", ("kctl explain tls", "kctl probe")
    ),
    "timestamp": Term(
        "The time of a record: when it was produced, or, with message.timestamp.type=LogAppendTime, when the broker "
        "stored it.",
        ("kctl consume TOPIC -f '%d{iso}\\n'", "kctl explain message.timestamp.type"),
        ("log append time", "create time"),
    ),
    "tombstone": Term(
        "A record with a null value. Compaction then removes the key.",
        ("kctl produce TOPIC --tombstones", "kctl explain delete.retention.ms"),
    ),
    "topic": Term(
        "A named stream of records, divided into partitions.", ("kctl topics list", "kctl topics describe TOPIC")
    ),
    "transaction": Term(
        "Records of several partitions, and commits of offsets, that become visible together or not at all.",
        ("kctl transactions list", "kctl transactions describe ID", "kctl transactions hanging"),
        ("transactional", "transactional id", "txn"),
    ),
    "under-replicated": Term(
        "A partition with fewer replicas in sync than it has replicas: a broker is down or behind.",
        ("kctl topics list --under-replicated", "kctl why cluster"),
        ("under replicated", "urp"),
    ),
    "value": Term("The content of a record; null is a tombstone.", ("kctl consume TOPIC",), ("record value",)),
}

BY_SPELLING = {spelling: name for name, term in TERMS.items() for spelling in (name, *term.names)}


def term_of(text: str) -> str | None:
    """Return the name of the word that a text spells, in small letters; a plural is its singular."""
    singular = text.removesuffix("ies") + "y" if text.endswith("ies") else text.removesuffix("s")
    return BY_SPELLING.get(text) or BY_SPELLING.get(singular)


def term_page(name: str) -> Page:
    """Return the page of a word."""
    term = TERMS[name]
    facts = tuple(("see it" if n == 0 else "or", command) for n, command in enumerate(term.commands))
    return Page("term", name, name, (term.means,), facts=facts)
