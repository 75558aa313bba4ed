"""The findings about topics and their partitions, as rows of the table."""

from kctl.why.finding import FindingKind, Scope, Severity

_ALL = (Scope.GROUP, Scope.TOPIC, Scope.CLUSTER)
_TOPICS = (Scope.TOPIC, Scope.CLUSTER)

PARTITION_FINDINGS: tuple[FindingKind, ...] = (
    FindingKind(
        id="no-leader",
        severity=Severity.ERROR,
        title="A partition has no leader",
        scopes=_ALL,
        looks=1,
        requests=("Metadata",),
        subject="topic {topic}",
        sentence="{partition} has no leader: {reason}{more}",
        leads_to="It can be neither written nor read.",
        show="kctl topics describe {topic}",
        cure="start {brokers}; electing a leader that is not in sync would lose records",
    ),
    FindingKind(
        id="under-min-isr",
        severity=Severity.ERROR,
        title="Fewer replicas are in sync than acks=all needs",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeConfigs"),
        subject="topic {topic}",
        sentence="{partition} has {in_sync} of {replicas} replicas in sync and min.insync.replicas={least} ({source}); "
        "missing: {brokers}{more}",
        leads_to="Producers with acks=all fail with NOT_ENOUGH_REPLICAS.",
        show="kctl topics describe {topic}",
        cure="start {brokers}, or look why they do not catch up",
    ),
    FindingKind(
        id="impossible-min-isr",
        severity=Severity.ERROR,
        title="min.insync.replicas is above the number of replicas",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeConfigs"),
        subject="topic {topic}",
        sentence="{topic} has {replicas} and min.insync.replicas={least} ({source}): acks=all can never succeed",
        leads_to="Every producer with acks=all, the default, fails with NOT_ENOUGH_REPLICAS.",
        show="kctl configs show topic {topic}",
        cure="kctl configs set topic {topic} min.insync.replicas={possible}",
    ),
    FindingKind(
        id="future-timestamps",
        severity=Severity.WARNING,
        title="Records from the future stop retention",
        scopes=_ALL,
        looks=1,
        requests=("ListOffsets",),
        subject="topic {topic}",
        sentence="{partition} has a record from the future: offset {offset} is dated {date}, {ahead} from now{more}",
        leads_to="Retention by time keeps the segment with that record, and all after it, until then.",
        show="kctl consume {topic} -p {number} -o {offset} -n 1",
        cure="kctl configs set topic {topic} message.timestamp.after.max.ms=3600000",
    ),
    FindingKind(
        id="unclean-election",
        severity=Severity.WARNING,
        title="A replica that lacks records may become leader",
        scopes=_TOPICS,
        looks=1,
        requests=("DescribeConfigs", "Metadata"),
        subject="topic {topic}",
        sentence="{topic} has unclean.leader.election.enable=true ({source}): a replica that is not in sync may become "
        "leader",
        leads_to="Acknowledged records are lost when the in-sync replicas fail together.",
        show="kctl configs show topic {topic}",
        cure="kctl configs set topic {topic} unclean.leader.election.enable=false",
    ),
    FindingKind(
        id="old-message-format",
        severity=Severity.NOTE,
        title="Old clients cannot read the codec, or brokers the format",
        scopes=_TOPICS,
        looks=1,
        requests=("DescribeConfigs",),
        subject="topic {topic}",
        sentence="{topic} has {name}={value}: {reason}",
        leads_to="Clients that are too old fail with UNSUPPORTED_COMPRESSION_TYPE, or brokers convert every fetch.",
        show="kctl configs show topic {topic}",
        cure="kctl configs unset topic {topic} {name}",
    ),
)
