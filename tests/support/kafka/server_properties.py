"""What is in the `server.properties` of a test broker, KRaft or ZooKeeper.

Owns property names and values; starts nothing.
"""

from collections.abc import Mapping
from pathlib import Path

from tests.support.kafka.security import SUPER_USERS
from tests.support.ports import HOST

CLUSTER_ID = "a2N0bC1mb3ItdGVzdHMtMQ"
CONTROLLER = "CONTROLLER"


def common_properties(ports: Mapping[str, int], data: Path, node_count: int) -> dict[str, str]:
    """Return what all versions share: listeners, small internal topics, quick groups, nothing created by itself."""
    replication, min_isr = str(min(3, node_count)), str(min(2, node_count))
    protocols = ",".join(f"{name}:{'PLAINTEXT' if name == CONTROLLER else name}" for name in ports)
    return {
        "listeners": ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": protocols,
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        "num.network.threads": "1",
        "num.io.threads": "4",
        "num.partitions": "1",
        "default.replication.factor": "1",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "10",
        "offsets.topic.replication.factor": replication,
        "transaction.state.log.num.partitions": "10",
        "transaction.state.log.replication.factor": replication,
        "transaction.state.log.min.isr": min_isr,
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "500",
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.session.timeout.ms": "6000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "share.coordinator.state.topic.num.partitions": "2",
        "share.coordinator.state.topic.replication.factor": replication,
        "share.coordinator.state.topic.min.isr": min_isr,
        "group.streams.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": "4194304",
        "log.retention.ms": "-1",  # records with timestamps of long ago stay
    }


def kraft_properties(node: int, controller_ports: Mapping[int, int]) -> dict[str, str]:
    """Return what makes node `node` broker and controller in one."""
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.listener.names": CONTROLLER,
        "controller.quorum.voters": ",".join(f"{voter}@{HOST}:{port}" for voter, port in controller_ports.items()),
        "broker.session.timeout.ms": "6000",
        "broker.heartbeat.interval.ms": "1000",
    }


def zookeeper_mode_properties(node: int, zookeeper_port: int) -> dict[str, str]:
    """Return what makes a broker of the old kind."""
    return {
        "broker.id": str(node),
        "zookeeper.connect": f"{HOST}:{zookeeper_port}",
        "zookeeper.session.timeout.ms": "6000",
        "zookeeper.connection.timeout.ms": "60000",
    }


def guarded_properties(with_zookeeper: bool) -> dict[str, str]:
    """Return what lets every user of the fixtures do everything, and the guest only what a rule allows.

    Sessions over SASL_SSL are short: clients log in again while they work (KIP-368).
    """
    authorizer = (
        "kafka.security.authorizer.AclAuthorizer"
        if with_zookeeper
        else "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    )
    return {
        "authorizer.class.name": authorizer,
        "super.users": ";".join(SUPER_USERS),
        "listener.name.sasl_ssl.connections.max.reauth.ms": "3000",
    }


IMPATIENT = {
    "log.cleaner.backoff.ms": "50",
    "log.retention.check.interval.ms": "50",
    "log.initial.task.delay.ms": "0",
    "producer.id.expiration.ms": "604800000",  # tests that have producers forgotten set less
    "producer.id.expiration.check.interval.ms": "100",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
    "group.consumer.session.timeout.ms": "45000",  # this and the next are Kafka's own defaults
    "group.consumer.heartbeat.interval.ms": "5000",
}
"""Short intervals of background work: a broker cleans logs, and ends overdue transactions, several times a second.

Groups get their assignments with the next heartbeat: by default a broker gathers the changes of a second.
"""


def zookeeper_properties(port: int, data: Path) -> dict[str, str]:
    """Return the configuration of a lone ZooKeeper."""
    return {
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "dataDir": str(data),
        "tickTime": "1000",
        "admin.enableServer": "false",
        "maxClientCnxns": "0",
    }
