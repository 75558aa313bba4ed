"""`kctl probe` on real brokers: who answers, names side by side, the coordinator, certificates, and a frozen node."""

import json
import re
from pathlib import Path
from typing import Any

from kctl.cli.exit_codes import ExitCode
from kctl.client import Admin
from tests.cli.processes import Ended, kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import properties_text
from tests.support.kafka.waiting import wait_until

WAIT_MS = bound(30_000)


def _summary(ended: Ended) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return summary


def test_who_answers_and_where_it_is_advertised(any_kafka: KafkaCluster) -> None:
    port = any_kafka.bootstrap().rpartition(":")[2]
    alias = f"bootstrap.invalid:{port}"
    given = ("--resolve", f"{alias}:127.0.0.1", "--output", "json")
    summary = _summary(kctl("probe", "-b", alias, *given))
    assert (summary["exit_code"], summary["ready"], summary["failed"]) == (0, 2, 0)
    first, followed = summary["addresses"]
    assert first["answers_as"] == followed["answers_as"] == summary["brokers"][0]["node_id"]
    assert (first["advertised_as"]["host"], first["advertised"]) == (followed["host"], False)
    assert followed["advertised"] is True
    assert first["cluster_id"]
    assert first["api_versions"]["Metadata"][1] >= 9


def test_the_coordinator_is_where_the_partition_of_the_group_is_led(kafka_three: KafkaCluster) -> None:
    found: dict[str, Any] = {}

    def is_found() -> bool:
        """The first look-up of a cluster makes __consumer_offsets, which takes a moment."""
        found.update(_summary(kctl("probe", "-b", kafka_three.bootstrap(), "--group", "my-group", "--output", "json")))
        return bool(found["exit_code"] == 0)

    wait_until(is_found, WAIT_MS, "the coordinator of my-group")
    for group in ("my-group", "a", "orders", "\U0001f600", "polygenelubricants", "billing-2"):
        bootstrap = kafka_three.bootstrap()
        coordinator = _summary(kctl("probe", "-b", bootstrap, "--group", group, "--output", "json"))["coordinator"]
        assert coordinator["node"]["node_id"] == coordinator["leader_id"], group
        assert 0 <= coordinator["partition"] < 50


def test_the_certificates_of_a_listener(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text(properties_text(kafka_newest.client_properties("SSL")), encoding="utf-8")
    tls = _summary(kctl("probe", "--command-config", str(config), "--output", "json"))["addresses"][0]["tls"]
    assert tls["version"] == "TLSv1.3"
    assert tls["chain"][0]["names"]
    assert tls["client_certificate_asked"] in (True, False)


def test_a_hung_broker_is_named_and_is_3(kafka_three: KafkaCluster) -> None:
    with Admin({"bootstrap.servers": kafka_three.bootstrap()}) as admin:
        controller = admin.describe_quorum().leader_id
    broker = max({1, 2, 3} - {controller})  # without a controller, kctl does not know what a broker leads
    frozen = kafka_three.node(broker)
    frozen.freeze()
    try:
        options = ("--connect-timeout", "1s", "--request-timeout", "1s")
        ended = kctl("probe", "-b", kafka_three.bootstrap(), *options)
    finally:
        frozen.thaw()
    assert ended.code == ExitCode.PARTIAL_FAILURE
    assert "ERROR broker-unusable" in ended.stdout.decode()
    assert re.search(rf"broker {broker}, leads \d+ partitions?, does not respond: ", ended.stdout.decode())
    assert "no ApiVersions response within 1s (--connect-timeout)" in ended.stdout.decode()
