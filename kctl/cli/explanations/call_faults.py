"""Faults of established connections, of closing, and of settings."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import Fault

_CALLS = "tests/faultlab/test_calls.py"
_GROUPS = "tests/faultlab/test_groups.py"
_PRODUCING = "tests/faultlab/test_producing.py"

CALL_FAULTS = (
    Fault(
        34,
        "A call reaches its timeout",
        ExitCode.API_TIMEOUT,
        "timed out after ... (--api-timeout...) while ...",
        "",
        "The message shows a time breakdown. If one error blocked the call, kctl exits with the code of that error.",
        _CALLS,
    ),
    Fault(
        35,
        "The group's coordinator is not available",
        ExitCode.UNAVAILABLE,
        "(COORDINATOR_NOT_AVAILABLE)",
        "list the replicas with: kctl topics describe __consumer_offsets. On a small cluster, set ...",
        "The __consumer_offsets partition of the group has no leader, or too few in-sync replicas. The client "
        "retries until its timeout. kctl probe --group shows the partition.",
        "tests/faultlab/test_kafka.py",
    ),
    Fault(
        36,
        "A partition has no leader",
        ExitCode.UNAVAILABLE,
        "(LEADER_NOT_AVAILABLE)",
        "list the offline replicas with: kctl topics describe TOPIC. Start one of the brokers ...",
        "All in-sync replicas are down. The partition gets a leader when one of these replicas returns. An unclean "
        "leader election loses records.",
        _CALLS,
    ),
    Fault(
        37,
        "The topic does not exist",
        ExitCode.UNKNOWN_RESOURCE,
        "(UNKNOWN_TOPIC_OR_PARTITION)",
        "list the topics that this principal may see with: kctl topics list. Create the topic with: kctl topics create",
        "The name is misspelled, the topic is on another cluster, or brokers do not create topics automatically "
        "(auto.create.topics.enable=false).",
        _CALLS,
    ),
    Fault(
        38,
        "Not authorized",
        ExitCode.NOT_AUTHORIZED,
        "..._AUTHORIZATION_FAILED)",
        "create an ACL for the principal of this connection",
        "The broker knows the user but denies the request. Without permission to describe a topic, some responses "
        "report that the topic does not exist.",
        "tests/faultlab/test_rights.py",
    ),
    Fault(
        39,
        "Closing a consumer takes too long",
        ExitCode.CLOSE_TIMEOUT,
        "close timed out after #ms (--close-timeout) in phase ...; offsets committed: ...",
        "",
        "A broker does not respond to the last commit or the leave request. The group removes the member "
        "after its session timeout.",
        _GROUPS,
    ),
    Fault(
        40,
        "The producer closes with undelivered records",
        ExitCode.UNDELIVERED,
        "# record... NOT delivered",
        "",
        "close() or flush() reached its deadline before all records were delivered. The report shows "
        "undelivered records by partition, with reasons.",
        _PRODUCING,
    ),
    Fault(
        41,
        "A record is not acknowledged in time",
        ExitCode.UNDELIVERED,
        "timed out after ... (--delivery-timeout...) while ...",
        "",
        "delivery.timeout.ms limits the time from send() to the acknowledgment, including retries. The message shows "
        "the last cause, such as a missing leader or a lost connection.",
        _CALLS,
    ),
    Fault(
        42,
        "A transaction cannot be completed",
        ExitCode.CLOSE_TIMEOUT,
        "transaction ... may be committed: no response to EndTxn (the broker aborts the transaction in # s...",
        "wait for transaction.timeout.ms, after which the broker aborts open transactions",
        "The coordinator did not respond to the commit or abort, so the outcome is unknown. If the transaction is "
        "still open, the coordinator aborts it after transaction.timeout.ms.",
        _PRODUCING,
    ),
    Fault(
        43,
        "Too much time passes between two polls",
        ExitCode.UNAVAILABLE,
        "left the group: ...s between polls exceeds max.poll.interval.ms (...s)",
        "raise -X max.poll.interval.ms, or lower -X max.partition.fetch.bytes, because ...",
        "The application processed a batch for longer than max.poll.interval.ms. Raise this timeout, or lower "
        "max.poll.records. In kctl consume, the cause is a slow reader of its output.",
        _GROUPS,
    ),
    Fault(
        44,
        "Another process has the same group.instance.id",
        ExitCode.AUTHENTICATION,
        "another process uses group.instance.id=...",
        "give each process its own group.instance.id",
        "Two members use the same group.instance.id. With group.protocol=classic, the newer member fences the older "
        "member (FENCED_INSTANCE_ID). With group.protocol=consumer, the older member keeps the ID until its session "
        "times out, even if it was killed (UNRELEASED_INSTANCE_ID). kctl consume waits for the session timeout, for "
        "up to --api-timeout.",
        _GROUPS,
    ),
    Fault(
        45,
        "The broker closes an idle connection",
        ExitCode.OK,
        "",
        "",
        "Brokers close connections that are idle for longer than connections.max.idle.ms. No data is lost. The "
        "client reconnects for the next request.",
        "tests/faultlab/test_kafka.py",
    ),
    Fault(
        46,
        "A load balancer or NAT dropped an idle connection",
        ExitCode.REQUEST_TIMEOUT,
        "the server did not acknowledge sent data",
        "check that the server is up and reachable",
        "Load balancers drop connections that are idle for some minutes, such as 350s. Set connections.max.idle.ms "
        "of the client below this time. kctl always enables TCP keep-alive.",
        "",
        "a test needs a load balancer and some minutes; fault 47 tests the result",
    ),
    Fault(
        47,
        "The server disappeared without closing the connection",
        ExitCode.REQUEST_TIMEOUT,
        "timed out after ... while waiting for the ... response from ...",
        "",
        "The server lost power, its network failed, or its process is suspended, so it does not close the "
        "connection. The request times out. TCP_USER_TIMEOUT closes connections with unacknowledged data.",
        "tests/faultlab/test_namespaces.py",
    ),
    Fault(
        48,
        "The broker throttles the client",
        ExitCode.OK,
        "throttled by a quota: brokers requested pauses of # ms",
        "",
        "The client exceeded the quota of its client ID or user. The client pauses as the broker requests, and does "
        "not count the pause toward the request timeout. kctl produce reports the total pause at the end, and "
        "--trace reports each pause.",
        _PRODUCING,
    ),
    Fault(
        49,
        "Timeouts that contradict each other",
        ExitCode.USAGE,
        "socket.connection.setup.timeout.ms=# conflicts with socket.connection.setup.timeout.max.ms=#: ...",
        "",
        "For example, --connect-timeout is greater than socket.connection.setup.timeout.max.ms. kctl rejects the "
        "values before it connects. If --connect-timeout is greater than --api-timeout, kctl shortens it to "
        "--api-timeout.",
        _CALLS,
    ),
    Fault(
        50,
        "Ctrl-C during a wait",
        ExitCode.SIGINT,
        "interrupted (Ctrl-C)",
        "",
        "After the first Ctrl-C, kctl closes within --close-timeout. A second Ctrl-C exits immediately.",
        "tests/cli/test_interrupts.py",
    ),
    Fault(
        51,
        "Records that were read are no longer in the log",
        ExitCode.DATA,
        "cannot continue ...-# at offset #: the log was truncated: ...",
        "",
        "A replica without the newest records became leader, which unclean.leader.election.enable=true allows. With "
        "a reset policy, the consumer continues at the first offset that may differ, and a note shows this offset. "
        "With auto.offset.reset=none, the error shows the offset. Seek to this offset to read the new records.",
        "tests/sim/consumer/test_truncation.py",
    ),
    Fault(
        52,
        "The offset to read does not exist",
        ExitCode.DATA,
        "...-# has no offset #: call seek()...",
        "",
        "Retention deleted the records before they were read, or the topic was recreated and starts at offset 0 "
        "again. With a reset policy, the consumer continues at another offset, and a note shows both offsets.",
        "tests/sim/consumer/test_reset_policies.py",
    ),
    Fault(
        53,
        "Another producer has taken over the transactional.id",
        ExitCode.UNDELIVERED,
        "the producer can only be closed: ... (PRODUCER_FENCED)",
        "give each process its own transactional.id",
        "A second producer called init_transactions() with this transactional.id, or the coordinator aborted the "
        "transaction after transaction.timeout.ms. read_committed consumers skip records of the aborted transaction.",
        "tests/unit/cli/test_failures.py",
    ),
)
