"""EXAMPLES: examples of commands in help and manual pages. tests/docs/test_examples.py runs them."""

from enum import Enum
from typing import NamedTuple


class Ending(Enum):
    """Way in which an example exits."""

    BY_ITSELF = "without a signal"
    BY_CTRL_C = "by Ctrl-C"
    NEEDS_SPARK = "needs Spark or a second cluster: tests only parse the command line"


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
        Example("Print the newest 10 records", "kctl consume orders --tail 10"),
        Example("Print the records of the last hour as JSON lines", "kctl consume orders -o @-1h:end --output jsonl"),
        Example("Print offsets 0 to 4 of partition 0, with keys", "kctl consume orders -o 0=0:5 -p 0 -f '%o %k %v\\n'"),
        Example("Print all records, then new records until Ctrl-C", "kctl consume orders", _CTRL_C),
        Example(
            "Decode Avro records with a schema registry", "kctl consume orders --decode auto --output jsonl", _SPARK
        ),
    ),
    "kctl options": (Example("Show connection, timeout, and output options", "kctl options"),),
    "kctl schemas list": (
        Example("List subjects and versions", "kctl schemas list -X schema.registry.url=http://registry:8081", _SPARK),
    ),
    "kctl schemas show": (Example("Show the latest schema of a subject", "kctl schemas show orders-value", _SPARK),),
    "kctl schemas check": (
        Example("Check whether a subject accepts a schema", "kctl schemas check orders-value order.avsc", _SPARK),
    ),
    "kctl schemas register": (
        Example("Register the next version of a subject", "kctl schemas register orders-value order.avsc", _SPARK),
    ),
    "kctl schemas delete": (Example("Show what would be deleted", "kctl schemas delete orders-value", _SPARK),),
    "kctl schemas config": (
        Example("Set a compatibility level", "kctl schemas config orders-value --set FULL", _SPARK),
    ),
    "kctl produce": (
        Example(
            "Send one record per line, with the key before the colon",
            "printf 'ann:2 apples\\n' | kctl produce orders -K :",
        ),
        Example("Copy all records of a topic", "kctl consume orders -e --output jsonl | kctl produce copies -i jsonl"),
    ),
    "kctl probe": (
        Example("Check every address of every broker", "kctl probe --connect-timeout 2s --strict"),
        Example("Print one line for a health check", "kctl probe -q"),
        Example("Save a probe as JSON", "kctl probe --output json > probe.json"),
    ),
    "kctl probe report": (
        Example("Show latencies and certificates of a saved probe", "kctl probe report probe.jsonl"),
    ),
    "kctl api": (
        Example("List all APIs", "kctl api"),
        Example("List the groups that broker 1 coordinates", "kctl api ListGroups --node 1"),
        Example("Show the metadata of a topic", """kctl api Metadata '{"topics": [{"name": "orders"}]}'"""),
    ),
    "kctl topics list": (
        Example("List all topics", "kctl topics list"),
        Example("List topics as JSON lines, for scripts", "kctl topics list --output jsonl"),
    ),
    "kctl topics describe": (
        Example("Show leader, replicas, and ISR of each partition", "kctl topics describe orders"),
        Example("Show the configs of a topic", "kctl topics describe orders --configs"),
    ),
    "kctl topics create": (
        Example("Validate a new topic without creating it", "kctl topics create invoices --partitions 6 --dry-run"),
        Example(
            "Create a topic that keeps records for a day", "kctl topics create events --config retention.ms=86400000"
        ),
    ),
    "kctl topics alter": (
        Example("Keep records for a day", "kctl topics alter orders --config retention.ms=86400000"),
        Example("Add partitions, up to a total of 6", "kctl topics alter orders --partitions 6"),
    ),
    "kctl topics offsets": (
        Example("Show start offset, end offset, and number of records", "kctl topics offsets orders"),
        Example("Show the offsets of an hour ago", "kctl topics offsets orders --at @-1h"),
    ),
    "kctl topics trim": (
        Example("Show what would be deleted", "kctl topics trim orders --before @-7d"),
        Example("Delete the records before offset 3 of partition 0", "kctl topics trim orders:0 --before 3 --yes"),
    ),
    "kctl cluster describe": (Example("Show brokers, controller, and features", "kctl cluster describe"),),
    "kctl cluster quorum": (Example("Show voters and their lag", "kctl cluster quorum"),),
    "kctl brokers log-dirs": (
        Example("Show the free space of all brokers", "kctl brokers log-dirs"),
        Example("Show the largest replicas of broker 1", "kctl brokers log-dirs 1 --replicas"),
    ),
    "kctl why": (Example("Check the group or the topic named billing", "kctl why billing --severity error"),),
    "kctl why group": (
        Example("Find out why a group does not read", "kctl why group billing --severity error"),
        Example(
            "Compare two measurements, 2 seconds apart",
            "kctl why group billing --interval 2s --severity error",
        ),
        Example("Print findings as JSON lines", "kctl why group billing --severity error --output jsonl"),
    ),
    "kctl why topic": (Example("Find problems with a topic", "kctl why topic orders"),),
    "kctl why cluster": (Example("Check brokers, controllers, disks, and all topics", "kctl why cluster"),),
    "kctl doctor": (
        Example("Check the whole cluster", "kctl doctor --severity error"),
        Example(
            "Check the whole cluster, but ignore one finding",
            "kctl doctor --group billing --ignore group-no-members --severity error",
        ),
    ),
    "kctl partitions plan": (
        Example("Move a topic to broker 1", "kctl partitions plan orders --to-brokers 1 > plan.json"),
        Example(
            "Move all replicas away from broker 3",
            "kctl partitions plan --exclude-brokers 3 > plan.json",
        ),
    ),
    "kctl partitions move": (
        Example("Move partitions with at most 50 MB/s", "kctl partitions move plan.json --throttle 50MB"),
        Example("Continue a move after Ctrl-C", "kctl partitions move plan.json --resume"),
    ),
    "kctl partitions list": (Example("List partitions that are being moved", "kctl partitions list"),),
    "kctl partitions elect": (
        Example("Show the leaders that would change", "kctl partitions elect --all --dry-run"),
        Example("Elect the preferred leaders of a topic", "kctl partitions elect orders"),
    ),
    "kctl wait topic": (Example("Wait for a topic with two partitions", "kctl wait topic orders --partitions 2"),),
    "kctl wait brokers": (
        Example("Wait for a broker, for at most 30 seconds", "kctl wait brokers 1 --api-timeout 30s"),
    ),
    "kctl wait group": (
        Example("Wait for a lag of at most 20 records", "kctl wait group billing --lag 20"),
        Example("Wait until all members have left the group", "kctl wait group billing --state Empty"),
    ),
    "kctl apply": (
        Example("Save the existing topics and ACLs to a file", "kctl apply --export > topics.yaml"),
        Example("Compare the cluster with a file", "kctl apply --export | kctl apply -f - --diff"),
        Example(
            "Change the cluster to match a file",
            "kctl apply --export | sed s/'partitions: 2'/'partitions: 3'/ | kctl apply -f -",
        ),
    ),
    "kctl configs show": (
        Example("Show only the changed configs of a topic", "kctl configs show topic orders --changed"),
        Example("Show the configs of a broker as JSON", "kctl configs show broker 1 --output json"),
    ),
    "kctl configs set": (
        Example("Keep records for a day", "kctl configs set topic orders retention.ms=86400000"),
        Example(
            "Limit the replication rate of all brokers",
            "kctl configs set broker-defaults leader.replication.throttled.rate=1000000",
        ),
    ),
    "kctl configs unset": (Example("Restore the default", "kctl configs unset topic orders retention.ms"),),
    "kctl acls list": (
        Example("List all rules", "kctl acls list"),
        Example("List all rules for a topic", "kctl acls list --topic orders"),
    ),
    "kctl acls create": (
        Example("Allow a user to read a topic", "kctl acls create --allow User:ann --operation read --topic orders"),
        Example(
            "Allow a user to consume a topic with a group",
            "kctl acls create --allow User:ann --consumer --topic orders --group billing",
        ),
        Example(
            "Deny the deletion of topics that begin with a prefix",
            "kctl acls create --deny 'User:*' --operation delete --topic ord --prefixed",
        ),
    ),
    "kctl acls delete": (
        Example("Show what would be deleted", "kctl acls delete --principal User:bob"),
        Example("Delete all rules of a topic", "kctl acls delete --topic orders --execute"),
    ),
    "kctl acls check": (
        Example("Check whether a user may read a topic", "kctl acls check User:bob --topic orders --operation read"),
    ),
    "kctl users list": (Example("List all SCRAM users", "kctl users list"),),
    "kctl users create": (
        Example("Create a user with a password from a file", "kctl users create ann --password-file password"),
        Example("Create a user with a password from a variable", "kctl users create eve --password-from env:PW"),
    ),
    "kctl users alter": (Example("Change the password of a user", "kctl users alter bob --password-file password"),),
    "kctl users delete": (
        Example("Show what would be deleted", "kctl users delete bob"),
        Example("Delete a user", "kctl users delete bob --execute"),
    ),
    "kctl quotas list": (Example("List all quotas", "kctl quotas list"),),
    "kctl quotas set": (
        Example("Limit a user to 1 MB/s", "kctl quotas set --user ann producer_byte_rate=1000000"),
        Example("Limit all other users to 500 kB/s", "kctl quotas set --user-default consumer_byte_rate=500000"),
    ),
    "kctl quotas unset": (Example("Restore the default", "kctl quotas unset --user ann producer_byte_rate"),),
    "kctl quotas describe": (
        Example("Show the effective quotas of a client", "kctl quotas describe --user ann --client-id reports"),
    ),
    "kctl topics delete": (
        Example("Show what would be deleted", "kctl topics delete copies"),
        Example("Delete a topic without a prompt", "kctl topics delete copies --yes"),
    ),
    "kctl transactions list": (
        Example("List all transactional IDs", "kctl transactions list"),
        Example("List transactions open for more than a minute", "kctl transactions list --older-than 1m"),
    ),
    "kctl transactions describe": (
        Example("Show state, producer, and partitions", "kctl transactions describe payments"),
    ),
    "kctl transactions hanging": (
        Example("List hanging transactions of all partitions", "kctl transactions hanging"),
        Example("List all open transactions of a topic", "kctl transactions hanging --topic orders --all"),
    ),
    "kctl transactions abort": (
        Example("Show what would be aborted", "kctl transactions abort orders:0"),
        Example("Abort a hanging transaction", "kctl transactions abort orders:0 --execute"),
    ),
    "kctl groups list": (
        Example("List all groups", "kctl groups list"),
        Example("List groups without members", "kctl groups list --state Empty"),
    ),
    "kctl groups describe": (Example("Show state, members, and lag", "kctl groups describe billing"),),
    "kctl groups lag": (
        Example("Exit with 3 if the lag exceeds 1000 records", "kctl groups lag billing --threshold 1000"),
        Example("Show all groups with rates and catch-up times", "kctl groups lag --all --rates"),
        Example("Show the lag every 5 seconds", "kctl groups lag billing --watch --interval 5s", _CTRL_C),
    ),
    "kctl groups members": (Example("Show members and their partitions", "kctl groups members billing"),),
    "kctl groups delete": (
        Example("Show what would be deleted", "kctl groups delete billing"),
        Example("Delete the group and its offsets", "kctl groups delete billing --execute"),
    ),
    "kctl groups reset-offsets": (
        Example("Show the new offsets", "kctl groups reset-offsets billing --topic orders --to-earliest"),
        Example(
            "Skip one record of a partition",
            "kctl groups reset-offsets billing --topic orders:0 --shift-by 1 --execute",
        ),
    ),
    "kctl groups delete-offsets": (
        Example("Delete offsets of one topic", "kctl groups delete-offsets billing --topic orders --execute"),
    ),
    "kctl groups remove-members": (
        Example(
            "Remove a static member that no longer runs",
            "kctl groups remove-members workers --instance worker-2 --execute",
        ),
    ),
    "kctl profile list": (Example("List all profiles", "kctl profile list"),),
    "kctl profile show": (
        Example("Show the settings of a profile with their sources", "kctl profile show dev --origin"),
    ),
    "kctl profile use": (Example("Make dev the current profile", "kctl profile use dev"),),
    "kctl profile create": (
        Example("Create a profile for a cluster without TLS", "kctl profile create local -b 127.0.0.1:9092"),
        Example(
            "Create a profile with SASL and a password from a variable",
            "kctl profile create p --sasl-mechanism PLAIN --user ann --password-from env:PW",
        ),
    ),
    "kctl profile edit": (Example("Change a property of a profile", "kctl profile edit dev -X client.id=reports"),),
    "kctl profile delete": (Example("Delete a profile", "kctl profile delete dev"),),
    "kctl profile import": (
        Example(
            "Import the properties file of a Java client", "kctl profile import staging client.properties --from java"
        ),
    ),
    "kctl profile export": (Example("Export a profile for Java clients", "kctl profile export dev"),),
    "kctl profile check": (Example("Check a profile for errors", "kctl profile check dev"),),
    "kctl profile trust": (Example("Trust the .kctl.toml of the current project", "kctl profile trust"),),
    "kctl bench produce": (Example("Send 1000 records to a topic", "kctl bench produce -n 1000 --topic orders"),),
    "kctl bench consume": (Example("Read 10 records", "kctl bench consume -n 10 --topic orders"),),
    "kctl bench end-to-end": (
        Example("Measure the latency at 100 records/s", "kctl bench end-to-end -n 100 --rate 100/s"),
    ),
    "kctl pipeline export": (
        Example("Show the plan", "kctl pipeline export orders --to out --dry-run"),
        Example("Write Parquet files", "kctl pipeline export orders --to out", _SPARK),
    ),
    "kctl pipeline import": (Example("Show the plan", "kctl pipeline import out --to-topic copies --dry-run", _SPARK),),
    "kctl pipeline mirror": (
        Example("Show the plan", "kctl pipeline mirror orders --to-topic copies --name nightly --dry-run"),
        Example(
            "Copy a topic to another cluster", "kctl pipeline mirror orders --to-bootstrap other:9092 --name dr", _SPARK
        ),
        Example(
            "Copy a topic with the committed offsets of a group",
            "kctl pipeline mirror orders --to-bootstrap other:9092 --name dr --groups app",
            _SPARK,
        ),
    ),
    "kctl pipeline replay": (
        Example(
            "Return records of a dead-letter topic to their original topics",
            "kctl pipeline replay orders-dead --topic-from-header original-topic --rate 5/s",
            _SPARK,
        ),
        Example(
            "Replay an hour of an export",
            "kctl pipeline replay t --from-export out --to-topic t --since -2h --until -1h",
            _SPARK,
        ),
        Example(
            "Count the records that a jq program selects",
            "kctl pipeline replay dead --to-topic t --jq '.key == 7' --dry-run",
            _SPARK,
        ),
    ),
    "kctl pipeline stats": (
        Example("Show what would be read", "kctl pipeline stats orders --dry-run"),
        Example("Count records and write an HTML report", "kctl pipeline stats orders --html orders.html", _SPARK),
    ),
    "kctl pipeline status": (
        Example("Show offsets and lag of an export", "kctl pipeline status out", _SPARK),
        Example("Print Prometheus metrics", "kctl pipeline status out --prometheus", _SPARK),
    ),
    "kctl pipeline sync": (
        Example("Show the start offsets", "kctl pipeline sync orders --to out --dry-run"),
        Example("Copy the existing records and exit", "kctl pipeline sync orders --to out --available-now", _SPARK),
        Example(
            "Keep a table up to date, and commit offsets to a group",
            "kctl pipeline sync t --to delta:out --checkpoint state --group t-lake",
            _SPARK,
        ),
    ),
    "kctl pipeline verify": (Example("Compare two topics", "kctl pipeline verify orders --to-topic copies", _SPARK),),
    "kctl completion bash": (Example("Load completion into the current shell", "source <(kctl completion bash)"),),
    "kctl completion zsh": (Example("Write the script to a directory of $fpath", "kctl completion zsh > _kctl"),),
    "kctl completion fish": (Example("Write the script to a file", "kctl completion fish > kctl.fish"),),
    "kctl completion powershell": (Example("Write the script to a file", "kctl completion powershell > kctl.ps1"),),
    "kctl completion install": (Example("Install completion for fish", "kctl completion install fish"),),
    "kctl help-json": (Example("List the names of all commands", 'kctl help-json | grep \'"name": "kctl\''),),
    "kctl explain": (
        Example("Explain an exit code", "kctl explain 12"),
        Example("Explain a broker error", "kctl explain NOT_ENOUGH_REPLICAS"),
        Example("Explain a client property", "kctl explain linger.ms"),
    ),
    "kctl sandbox start": (
        Example(
            "Start 3 brokers and create a topic with 6 partitions",
            "kctl sandbox start --nodes 3 --topic orders:6",
            _CTRL_C,
        ),
        Example(
            "Start brokers that accept large records, with IDs from 0",
            "kctl sandbox start --node-ids-from 0 --config message.max.bytes=9000000",
            _SPARK,
        ),
    ),
    "kctl sandbox status": (
        Example("Show brokers and faults of all running sandboxes", "kctl sandbox status", _SPARK),
    ),
    "kctl sandbox fault": (
        Example("Freeze broker 1", "kctl sandbox fault start 1 freeze", _SPARK),
        Example("Delay each response by half a second", "kctl sandbox fault start all delay 500", _SPARK),
        Example("Fail the next 3 fetches", "kctl sandbox fault fail Fetch NOT_LEADER_OR_FOLLOWER 3", _SPARK),
        Example("Clear all faults", "kctl sandbox fault clear", _SPARK),
    ),
}
