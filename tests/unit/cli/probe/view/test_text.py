"""What a probe learnt, in words."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.view.text import (
    MOST_FACTS,
    MOST_FINDINGS,
    blocked_by,
    fact_lines,
    finding_lines,
    name,
    round_progress,
    state,
    summary,
)
from kctl.client.clock import ManualClock, Timer
from kctl.client.cluster import Node
from kctl.client.events import Target
from kctl.client.probe.report import CoordinatorReport
from tests.unit.cli.probe.view.scenario import NOTE, ready, reports, result


def test_states() -> None:
    assert [state(report) for report in reports()] == [
        "ready as broker 1",
        "connection refused (RST after 1 ms)",
        "in apiversions",
        "name not known",
        "the peer says \\x1b[31mSSH\\x07",
        "no SYN-ACK within 2s (--connect-timeout)",
        "ready as broker 1, advertised as kafka-a.example:9092",
        "in tls",
    ]


def test_names() -> None:
    assert name(reports()[0]) == "kafka-a.example:9092 [10.0.0.1]"
    assert name(reports()[7]) == "broker 2 10.0.0.6:9092"


def test_the_summary() -> None:
    assert summary(reports()) == "2 of 8 addresses ready, 4 failed, 2 under way"


def test_one_broker_and_one_address_are_not_in_the_plural() -> None:
    alone = reports()[0]
    assert alone.view is not None
    alone.view = alone.view._replace(brokers=alone.view.brokers[:1])
    assert "cluster abc: 1 broker, controller 2" in fact_lines(result()._replace(reports=[alone]))
    timer = Timer(ManualClock(), 2_000)
    assert round_progress([alone], timer) == "1 address, 2s left"
    assert round_progress([alone, alone], timer) == "2 addresses, 2s left"


def test_facts() -> None:
    found = CoordinatorReport("g", Node(2, "10.0.0.6", 9092), None, 23, 2)
    assert fact_lines(result()._replace(coordinator=found)) == [
        "cluster abc: 2 brokers, controller 2",
        "kafka-bootstrap.example:9092 [10.0.0.1] is broker 1, advertised as kafka-a.example:9092",
        "tls kafka-a.example:9092 [10.0.0.1], kafka-bootstrap.example:9092 [10.0.0.1]: "
        "TLSv1.3 TLS_AES_256_GCM_SHA384, client certificate requested",
        "  certificate CN=kafka-a.example, issuer CN=test-ca, until 2023-11-24 (10 days), for kafka-a.example",
        "sasl kafka-a.example:9092 [10.0.0.1], kafka-bootstrap.example:9092 [10.0.0.1]: offers PLAIN, SCRAM-SHA-256",
        "group g: coordinator is broker 2, 10.0.0.6:9092, on __consumer_offsets-23",
        "idle: 0 of 1 connections survived 6m11s without traffic",
    ]


def test_findings_have_their_hint_below() -> None:
    assert finding_lines([NOTE]) == [
        "NOTE version-skew: Metadata: 0 to 13 at a",
        "  hint: an upgrade is under way",
    ]
    lines = finding_lines(result().findings)
    assert lines[0].startswith("ERROR other-protocol 10.0.0.5:22: the peer says \\x1b[31mSSH")
    assert "\x1b" not in "".join(lines)


def test_of_many_the_first_are_told_and_the_rest_counted() -> None:
    lines = finding_lines([NOTE] * (MOST_FINDINGS + 5))
    assert len(lines) == 2 * MOST_FINDINGS + 1
    assert lines[-1].startswith("and 5 more findings")
    aliases = [ready(Target(i, -i, f"alias-{i}", 9092, "10.0.0.1:9092"), 1) for i in range(1, 100)]
    facts = fact_lines(result()._replace(reports=aliases))
    assert sum("advertised as" in line for line in facts) == MOST_FACTS
    assert "and 79 more brokers with other advertised addresses" in facts


def test_the_finding_that_blocked_is_the_one_with_the_exit_code() -> None:
    blocked = blocked_by(result(code=ExitCode.REFUSED))
    assert blocked is not None
    assert blocked.where == "10.0.0.2:9092"
    assert blocked_by(result()._replace(findings=())) is None
