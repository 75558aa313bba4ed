"""EXAMPLES: examples of commands in help and manual pages. tests/docs/test_examples.py runs them."""

from enum import Enum
from typing import NamedTuple


class Ending(Enum):
    """Way in which an example exits."""

    BY_ITSELF = "without a signal"
    BY_CTRL_C = "by Ctrl-C"
    NEEDS_SPARK = "needs Spark, or another cluster: its command line alone is checked"


class Example(NamedTuple):
    """A command line to copy, and its effect."""

    text: str
    line: str
    ending: Ending = Ending.BY_ITSELF


_CTRL_C, _SPARK = Ending.BY_CTRL_C, Ending.NEEDS_SPARK

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "kctl": (
        Example("Check every broker", "kctl probe -b 127.0.0.1:9092", _SPARK),
        Example("Print the newest 10 records of a topic", "kctl consume orders --tail 10"),
    ),
    "kctl consume": (
        Example("The newest 10 records in total", "kctl consume orders --tail 10"),
        Example("The last hour, as JSON lines", "kctl consume orders -o @-1h:end --output jsonl"),
        Example("Offsets 0 to 4 of partition 0, with keys", "kctl consume orders -o 0=0:5 -p 0 -f '%o %k %v\\n'"),
        Example("New records until Ctrl-C", "kctl consume orders", _CTRL_C),
        Example("Avro of a schema registry as JSON", "kctl consume orders --decode auto --output jsonl", _SPARK),
    ),
    "kctl options": (Example("All options for connection, timeouts, and output", "kctl options"),),
    "kctl schemas list": (
        Example("Subjects and versions", "kctl schemas list -X schema.registry.url=http://registry:8081", _SPARK),
    ),
    "kctl schemas show": (Example("The latest schema of a subject", "kctl schemas show orders-value", _SPARK),),
    "kctl schemas check": (
        Example("Whether a subject accepts a schema", "kctl schemas check orders-value order.avsc", _SPARK),
    ),
    "kctl schemas register": (
        Example("The next version of a subject", "kctl schemas register orders-value order.avsc", _SPARK),
    ),
    "kctl schemas delete": (Example("What would be deleted", "kctl schemas delete orders-value", _SPARK),),
    "kctl schemas config": (
        Example("Set a compatibility level", "kctl schemas config orders-value --set FULL", _SPARK),
    ),
    "kctl produce": (
        Example("One record per line, key before the colon", "printf 'ann:2 apples\\n' | kctl produce orders -K :"),
        Example("A lossless copy", "kctl consume orders -e --output jsonl | kctl produce copies -i jsonl"),
    ),
    "kctl probe": (
        Example("Check every address of every broker", "kctl probe --connect-timeout 2s --strict"),
        Example("One line for a health check", "kctl probe -q"),
        Example("Save a probe as JSON", "kctl probe --output json > probe.json"),
    ),
    "kctl probe report": (Example("Latencies and certificates of a saved probe", "kctl probe report probe.jsonl"),),
    "kctl api": (
        Example("Every API that can be requested", "kctl api"),
        Example("The groups that one broker coordinates", "kctl api ListGroups --node 1"),
        Example("A topic as a broker describes it", """kctl api Metadata '{"topics": [{"name": "orders"}]}'"""),
    ),
    "kctl topics list": (
        Example("All topics", "kctl topics list"),
        Example("Their names, for a script", "kctl topics list --output jsonl"),
    ),
    "kctl topics describe": (
        Example("Leader, replicas and ISR", "kctl topics describe orders"),
        Example("Its properties", "kctl topics describe orders --configs"),
    ),
    "kctl topics create": (
        Example("Let the broker check, create nothing", "kctl topics create invoices --partitions 6 --dry-run"),
        Example("Records expire after a day", "kctl topics create events --config retention.ms=86400000"),
    ),
    "kctl topics alter": (
        Example("Records expire after a day", "kctl topics alter orders --config retention.ms=86400000"),
        Example("More partitions", "kctl topics alter orders --partitions 6"),
    ),
    "kctl topics offsets": (
        Example("First offset, end and count", "kctl topics offsets orders"),
        Example("An hour ago", "kctl topics offsets orders --at @-1h"),
    ),
    "kctl topics trim": (
        Example("Show what would be deleted", "kctl topics trim orders --before @-7d"),
        Example("Delete the records before offset 3 of partition 0", "kctl topics trim orders:0 --before 3 --yes"),
    ),
    "kctl cluster describe": (Example("Brokers, controller and features", "kctl cluster describe"),),
    "kctl cluster quorum": (Example("Voters and their lag", "kctl cluster quorum"),),
    "kctl brokers log-dirs": (
        Example("Free space of all brokers", "kctl brokers log-dirs"),
        Example("The largest replicas of broker 1", "kctl brokers log-dirs 1 --replicas"),
    ),
    "kctl why": (Example("Check the group or the topic of a name", "kctl why billing --severity error"),),
    "kctl why group": (
        Example("Why does the group not read?", "kctl why group billing --severity error"),
        Example("Problems that develop over time", "kctl why group billing --interval 2s --severity error"),
        Example("As JSON lines", "kctl why group billing --severity error --output jsonl"),
    ),
    "kctl why topic": (Example("What is wrong with a topic", "kctl why topic orders"),),
    "kctl why cluster": (Example("Brokers, controllers, disks and all topics", "kctl why cluster"),),
    "kctl doctor": (
        Example("Everything", "kctl doctor --severity error"),
        Example("All but one finding", "kctl doctor --group billing --ignore group-no-members --severity error"),
    ),
    "kctl partitions plan": (
        Example("Use these brokers, as evenly as possible", "kctl partitions plan orders --to-brokers 1 > plan.json"),
        Example("Empty broker 3 before it is shut down", "kctl partitions plan --exclude-brokers 3 > plan.json"),
    ),
    "kctl partitions move": (
        Example("Move, with at most 50 MB a second", "kctl partitions move plan.json --throttle 50MB"),
        Example("Continue after Ctrl-C", "kctl partitions move plan.json --resume"),
    ),
    "kctl partitions list": (Example("Partitions that are being moved", "kctl partitions list"),),
    "kctl partitions elect": (
        Example("Show which leaders would change", "kctl partitions elect --all --dry-run"),
        Example("The preferred leaders of a topic", "kctl partitions elect orders"),
    ),
    "kctl wait topic": (Example("Until it has partitions with leaders", "kctl wait topic orders --partitions 2"),),
    "kctl wait brokers": (Example("At most half a minute", "kctl wait brokers 1 --api-timeout 30s"),),
    "kctl wait group": (
        Example("Until it has caught up", "kctl wait group billing --lag 20"),
        Example("Until its members have left", "kctl wait group billing --state Empty"),
    ),
    "kctl apply": (
        Example("The existing topics, as a file", "kctl apply --export > topics.yaml"),
        Example("How the cluster differs from it", "kctl apply --export | kctl apply -f - --diff"),
        Example(
            "Change what differs", "kctl apply --export | sed s/'partitions: 2'/'partitions: 3'/ | kctl apply -f -"
        ),
    ),
    "kctl configs show": (
        Example("Properties that are set on a topic", "kctl configs show topic orders --changed"),
        Example("A broker, as JSON", "kctl configs show broker 1 --output json"),
    ),
    "kctl configs set": (
        Example("Keep records for a day", "kctl configs set topic orders retention.ms=86400000"),
        Example(
            "Limit copying on all brokers", "kctl configs set broker-defaults leader.replication.throttled.rate=1000000"
        ),
    ),
    "kctl configs unset": (Example("Back to the default", "kctl configs unset topic orders retention.ms"),),
    "kctl acls list": (
        Example("All rules", "kctl acls list"),
        Example("Every rule about a topic", "kctl acls list --topic orders"),
    ),
    "kctl acls create": (
        Example("Let a user read a topic", "kctl acls create --allow User:ann --operation read --topic orders"),
        Example("What a consumer needs", "kctl acls create --allow User:ann --consumer --topic orders --group billing"),
        Example(
            "Deny deletion by prefix", "kctl acls create --deny 'User:*' --operation delete --topic ord --prefixed"
        ),
    ),
    "kctl acls delete": (
        Example("Show what would be deleted", "kctl acls delete --principal User:bob"),
        Example("Delete all rules of a topic", "kctl acls delete --topic orders --execute"),
    ),
    "kctl acls check": (
        Example("May a user read a topic?", "kctl acls check User:bob --topic orders --operation read"),
    ),
    "kctl users list": (Example("All users with a password", "kctl users list"),),
    "kctl users create": (
        Example("With a password file", "kctl users create ann --password-file password"),
        Example("With the password in a variable", "kctl users create eve --password-from env:PW"),
    ),
    "kctl users alter": (Example("Another password", "kctl users alter bob --password-file password"),),
    "kctl users delete": (
        Example("Show what would be deleted", "kctl users delete bob"),
        Example("Delete a user", "kctl users delete bob --execute"),
    ),
    "kctl quotas list": (Example("All quotas", "kctl quotas list"),),
    "kctl quotas set": (
        Example("1 MB/s for a user", "kctl quotas set --user ann producer_byte_rate=1000000"),
        Example("All other users", "kctl quotas set --user-default consumer_byte_rate=500000"),
    ),
    "kctl quotas unset": (Example("Back to the default", "kctl quotas unset --user ann producer_byte_rate"),),
    "kctl quotas describe": (
        Example("What applies to a client", "kctl quotas describe --user ann --client-id reports"),
    ),
    "kctl topics delete": (
        Example("Show what would be deleted", "kctl topics delete copies"),
        Example("Delete without a question", "kctl topics delete copies --yes"),
    ),
    "kctl transactions list": (
        Example("All transactional.ids", "kctl transactions list"),
        Example("Those that are open for more than a minute", "kctl transactions list --older-than 1m"),
    ),
    "kctl transactions describe": (Example("State, producer and partitions", "kctl transactions describe payments"),),
    "kctl transactions hanging": (
        Example("On all partitions of the cluster", "kctl transactions hanging"),
        Example("Every open transaction of a topic", "kctl transactions hanging --topic orders --all"),
    ),
    "kctl transactions abort": (
        Example("Show what would be aborted", "kctl transactions abort orders:0"),
        Example("Abort it", "kctl transactions abort orders:0 --execute"),
    ),
    "kctl groups list": (
        Example("All groups", "kctl groups list"),
        Example("Groups without members", "kctl groups list --state Empty"),
    ),
    "kctl groups describe": (Example("State, members and lag", "kctl groups describe billing"),),
    "kctl groups lag": (
        Example("Exit with 3 above 1000 records", "kctl groups lag billing --threshold 1000"),
        Example("All groups, with rates and the time to catch up", "kctl groups lag --all --rates"),
        Example("Refresh every 5 seconds", "kctl groups lag billing --watch --interval 5s", _CTRL_C),
    ),
    "kctl groups members": (Example("Members and their partitions", "kctl groups members billing"),),
    "kctl groups delete": (
        Example("Show what would be deleted", "kctl groups delete billing"),
        Example("Delete the group and its offsets", "kctl groups delete billing --execute"),
    ),
    "kctl groups reset-offsets": (
        Example("Show the change", "kctl groups reset-offsets billing --topic orders --to-earliest"),
        Example("Skip one record", "kctl groups reset-offsets billing --topic orders:0 --shift-by 1 --execute"),
    ),
    "kctl groups delete-offsets": (
        Example("Delete offsets of one topic", "kctl groups delete-offsets billing --topic orders --execute"),
    ),
    "kctl groups remove-members": (
        Example(
            "Remove a static member that is gone", "kctl groups remove-members workers --instance worker-2 --execute"
        ),
    ),
    "kctl profile list": (Example("All profiles", "kctl profile list"),),
    "kctl profile show": (Example("Settings of a profile with their sources", "kctl profile show dev --origin"),),
    "kctl profile use": (Example("Make it the current profile", "kctl profile use dev"),),
    "kctl profile create": (
        Example("A cluster without TLS", "kctl profile create local -b 127.0.0.1:9092"),
        Example(
            "SASL, with the password in a variable",
            "kctl profile create p --sasl-mechanism PLAIN --user ann --password-from env:PW",
        ),
    ),
    "kctl profile edit": (Example("Change one property", "kctl profile edit dev -X client.id=reports"),),
    "kctl profile delete": (Example("Delete a profile", "kctl profile delete dev"),),
    "kctl profile import": (
        Example("From a Java client's file", "kctl profile import staging client.properties --from java"),
    ),
    "kctl profile export": (Example("For Java clients", "kctl profile export dev"),),
    "kctl profile check": (Example("Look for mistakes", "kctl profile check dev"),),
    "kctl profile trust": (Example("Allow the project's .kctl.toml", "kctl profile trust"),),
    "kctl bench produce": (Example("1000 records to a topic", "kctl bench produce -n 1000 --topic orders"),),
    "kctl bench consume": (Example("Read 10 records", "kctl bench consume -n 10 --topic orders"),),
    "kctl bench end-to-end": (Example("Latency at 100 records/s", "kctl bench end-to-end -n 100 --rate 100/s"),),
    "kctl pipeline export": (
        Example("Show the plan", "kctl pipeline export orders --to out --dry-run"),
        Example("Write Parquet files", "kctl pipeline export orders --to out", _SPARK),
    ),
    "kctl pipeline import": (Example("Show the plan", "kctl pipeline import out --to-topic copies --dry-run", _SPARK),),
    "kctl pipeline mirror": (
        Example("Show the plan", "kctl pipeline mirror orders --to-topic copies --name nightly --dry-run"),
        Example("Copy to another cluster", "kctl pipeline mirror orders --to-bootstrap other:9092 --name dr", _SPARK),
        Example(
            "With the positions of consumer groups",
            "kctl pipeline mirror orders --to-bootstrap other:9092 --name dr --groups app",
            _SPARK,
        ),
    ),
    "kctl pipeline replay": (
        Example(
            "Records of a dead-letter topic, back to where they came from",
            "kctl pipeline replay orders-dead --topic-from-header original-topic --rate 5/s",
            _SPARK,
        ),
        Example(
            "An hour of an export",
            "kctl pipeline replay t --from-export out --to-topic t --since -2h --until -1h",
            _SPARK,
        ),
        Example(
            "Count what a jq program selects",
            "kctl pipeline replay dead --to-topic t --jq '.key == 7' --dry-run",
            _SPARK,
        ),
    ),
    "kctl pipeline stats": (
        Example("Show what would be read", "kctl pipeline stats orders --dry-run"),
        Example("Count, and write a page", "kctl pipeline stats orders --html orders.html", _SPARK),
    ),
    "kctl pipeline status": (
        Example("Offsets and lag of an export", "kctl pipeline status out", _SPARK),
        Example("For Prometheus", "kctl pipeline status out --prometheus", _SPARK),
    ),
    "kctl pipeline sync": (
        Example("Show where it would begin", "kctl pipeline sync orders --to out --dry-run"),
        Example("Copy the records that exist, and exit", "kctl pipeline sync orders --to out --available-now", _SPARK),
        Example(
            "Keep a table up to date, with progress as a consumer group",
            "kctl pipeline sync t --to delta:out --checkpoint state --group t-lake",
            _SPARK,
        ),
    ),
    "kctl pipeline verify": (Example("Compare two topics", "kctl pipeline verify orders --to-topic copies", _SPARK),),
    "kctl completion bash": (Example("For this shell", "source <(kctl completion bash)"),),
    "kctl completion zsh": (Example("To a folder in $fpath", "kctl completion zsh > _kctl"),),
    "kctl completion fish": (Example("To a file", "kctl completion fish > kctl.fish"),),
    "kctl completion powershell": (Example("To a file", "kctl completion powershell > kctl.ps1"),),
    "kctl completion install": (Example("For fish", "kctl completion install fish"),),
    "kctl help-json": (Example("The names of all commands", 'kctl help-json | grep \'"name": "kctl\''),),
    "kctl explain": (
        Example("An exit code", "kctl explain 12"),
        Example("An error of a broker", "kctl explain NOT_ENOUGH_REPLICAS"),
        Example("A property", "kctl explain linger.ms"),
    ),
    "kctl sandbox start": (
        Example("3 brokers and a topic with 6 partitions", "kctl sandbox start --nodes 3 --topic orders:6", _CTRL_C),
        Example(
            "Ids from 0, large records",
            "kctl sandbox start --node-ids-from 0 --config message.max.bytes=9000000",
            _SPARK,
        ),
    ),
    "kctl sandbox status": (Example("Brokers and faults of the running sandboxes", "kctl sandbox status", _SPARK),),
    "kctl sandbox fault": (
        Example("Freeze broker 1", "kctl sandbox fault start 1 freeze", _SPARK),
        Example("Delay each response by half a second", "kctl sandbox fault start all delay 500", _SPARK),
        Example("Fail the next 3 fetches", "kctl sandbox fault fail Fetch NOT_LEADER_OR_FOLLOWER 3", _SPARK),
        Example("Clear all faults", "kctl sandbox fault clear", _SPARK),
    ),
}
