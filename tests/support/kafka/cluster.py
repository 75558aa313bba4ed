"""A Kafka cluster of one version on this machine: start, ask, freeze, kill, clean up.

Owns nodes, their folders and ports. `launch()` returns at once and `wait_ready()` waits, so several clusters can come
up together. Knows nothing of pytest (tests/support/kafka/plugin.py) or kctl.
"""

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka import wire
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.security import (
    LISTENERS,
    SCRAM_MECHANISMS,
    SCRAM_USER,
    broker_security,
    client_security,
    guest_login,
    properties_text,
    scram_config,
    scram_format_option,
)
from tests.support.kafka.server_properties import (
    CLUSTER_ID,
    CONTROLLER,
    common_properties,
    kraft_properties,
    zookeeper_mode_properties,
    zookeeper_properties,
)
from tests.support.kafka.toolchain import java_command, kafka_class_path
from tests.support.kafka.waiting import WaitTimeout, wait_until
from tests.support.ports import HOST, PortLease, lease_ports

START_TIMEOUT_MS = bound(120_000)
TOPIC_TIMEOUT_MS = bound(30_000)

_topic_numbers = itertools.count(1)


class ClusterError(Exception):
    """A node did not start, or ended; the message has the end of its log and where the whole is."""


class KafkaNode:
    """One broker: its ports, its process, its folder."""

    def __init__(self, cluster: "KafkaCluster", number: int, lease: PortLease) -> None:
        self.number = number
        self.ports = {listener: lease.take() for listener in LISTENERS}
        self.process = ServerProcess(f"Kafka {cluster.version} node {number}", cluster.logs / f"node-{number}.log")
        self._cluster = cluster

    def launch(self) -> None:
        """Start the process; the first time its data folder is prepared before."""
        folder = self._cluster.folder / f"node-{self.number}"
        prepare = []
        if not folder.exists():
            folder.mkdir()
            (folder / "server.properties").write_text(self._cluster.server_properties(self, folder / "data"))
            prepare = [self._cluster.prepare_command(folder / "server.properties")]
        command = java_command(self._cluster.class_path, "kafka.Kafka", str(folder / "server.properties"))
        command[1:1] = self._cluster.jvm_options
        self.process.start(command, prepare)

    def start(self) -> None:
        """Start after `kill()` or `stop()`, with the data and ports it had; returns when the whole cluster is ready."""
        self.launch()
        self._cluster.wait_ready()

    def freeze(self) -> None:
        """Make it hang: its sockets stay open, nothing is answered, until `thaw()`."""
        self.process.freeze()

    def thaw(self) -> None:
        """End `freeze()`."""
        self.process.thaw()

    def kill(self) -> None:
        """End it like a crash."""
        self.process.kill()

    def stop(self) -> None:
        """Shut it down in order."""
        self.process.stop()

    def is_ready(self, node_count: int) -> bool:
        """True when it serves on all listeners and sees `node_count` nodes and a controller."""
        if not self.process.is_running:
            status = self.process.exit_status
            raise ClusterError(f"{self.process.name} ended with status {status} before it was ready")
        try:
            for port in self.ports.values():
                socket.create_connection((HOST, port), timeout=bound(1)).close()
            wire.check_api_versions(self.ports["PLAINTEXT"])
            view = wire.fetch_view(self.ports["PLAINTEXT"])
        except (OSError, wire.WireError):
            return False
        return len(view.nodes) == node_count and view.controller in view.nodes


class KafkaCluster:
    """`nodes` brokers of one Kafka version with all four listener kinds.

    Args:
        version: 3.x and 4.x run as KRaft with combined roles, 2.x with a ZooKeeper of its own (one node only).
        nodes: one or three.
        broker_properties: more lines for every `server.properties`; they win.
        jvm_options: more options of the brokers' Java.
        classes: the class path of what the properties name and Kafka does not have.

    Use it as a context manager, or `launch()`, `wait_ready()` and `close()`.
    """

    def __init__(
        self,
        version: str,
        nodes: int = 1,
        broker_properties: Mapping[str, str] | None = None,
        *,
        jvm_options: Sequence[str] = (),
        classes: str | None = None,
    ) -> None:
        self.version = version
        self.class_path = classes or kafka_class_path(version)
        self.jvm_options = list(jvm_options)
        self.with_zookeeper = version.startswith("2.")
        if self.with_zookeeper and nodes != 1:
            raise ValueError("with ZooKeeper only one node is supported")
        self._more_properties = dict(broker_properties or {})
        self.folder = make_folder(f"kafka-{version}x{nodes}")
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.kept_logs = Path(tempfile.gettempdir()) / "kctl-broker-logs" / self.folder.name
        (self.folder / "certificates").mkdir()
        self.certificates: Certificates = make_certificates(self.folder / "certificates")
        self._leases = [lease_ports() for _ in range(nodes)]
        self.nodes = [KafkaNode(self, number, lease) for number, lease in enumerate(self._leases, start=1)]
        self._quorum_ports = {number: lease.take() for number, lease in enumerate(self._leases, start=1)}
        self._zookeeper = ServerProcess(f"ZooKeeper of {version}", self.logs / "zookeeper.log")

    def __enter__(self) -> "KafkaCluster":
        try:
            self.launch()
            self.wait_ready()
        except BaseException:
            self.close(keep_logs=True)
            raise
        return self

    def __exit__(self, error_type: type[BaseException] | None, *_error: object) -> None:
        self.close(keep_logs=error_type is not None)

    def add_properties(self, properties: Mapping[str, str]) -> None:
        """Add lines to every `server.properties` of nodes that are not started yet; they win."""
        self._more_properties |= properties

    # -- life ---------------------------------------------------------------------------------------------------------

    def launch(self) -> None:
        """Start all processes and return at once."""
        if self.with_zookeeper:
            data = self.folder / "zookeeper"
            data.mkdir()
            config = data / "zookeeper.properties"
            config.write_text(properties_text(zookeeper_properties(self._quorum_ports[1], data)))
            main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
            self._zookeeper.start(java_command(self.class_path, main, str(config)))
        for node in self.nodes:
            node.launch()

    def wait_ready(self) -> None:
        """Return when every running node serves and sees all running nodes.

        Raises:
            ClusterError: a node ended, or was not ready within two minutes.
        """
        running = [node for node in self.nodes if node.process.was_started]
        if not running:
            raise self._failure(self.nodes[0], "no node is running")
        for node in running:
            try:
                wait_until(partial(node.is_ready, len(running)), START_TIMEOUT_MS, f"start of {node.process.name}")
            except (WaitTimeout, ClusterError) as error:
                raise self._failure(node, str(error)) from error

    def close(self, keep_logs: bool = False) -> None:
        """End all processes, free the ports, remove the folders; with `keep_logs` the logs move to `kept_logs`."""
        for node in self.nodes:
            node.kill()
        self._zookeeper.kill()
        if keep_logs and self.logs.exists():
            self.kept_logs.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(self.logs, self.kept_logs)
        remove_folder(self.folder)
        while self._leases:
            self._leases.pop().release()

    def node(self, number: int) -> KafkaNode:
        """Return node `number`; the first is 1, which is also its id."""
        return self.nodes[number - 1]

    # -- what tests ask -----------------------------------------------------------------------------------------------

    def bootstrap(self, listener: str = "PLAINTEXT") -> str:
        """Return `bootstrap.servers` of all nodes at this listener."""
        return ",".join(f"{HOST}:{node.ports[listener]}" for node in self.nodes)

    def client_properties(
        self, listener: str = "PLAINTEXT", mechanism: str | None = None, mutual_tls: bool = False
    ) -> dict[str, str]:
        """Return all properties of a client of this listener, in Kafka's own names, `bootstrap.servers` included."""
        security = client_security(self.certificates, listener, mechanism, mutual_tls)
        return {"bootstrap.servers": self.bootstrap(listener), **security}

    def guest_properties(self) -> dict[str, str]:
        """Return all properties of a client that is the guest, over SASL_PLAINTEXT."""
        return self.client_properties("SASL_PLAINTEXT") | guest_login()

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        replication: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic and return its name when every running node knows the leaders, and each leader leads.

        Args:
            name: None for a fresh one.
            replication: None for as many as there are nodes.
        """
        name = name or f"topic-{os.getpid()}-{next(_topic_numbers)}"
        running = [node for node in self.nodes if node.process.is_running]
        port = running[0].ports["PLAINTEXT"]
        wire.create_topic(port, name, partitions, replication or len(self.nodes), configs or {})

        def is_led() -> bool:
            views = [wire.fetch_view(node.ports["PLAINTEXT"], name).leaders.get(name, {}) for node in running]
            if not all(len(view) == partitions and min(view.values()) >= 0 for view in views):
                return False
            led: dict[int, list[int]] = {}
            for partition, leader in views[0].items():
                led.setdefault(leader, []).append(partition)
            return all(
                wire.leads(node.ports["PLAINTEXT"], name, led[node.number]) for node in running if node.number in led
            )

        wait_until(is_led, TOPIC_TIMEOUT_MS, f"leaders of {name}")
        return name

    def leader(self, topic: str, partition: int = 0) -> KafkaNode:
        """Return the node that leads a partition, as the first running node sees it."""
        port = next(node for node in self.nodes if node.process.is_running).ports["PLAINTEXT"]
        return self.node(wire.fetch_view(port, topic).leaders[topic][partition])

    def move_leader(self, topic: str, partition: int, to: KafkaNode) -> None:
        """Let another node lead a partition that is on all nodes; returns when every running node knows."""
        running = [node for node in self.nodes if node.process.is_running]
        others = [node.number for node in self.nodes if node is not to]
        wire.order_replicas(running[0].ports["PLAINTEXT"], topic, partition, [to.number, *others])

        def is_moved() -> bool:
            try:
                wire.elect_leader(running[0].ports["PLAINTEXT"], topic, partition)
                views = [wire.fetch_view(node.ports["PLAINTEXT"], topic) for node in running]
            except wire.WireError:
                return False
            return all(view.leaders[topic][partition] == to.number for view in views)

        wait_until(is_moved, TOPIC_TIMEOUT_MS, f"node {to.number} to lead {topic}-{partition}")

    def run_tool(self, main: str, *arguments: str, timeout_s: int = 60) -> str:
        """Return the standard output of one of Kafka's own tools, given as a class name, in this version.

        Raises:
            ClusterError: it failed; the message has its output.
        """
        command = java_command(self.class_path, main, *arguments)
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=bound(timeout_s)
        )
        if done.returncode != 0:
            raise ClusterError(f"{main} failed with status {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
        return done.stdout

    # -- what nodes ask -----------------------------------------------------------------------------------------------

    def server_properties(self, node: KafkaNode, data: Path) -> str:
        """Return the text of this node's `server.properties`."""
        ports = dict(node.ports)
        if self.with_zookeeper:
            mode = zookeeper_mode_properties(node.number, self._quorum_ports[1])
        else:
            ports[CONTROLLER] = self._quorum_ports[node.number]
            mode = kraft_properties(node.number, self._quorum_ports)
        common = common_properties(ports, data, len(self.nodes))
        return properties_text(common | mode | broker_security(self.certificates) | self._more_properties)

    def prepare_command(self, config: Path) -> list[str]:
        """Return the command that readies a new data folder and makes the SCRAM user."""
        if self.with_zookeeper:
            address = f"{HOST}:{self._quorum_ports[1]}"
            user = ["--alter", "--entity-type", "users", "--entity-name", SCRAM_USER]
            secrets = ",".join(map(scram_config, SCRAM_MECHANISMS))
            return java_command(
                self.class_path, "kafka.admin.ConfigCommand", "--zookeeper", address, *user, "--add-config", secrets
            )
        scram = [word for mechanism in SCRAM_MECHANISMS for word in ("--add-scram", scram_format_option(mechanism))]
        return java_command(
            self.class_path, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config), *scram
        )

    def _failure(self, node: KafkaNode, what: str) -> ClusterError:
        return ClusterError(
            f"{what}\nlogs (kept if the cluster is closed so): {self.kept_logs}\n{node.process.log_tail()}"
        )
