"""Faults of calls on working connections, of closing, and of settings."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import Fault

_CALLS = "tests/faultlab/test_calls.py"
_GROUPS = "tests/faultlab/test_groups.py"
_PRODUCING = "tests/faultlab/test_producing.py"

CALL_FAULTS = (
    Fault(
        34,
        "The whole call runs out of time",
        ExitCode.API_TIMEOUT,
        "timed out after ... (--api-timeout...) while ...",
        "",
        "The message shows where the time went. When one cause blocked the call, its own code is used instead.",
        _CALLS,
    ),
    Fault(
        35,
        "The group's coordinator is not available",
        ExitCode.UNAVAILABLE,
        "(COORDINATOR_NOT_AVAILABLE)",
        "kctl topics describe __consumer_offsets shows its replicas. On a small cluster set ...",
        "The internal topic __consumer_offsets lacks a leader or replicas in sync. The client retries until the "
        "deadline; kctl probe --group shows which partition it is.",
        "tests/faultlab/test_kafka.py",
    ),
    Fault(
        36,
        "A partition has no leader",
        ExitCode.UNAVAILABLE,
        "(LEADER_NOT_AVAILABLE)",
        "kctl topics describe TOPIC shows which replicas are offline. Start one of the brokers in sync",
        "All replicas in sync are down. The leader comes back with one of them; unclean.leader.election.enable would "
        "lose records.",
        _CALLS,
    ),
    Fault(
        37,
        "The topic does not exist",
        ExitCode.UNKNOWN_RESOURCE,
        "(UNKNOWN_TOPIC_OR_PARTITION)",
        "kctl topics list shows the topics that this principal may see. kctl topics create creates a topic",
        "A typing mistake, another cluster than was meant, or auto.create.topics.enable=false.",
        _CALLS,
    ),
    Fault(
        38,
        "Not authorized",
        ExitCode.NOT_AUTHORIZED,
        "..._AUTHORIZATION_FAILED)",
        "the principal of this connection needs an ACL for that",
        "The broker knows the user and denies the request. Without the right to describe a topic some responses claim "
        "that it does not exist.",
        "tests/faultlab/test_rights.py",
    ),
    Fault(
        39,
        "Closing a consumer takes too long",
        ExitCode.CLOSE_TIMEOUT,
        "close stopped at # ms (--close-timeout) in phase ...; offsets committed: ...",
        "",
        "A broker does not respond to the last commit or the leave request. The group removes the member "
        "after its session timeout.",
        _GROUPS,
    ),
    Fault(
        40,
        "Closed with records that are not delivered",
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
        "delivery.timeout.ms counts from send() to the acknowledgment, including retries. The message "
        "shows the last cause: no leader, no response, no connection.",
        _CALLS,
    ),
    Fault(
        42,
        "A transaction cannot be ended",
        ExitCode.CLOSE_TIMEOUT,
        "transaction ... may be committed: no response to EndTxn; broker will abort in # s...",
        "a broker aborts transactions that are open longer than transaction.timeout.ms",
        "The broker aborts the transaction after transaction.timeout.ms.",
        _PRODUCING,
    ),
    Fault(
        43,
        "Too long between two polls",
        ExitCode.UNAVAILABLE,
        "left group: ... s between polls (limit ... s)",
        "... raise -X max.poll.interval.ms, or fetch less at a time ...",
        "The application took longer than max.poll.interval.ms for one batch: raise it, or lower max.poll.records. "
        "kctl consume itself waits only for the reader of its output.",
        _GROUPS,
    ),
    Fault(
        44,
        "Another process has the same group.instance.id",
        ExitCode.AUTHENTICATION,
        "another process uses group.instance.id=...",
        "give each process its own group.instance.id",
        "Two members with the same group.instance.id. With the classic protocol the later one fences the earlier "
        "(FENCED_INSTANCE_ID), with group.protocol=consumer the earlier one keeps it (UNRELEASED_INSTANCE_ID), even if "
        "it was killed, until its session times out; kctl consume waits for that, at most --api-timeout.",
        _GROUPS,
    ),
    Fault(
        45,
        "The broker closes an idle connection",
        ExitCode.OK,
        "",
        "",
        "The connection was idle for connections.max.idle.ms of the broker. No data was lost. The "
        "client reconnects for the next request.",
        "tests/faultlab/test_kafka.py",
    ),
    Fault(
        46,
        "A load balancer or NAT dropped an idle connection",
        ExitCode.REQUEST_TIMEOUT,
        "data was sent and not acknowledged",
        "the server or the path to it is gone",
        "Load balancers drop idle connections after some minutes (350 s at one large cloud). Keep "
        "connections.max.idle.ms "
        "below that; keep-alives are on.",
        "",
        "a test needs a load balancer and some minutes; fault 47 tests the result",
    ),
    Fault(
        47,
        "The server disappeared without closing the connection",
        ExitCode.REQUEST_TIMEOUT,
        "timed out after ... while waiting for the ... response from ...",
        "",
        "A machine lost power, a cable was cut, or a process is suspended: no packet shows it. The request timeout "
        "ends the wait, and TCP_USER_TIMEOUT drops what stays unacknowledged.",
        "tests/faultlab/test_namespaces.py",
    ),
    Fault(
        48,
        "The broker throttles",
        ExitCode.OK,
        "throttled: brokers requested pauses of # ms (a quota)",
        "",
        "A quota of the client ID or user was exceeded. The client pauses as the broker requests, and does "
        "not count the pause against the request timeout. kctl produce reports the sum at the end, and "
        "--trace reports each pause.",
        _PRODUCING,
    ),
    Fault(
        49,
        "Timeouts that contradict each other",
        ExitCode.USAGE,
        "socket.connection.setup.timeout.ms=# and socket.connection.setup.timeout.max.ms=# contradict each other: ...",
        "",
        "For example --connect-timeout above socket.connection.setup.timeout.max.ms. It is refused before anything is "
        "done, with both values. (A --connect-timeout above --api-timeout is shortened to it instead.)",
        _CALLS,
    ),
    Fault(
        50,
        "Ctrl-C during a wait",
        ExitCode.SIGINT,
        "interrupted (Ctrl-C)",
        "",
        "The first Ctrl-C closes within --close-timeout. The second exits immediately.",
        "tests/cli/test_interrupts.py",
    ),
    Fault(
        51,
        "Records that were read are not in the log any more",
        ExitCode.DATA,
        "...-# was read up to offset # of a log that was truncated: ...",
        "",
        "A replica without the end of the log became leader, which unclean.leader.election.enable allows. "
        "With a reset policy, the consumer returns to the first offset that may differ, and a note reports "
        "it. With auto.offset.reset=none, the error shows this offset: seek to it to read the new records.",
        "tests/sim/consumer/test_truncation.py",
    ),
    Fault(
        52,
        "The offset to read does not exist",
        ExitCode.DATA,
        "...-# has no offset #, and auto.offset.reset=none; ...",
        "",
        "Retention deleted the records before they were read, or the topic was recreated and starts again at 0. "
        "With a reset policy the position is moved, and a note has both offsets.",
        "tests/sim/consumer/test_reset_policies.py",
    ),
    Fault(
        53,
        "Another producer has taken over the transactional.id",
        ExitCode.UNDELIVERED,
        "the producer can only be closed: ... (PRODUCER_FENCED)",
        "give each process its own transactional.id",
        "A second producer called init_transactions() with the same name, or the broker aborted a transaction that was "
        "open longer than transaction.timeout.ms. read_committed consumers see nothing of the open transaction.",
        "tests/unit/cli/test_failures.py",
    ),
)
