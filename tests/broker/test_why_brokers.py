"""`kctl why` on real Kafka: throttles that Kafka's own tool has set, and a small file system that fills."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import ConfigResource, ResourceType
from kctl.client.errors import UndeliveredError
from kctl.client.producer import Producer
from kctl.client.runtime import Address
from tests.broker.test_why import why, why_until
from tests.broker.why_story import KafkaStory, redirected
from tests.cli.processes import kctl
from tests.support.kafka.certificates import certificate_chain, private_key, renewed_chain
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.server_properties import CLUSTER_ID
from tests.support.ports import HOST

CONFIGS = "kafka.admin.ConfigCommand"
RATE = "leader.replication.throttled.rate=1000000,follower.replication.throttled.rate=1000000"
DISK_BYTES, FILL_BYTES = 64 << 20, 61 << 20
RECORD_BYTES, LAST_RECORD_BYTES = 900_000, 100_000
MOST_TOPICS = 4
OUTSIDE = "192.0.2.7"
"""An address that no machine has (RFC 5737)."""
UNREACHED, CLOSED_PORT = "SASL_PLAINTEXT", 1
WRONG_NAME = "SASL_SSL"


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of its own with a few megabytes."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "kctl-small-disk", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a file system can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.nightly
def test_throttle_of_kafkas_own_tool_is_left_behind_until_its_cure(kafka_newest: KafkaCluster) -> None:
    assert "throttle-left-behind" not in why(kafka_newest, "why", "cluster")[1]
    where = ("--bootstrap-server", kafka_newest.bootstrap(), "--entity-type", "brokers", "--entity-name", "1")
    kafka_newest.run_tool(CONFIGS, *where, "--alter", "--add-config", RATE)
    _, found = why_until(lambda found: "throttle-left-behind" in found, kafka_newest, "why", "cluster")
    left = found["throttle-left-behind"]
    assert left["subject"] == "broker 1"
    assert all(rate in left["sentence"] for rate in RATE.split(","))
    assert kctl(*shlex.split(left["cure"])[1:], "-b", kafka_newest.bootstrap()).code == 0
    why_until(lambda found: "throttle-left-behind" not in found, kafka_newest, "why", "cluster")


@pytest.fixture(scope="module")
def two_disks(
    small_disk: Path, tmp_path_factory: pytest.TempPathFactory, own_kafka: OwnKafka
) -> Iterator[KafkaCluster]:
    """One broker with a second directory on a small disk.

    One of its listeners advertises a port that is closed, and another has a certificate for another name.
    """
    dirs = f"{tmp_path_factory.mktemp('large')},{small_disk / 'data'}"
    cluster = own_kafka({"log.dirs": dirs})
    ports = {**cluster.node(1).ports, UNREACHED: CLOSED_PORT}
    advertised = ",".join(f"{listener}://{HOST}:{port}" for listener, port in ports.items())
    wrong = cluster.certificates.wrong_host
    prefix = f"listener.name.{WRONG_NAME.lower()}.ssl.keystore"
    identity = {f"{prefix}.key": private_key(wrong), f"{prefix}.certificate.chain": certificate_chain(wrong)}
    cluster.add_properties({"advertised.listeners": advertised, **identity})
    with cluster:
        yield cluster


def test_address_that_is_advertised_and_that_nobody_listens_at(two_disks: KafkaCluster) -> None:
    with KafkaStory(two_disks) as healthy:
        assert healthy.cluster() == {}
    with KafkaStory(two_disks, **two_disks.client_properties(UNREACHED)) as story:
        found = story.cluster()
    assert found.keys() == {"advertised-unusable"}, "the broker answers at another address"
    assert f"{HOST}:{CLOSED_PORT}" in found["advertised-unusable"].sentence


def test_certificate_for_another_name_where_names_are_not_checked(two_disks: KafkaCluster) -> None:
    unchecked = {"ssl.endpoint.identification.algorithm": ""}
    with KafkaStory(two_disks, **two_disks.client_properties("SSL"), **unchecked) as healthy:
        assert healthy.cluster() == {}
    with KafkaStory(two_disks, **two_disks.client_properties(WRONG_NAME), **unchecked) as story:
        found = story.cluster()["certificate-name"]
    assert "elsewhere.invalid" in found.sentence


def test_listener_whose_certificate_has_expired(own_kafka: OwnKafka) -> None:
    """Clients refuse it, and come in by another listener: the broker itself starts with it."""
    cluster = own_kafka()
    over = cluster.certificates.expired
    prefix = f"listener.name.{WRONG_NAME.lower()}.ssl.keystore"
    cluster.add_properties({f"{prefix}.key": private_key(over), f"{prefix}.certificate.chain": certificate_chain(over)})
    with cluster:
        good, expired = (f"{HOST}:{cluster.node(1).ports[listener]}" for listener in ("SSL", WRONG_NAME))
        client = cluster.client_properties("SSL")
        with KafkaStory(cluster, **client, bootstrap_servers=good) as healthy:
            assert healthy.cluster() == {}
        with KafkaStory(cluster, **client, bootstrap_servers=f"{good},{expired}") as story:
            found = story.cluster()
    assert found.keys() == {"certificate-expired"}
    assert re.match(rf"{expired}: certificate expired 20[-\d]+ \(CN=expired, ", found["certificate-expired"].sentence)


def test_bootstrap_servers_of_two_clusters(kafka_newest: KafkaCluster, kafka_2_8: KafkaCluster) -> None:
    """The cluster of ZooKeeper has drawn its id, and the other has that of all clusters of these tests."""
    both = {"bootstrap.servers": f"{kafka_newest.bootstrap()},{kafka_2_8.bootstrap()}"}
    with KafkaStory(kafka_newest) as healthy, KafkaStory(kafka_newest, **both) as story:
        assert "two-clusters" not in healthy.cluster()
        found = story.cluster()
        assert "version-skew" not in healthy.cluster()
    assert CLUSTER_ID in found["two-clusters"].sentence
    assert re.search(r"Produce: [\d to]+ at [\d.:]+.*; [\d to]+ at ", found["version-skew"].sentence)


def test_port_forward_that_leads_to_another_broker(kafka_three: KafkaCluster) -> None:
    ports = [node.ports["PLAINTEXT"] for node in kafka_three.nodes]
    wrong = redirected({Address(HOST, ports[1]): Address(HOST, ports[2])})
    first = {"bootstrap.servers": f"{HOST}:{ports[0]}"}
    with KafkaStory(kafka_three) as healthy, KafkaStory(kafka_three, wrong, **first) as story:
        assert "misrouted" not in healthy.cluster()
        found = story.cluster()["misrouted"]
    numbers = [node.number for node in kafka_three.nodes]
    assert f"{HOST}:{ports[1]}" in found.subject
    assert f"advertised as broker {numbers[1]}, but broker {numbers[2]} responds there" in found.sentence


def test_loopback_address_that_is_advertised_to_clients_from_outside(kafka_newest: KafkaCluster) -> None:
    """The client reaches the bootstrap server by an address of another machine, as through a port forward."""
    port = kafka_newest.node(1).ports["PLAINTEXT"]
    outside = redirected({Address(OUTSIDE, port): Address(HOST, port)})
    with (
        KafkaStory(kafka_newest) as healthy,
        KafkaStory(kafka_newest, outside, **{"bootstrap.servers": f"{OUTSIDE}:{port}"}) as story,
    ):
        assert "advertised-loopback" not in healthy.cluster()
        found = story.cluster()["advertised-loopback"]
    assert found.sentence == f"broker 1: broker 1 advertises {HOST}:{port}, but the bootstrap server is {OUTSIDE}"


def test_disk_that_fills_and_fails_is_found_until_it_is_repaired(two_disks: KafkaCluster, small_disk: Path) -> None:
    data, cluster = small_disk / "data", two_disks
    with KafkaStory(cluster) as story:
        topic = topic_in(story, data)
        assert story.cluster() == {}
        free = FILL_BYTES - used_bytes(small_disk)
        with Producer({"bootstrap.servers": cluster.bootstrap(), "max.request.size": 2 * RECORD_BYTES}) as producer:
            for _ in range(free // RECORD_BYTES):
                producer.send(topic, bytes(RECORD_BYTES))
        filling = story.cluster()["disk-filling"]
        assert filling.subject == "broker 1"
        space = os.statvfs(small_disk)
        percent = 100 * space.f_bavail // space.f_blocks
        assert f" of 67.1 MB free ({percent} %) in {data}" in filling.sentence
        assert f". Its largest topic is {topic} (" in filling.sentence
        assert filling.cure.startswith(f"kctl configs set topic {topic} retention.bytes=")

        filler = small_disk / "filler"
        filler.write_bytes(bytes(DISK_BYTES - used_bytes(small_disk)))
        with (
            pytest.raises(UndeliveredError),
            Producer({"bootstrap.servers": cluster.bootstrap(), "delivery.timeout.ms": 1_000}) as producer,
        ):
            # It fits in the segment: a new one would write to a mapped index, and the fault ends a broker's process.
            producer.send(topic, bytes(LAST_RECORD_BYTES))
        offline = story.until(story.cluster, "log-dir-offline")
        assert offline is not None
        assert offline.sentence.startswith(f"log directory {data} of broker 1 is offline: ")
        assert offline.cure == f"repair the disk of {data}, then restart broker 1"
        filler.unlink()
        subprocess.run(["mount", "-o", f"remount,size={4 * DISK_BYTES}", str(small_disk)], check=True)
        cluster.node(1).stop()
        cluster.node(1).start()
        story.until(story.cluster, "log-dir-offline", is_gone=True)
        assert story.cluster() == {}


def used_bytes(folder: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


def topic_in(story: KafkaStory, folder: Path) -> str:
    """Create topics until one has its log in a directory; Kafka takes the directory with the fewest logs."""
    for _ in range(MOST_TOPICS):
        topic = story.kafka.create_topic(configs={"segment.bytes": "1048576"})
        if (folder / f"{topic}-0").exists():
            return topic
    raise AssertionError(f"no topic is in {folder}")


def test_certificate_that_expires_soon_is_found_until_it_is_renewed(kafka_newest: KafkaCluster) -> None:
    """The broker gets a new certificate for the same key while it runs."""
    broker = ConfigResource(ResourceType.BROKER, "1")
    name = "listener.name.ssl.ssl.keystore.certificate.chain"
    client = kafka_newest.client_properties("SSL")
    with KafkaStory(kafka_newest) as plain, KafkaStory(kafka_newest, **client) as secure:
        assert "certificate-expiring" not in secure.cluster()
        try:
            chain = renewed_chain(kafka_newest.certificates, days=3)
            plain.admin.alter_configs({broker: {name: chain}}).raise_first()
            found = secure.until(secure.cluster, "certificate-expiring")
        finally:
            plain.admin.alter_configs({broker: {name: None}}).raise_first()
        assert found is not None
        assert re.search(r"certificate of .*broker expires on .* \(in [23] days\)", found.sentence)
        secure.until(secure.cluster, "certificate-expiring", is_gone=True)
