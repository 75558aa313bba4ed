"""Faults of a real Kafka: TLS, SASL, advertised listeners, a controller's port, idle connections, a frozen process."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import end, running
from tests.faultlab.lab import LONG, Limits, Run, check, check_at_once, run_all
from tests.faultlab.strict_kafka import CLOSED, IDLE_MS, make_strict_kafka
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.security import client_security, properties_text
from tests.support.ports import HOST

JAVA = Limits(4_000, 3_500, 3_500)
"""For faults that are waited for: a virtual machine that has just started is slow."""


@pytest.fixture(scope="module")
def kafka(own_kafka: OwnKafka) -> Iterator[KafkaCluster]:
    with make_strict_kafka(own_kafka) as cluster:
        yield cluster


def _run(
    kafka: KafkaCluster, folder: Path, listener: str, *more: str, limits: Limits = LONG, mutual_tls: bool = False
) -> dict[str, Run]:
    """Run the commands at a listener, with what its client needs and `more` lines of configuration."""
    file = folder / "client.properties"
    security = client_security(kafka.certificates, listener, mutual_tls=mutual_tls)
    file.write_text(properties_text(security) + "".join(f"{line}\n" for line in more))
    return run_all(kafka.bootstrap(listener), "--command-config", str(file), limits=limits)


def _topic(kafka: KafkaCluster) -> None:
    if not getattr(kafka, "has_t", False):
        kafka.create_topic("t")
        kafka.has_t = True  # type: ignore[attr-defined]  # remembered with the cluster that has it


def test_13_a_plaintext_client_on_a_tls_listener(kafka: KafkaCluster) -> None:
    for run in run_all(kafka.bootstrap("SSL"), limits=LONG).values():
        check(13, run)
        check_at_once(run)


def test_14_a_tls_client_on_a_plaintext_listener(kafka: KafkaCluster) -> None:
    for run in run_all(kafka.bootstrap(), "--security-protocol", "SSL", limits=JAVA).values():
        check(14, run)
        check_at_once(run)


def test_19_an_expired_certificate(kafka: KafkaCluster, tmp_path: Path) -> None:
    for run in _run(kafka, tmp_path, "SASL_SSL").values():
        check(19, run)
        check_at_once(run)


def test_22_an_unknown_authority(kafka: KafkaCluster, tmp_path: Path) -> None:
    other = f"ssl.truststore.location={kafka.certificates.stranger_ca}"
    for run in _run(kafka, tmp_path, "SSL", other, mutual_tls=True).values():
        check(22, run)
        check_at_once(run)


def test_23_a_client_certificate_is_wanted(kafka: KafkaCluster, tmp_path: Path) -> None:
    for run in _run(kafka, tmp_path, "SSL").values():
        check(23, run)
        check_at_once(run)


def test_24_no_tls_version_in_common(kafka: KafkaCluster, tmp_path: Path) -> None:
    for run in _run(kafka, tmp_path, "SSL", "ssl.enabled.protocols=TLSv1.2", mutual_tls=True).values():
        check(24, run)
        check_at_once(run)


def test_25_no_sasl_where_it_is_wanted(kafka: KafkaCluster) -> None:
    for run in run_all(kafka.bootstrap("SASL_PLAINTEXT"), limits=JAVA).values():
        check(25, run)
        check_at_once(run)


def test_27_a_wrong_password(kafka: KafkaCluster, tmp_path: Path) -> None:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    wrong = f'sasl.jaas.config={login} username="alice" password="looking-glass";'
    for run in _run(kafka, tmp_path, "SASL_PLAINTEXT", wrong).values():
        check(27, run)
        check_at_once(run)
        assert "looking-glass" not in run.stdout + run.stderr


def test_26_a_mechanism_that_is_not_offered(kafka: KafkaCluster, tmp_path: Path) -> None:
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    scram = f'sasl.jaas.config={login} username="bob" password="bob-secret";'
    for run in _run(kafka, tmp_path, "SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512", scram).values():
        check(
            26,
            run,
            hint="check sasl.enabled.mechanisms of the listener. PLAIN sends the password to the server",
        )
        check_at_once(run)
        assert "the broker does not support SCRAM-SHA-512 (supported: PLAIN)" in run.said


def test_29_an_advertised_name_that_does_not_resolve(kafka: KafkaCluster) -> None:
    _topic(kafka)
    runs = run_all(kafka.bootstrap(), limits=JAVA)
    assert runs["topics list"].code == ExitCode.OK
    for command in ("consume", "produce", "probe"):
        check(29, runs[command])


def test_30_an_advertised_address_that_is_this_machine(kafka: KafkaCluster, tmp_path: Path) -> None:
    _topic(kafka)
    runs = _run(kafka, tmp_path, "SASL_PLAINTEXT", limits=JAVA)
    assert runs["topics list"].code == ExitCode.OK
    for command in ("consume", "produce", "probe"):
        check(30, runs[command])
        assert CLOSED in runs[command].said


def test_31_the_port_of_a_controller(kafka: KafkaCluster) -> None:
    text = (kafka.folder / "node-1" / "server.properties").read_text()
    voters = next(line for line in text.splitlines() if line.startswith("controller.quorum.voters="))
    for run in run_all(f"{HOST}:{voters.rpartition(':')[2]}", limits=JAVA).values():
        check(31, run)


def test_35_no_coordinator(kafka: KafkaCluster, tmp_path: Path) -> None:
    _topic(kafka)
    file = tmp_path / "client.properties"
    file.write_text(properties_text(kafka.client_properties("SSL", mutual_tls=True)))
    for protocol in ("classic", "consumer"):
        options = ("--command-config", str(file), "-g", "g", "-X", f"group.protocol={protocol}")
        run = run_all(kafka.bootstrap("SSL"), *options, limits=JAVA, commands=["consume"])["consume"]
        check(35, run)
        check_at_once(run)


def test_45_an_idle_connection_that_the_broker_closes_is_not_told(kafka: KafkaCluster, tmp_path: Path) -> None:
    _topic(kafka)
    file = tmp_path / "client.properties"
    file.write_text(properties_text(kafka.client_properties("SSL", mutual_tls=True)))
    with running("produce", "t", "--command-config", str(file)) as process:
        assert process.stdin is not None
        process.stdin.write(b"one\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):  # the broker looks for idle connections now and then
            process.wait(3 * IDLE_MS / 1000)
        process.stdin.write(b"two\n")
        ended = end(process)
    assert (ended.code, ended.stderr) == (0, "kctl produce: 2 records delivered (t-0: 2)\n")


def test_10_a_frozen_broker(kafka: KafkaCluster) -> None:
    kafka.node(1).freeze()
    try:
        runs = run_all(kafka.bootstrap(), limits=JAVA._replace(connect_ms=1_000))
    finally:
        kafka.node(1).thaw()
    for run in runs.values():
        check(10, run)
        check_at_once(run)
