"""Rows of findings about topics and partitions."""

from kctl.why.finding import NEWEST_TIMESTAMPS, FindingKind, Scope, Severity

_ALL = (Scope.GROUP, Scope.TOPIC, Scope.CLUSTER)
_TOPICS = (Scope.TOPIC, Scope.CLUSTER)

PARTITION_FINDINGS: tuple[FindingKind, ...] = (
    FindingKind(
        id="no-leader",
        severity=Severity.ERROR,
        title="A partition has no leader",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeTopicPartitions"),
        subject="topic {topic}",
        sentence="{partition} has no leader. {reason}{more}",
        leads_to="The partition cannot be read or written.",
        show="kctl topics describe {topic}",
        cure="{fix}. Avoid an unclean leader election, which can lose records",
    ),
    FindingKind(
        id="coordinator-offline",
        severity=Severity.ERROR,
        title="A partition of a coordinator topic has no leader",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeTopicPartitions"),
        subject="topic {topic}",
        sentence="{partition} has no leader. {reason}{more}",
        leads_to="Groups or transactional IDs on this partition have no coordinator. Group members cannot join or "
        "commit offsets, and transactional producers cannot begin or end transactions.",
        show="kctl topics describe {topic}",
        cure="{fix}. Avoid an unclean leader election, which can lose records",
    ),
    FindingKind(
        id="transaction-hanging",
        severity=Severity.ERROR,
        title="A hanging transaction blocks consumers",
        scopes=_ALL,
        looks=1,
        requests=("ListOffsets", "DescribeProducers", "ListTransactions", "DescribeTransactions"),
        subject="topic {topic}",
        sentence="a hanging transaction blocks read_committed consumers of {partition} at offset {offset}, with "
        "{waiting} records after it. Producer {producer} (epoch {epoch}{name}) began the transaction {age} ago, and "
        "{reason}{more}",
        leads_to="read_committed consumers make no progress, and compaction stops before the transaction.",
        show="kctl transactions hanging --topic {topic}",
        cure="kctl transactions abort {topic}:{number} --start-offset {offset} --execute{rest}",
    ),
    FindingKind(
        id="transaction-open",
        severity=Severity.WARNING,
        title="A transaction has been open for a long time",
        scopes=_ALL,
        looks=1,
        requests=("ListOffsets", "DescribeProducers", "ListTransactions", "DescribeTransactions"),
        subject="topic {topic}",
        sentence="an open transaction blocks read_committed consumers of {partition} at offset {offset}, with "
        "{waiting} records after it. Producer {producer} (epoch {epoch}{name}) began the transaction {age} ago, and "
        "{reason}{more}",
        leads_to="read_committed consumers make no progress until the transaction ends or times out "
        "(transaction.timeout.ms).",
        show="kctl transactions hanging --topic {topic} --all",
        cure="check why the producer does not commit or abort the transaction",
    ),
    FindingKind(
        id="transaction-running",
        severity=Severity.NOTE,
        title="A transaction is open",
        scopes=(Scope.TOPIC,),
        looks=1,
        requests=("ListOffsets", "DescribeProducers", "ListTransactions", "DescribeTransactions"),
        subject="topic {topic}",
        sentence="an open transaction blocks read_committed consumers of {partition} at offset {offset}, with "
        "{waiting} records after it. Producer {producer} (epoch {epoch}{name}) began the transaction {age} ago, and "
        "{reason}{more}",
        leads_to="read_committed consumers wait until the producer commits or aborts the transaction.",
        show="kctl transactions hanging --topic {topic} --all",
        cure="wait until the producer ends the transaction, or check the producer",
    ),
    FindingKind(
        id="under-min-isr",
        severity=Severity.ERROR,
        title="Fewer replicas are in sync than min.insync.replicas requires",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeConfigs"),
        subject="topic {topic}",
        sentence="{partition} has {in_sync} of {replicas} replicas in sync, but min.insync.replicas={least} "
        "({source}). Out of sync: {brokers}{more}",
        leads_to="Producers with acks=all fail with NOT_ENOUGH_REPLICAS.",
        show="kctl topics describe {topic}",
        cure="start {brokers}, or find out why the replicas do not catch up",
    ),
    FindingKind(
        id="impossible-min-isr",
        severity=Severity.ERROR,
        title="min.insync.replicas exceeds the number of replicas",
        scopes=_ALL,
        looks=1,
        requests=("Metadata", "DescribeConfigs"),
        subject="topic {topic}",
        sentence="{topic} has {replicas} but min.insync.replicas={least} ({source}), so producers with acks=all "
        "always fail",
        leads_to="Producers with acks=all (the default) fail with NOT_ENOUGH_REPLICAS.",
        show="kctl configs show topic {topic}",
        cure="kctl configs set topic {topic} min.insync.replicas={possible}",
    ),
    FindingKind(
        id="future-timestamps",
        severity=Severity.WARNING,
        title="Records with future timestamps delay retention",
        scopes=_ALL,
        looks=1,
        requests=(NEWEST_TIMESTAMPS,),
        subject="topic {topic}",
        sentence="{partition} has a record with a future timestamp: the record at offset {offset} is dated "
        "{date}, {ahead} from now{more}",
        leads_to="Until the future timestamp has passed, retention.ms does not delete the segment of the record or "
        "later segments.",
        show="kctl consume {topic} -p {number} -o {offset} -n 1",
        cure="{fix}",
    ),
    FindingKind(
        id="records-lost",
        severity=Severity.ERROR,
        title="A leader election lost acknowledged records",
        scopes=_ALL,
        looks=2,
        requests=("Metadata", "ListOffsets", "OffsetForLeaderEpoch"),
        subject="topic {topic}",
        sentence="{partition} lost {lost} acknowledged records within {seconds}. The log ended at offset "
        "{before} on broker {old} (epoch {epoch}). {election}. {end}{more}",
        leads_to="Consumers that have read the lost records skip or repeat other records. Other consumers never "
        "see the lost records.",
        show="kctl topics describe {topic}",
        cure="send the lost records again. To prevent further loss, set unclean.leader.election.enable=false and "
        "min.insync.replicas=2 or higher",
    ),
    FindingKind(
        id="unclean-election",
        severity=Severity.WARNING,
        title="A replica that is not in sync may become leader",
        scopes=_TOPICS,
        looks=1,
        requests=("DescribeConfigs", "Metadata"),
        subject="topic {topic}",
        sentence="{topic} has unclean.leader.election.enable=true ({source}): a replica that is not in sync may become "
        "leader",
        leads_to="Acknowledged records are lost if all in-sync replicas fail together.",
        show="kctl configs show topic {topic}",
        cure="kctl configs set topic {topic} unclean.leader.election.enable=false",
    ),
    FindingKind(
        id="compaction-stalled",
        severity=Severity.WARNING,
        title="Compaction of a topic has stalled",
        scopes=(Scope.CLUSTER,),
        looks=1,
        requests=("DescribeConfigs", "DescribeLogDirs", "ListOffsets", "Fetch"),
        subject="topic {topic}",
        sentence="{partition} is not being compacted (cleanup.policy={policy}): {repeated} of its oldest "
        "{records} records have repeated keys. These records start at offset {offset} and are more than {age} "
        "old. The log on broker {broker} has {size}{more}",
        leads_to="The log keeps growing. Clients that read the whole log take longer and longer to start.",
        show="kctl brokers log-dirs {broker} --replicas",
        cure="search the log of broker {broker} for 'uncleanable' and log cleaner errors, and restart the broker",
    ),
    FindingKind(
        id="old-message-format",
        severity=Severity.NOTE,
        title="A topic uses a codec or message format that some clients do not support",
        scopes=_TOPICS,
        looks=1,
        requests=("DescribeConfigs",),
        subject="topic {topic}",
        sentence="{topic} has {name}={value}: {reason}",
        leads_to="Old clients fail with UNSUPPORTED_COMPRESSION_TYPE, or brokers convert the records of each fetch.",
        show="kctl configs show topic {topic}",
        cure="kctl configs unset topic {topic} {name}",
    ),
)
