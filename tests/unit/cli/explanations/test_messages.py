"""Pasted lines of other clients, and of kctl, lead to the page on them."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import literal_length
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.lookup import find_pages
from kctl.cli.explanations.messages import MESSAGES

LINES = [
    (
        "kctl consume: bootstrap ok, but broker 1 advertises kafka-1.prod.internal:9092: NXDOMAIN "
        "(the name does not exist) [phase dns]",
        "fault 29",
    ),
    ("kctl probe: bootstrap ok, but broker 1 advertises a.b:9092: connection refused (RST after 0 ms) [phase tcp]",
     "fault 30"),
    ("%3|1700000000.1|FAIL|rdkafka#consumer-1| [thrd:a:9092/bootstrap]: a:9092/1: Connect to ipv4#10.0.0.1:9092 "
     "failed: Connection refused (after 2ms in state CONNECT)", "fault 5"),
    ("%3|1700000000.1|ERROR|rdkafka#producer-1| [thrd:app]: 3/3 brokers are down", "fault 9"),
    ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment. Call: listTopics",
     "API_TIMEOUT"),
    ("org.apache.kafka.common.errors.TimeoutException: Topic orders not present in metadata after 60000 ms.",
     "UNKNOWN_TOPIC_OR_PARTITION"),
    ("[Producer clientId=p] Connection to node -1 (localhost/127.0.0.1:9092) could not be established. Node may not be "
     "available. (org.apache.kafka.clients.NetworkClient)", "fault 5"),
    ("org.apache.kafka.common.errors.NotEnoughReplicasException: Messages are rejected since there are fewer in-sync "
     "replicas than required.", "NOT_ENOUGH_REPLICAS"),
    ("org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: g", "fault 38"),
    ("kafka.errors.NotLeaderForPartitionError: NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER"),
    ("cimpl.KafkaException: KafkaError{code=_MSG_TIMED_OUT,val=-192,str=\"Local: Message timed out\"}", "fault 41"),
    ("java.lang.IllegalStateException: Partition t-0's offset was changed from 9 to 3. Some data may have been lost "
     "because they are not available in Kafka any more; either the data was aged out", "fault 51"),
    ("OSError: [Errno 111] ECONNREFUSED", "fault 5"),
    ("ConnectionResetError: [Errno 104] Connection reset by peer", "fault 12"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "name"), LINES, ids=[line[:40] for line, _ in LINES])
def test_pasted_line_leads_to_its_page(line: str, name: str) -> None:
    assert [page.name for page in find_pages(line)] == [name]


@pytest.mark.parametrize(("message", "name"), MESSAGES)
def test_each_message_leads_to_the_page_that_the_table_names(message: str, name: str) -> None:
    named = find_pages(name)
    assert named, name
    line = f"WARN [client-1] {message.replace('...', 'x')} and more"
    assert find_pages(line) == named


def test_the_table_has_each_message_once_and_none_that_says_little() -> None:
    texts = [message.lower() for message, _ in MESSAGES]
    assert len(texts) == len(set(texts)) >= 60
    assert all(literal_length(message) >= 9 for message, _ in MESSAGES)


@pytest.mark.parametrize("number", [n for n, fault in FAULTS.items() if fault.reason.strip("# .")])
def test_reason_of_each_fault_leads_to_the_fault(number: int) -> None:
    fault = FAULTS[number]
    line = f"kctl consume: {fault.reason.replace('...', 'x').replace('#', '7')}"
    (page,) = find_pages(line)
    same = [f"fault {n}" for n, each in FAULTS.items() if each.reason == fault.reason and each.code is not ExitCode.OK]
    assert page.name in (same or [f"fault {number}"])
