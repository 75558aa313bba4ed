"""A canary: the password of a job's connections is in nothing that Spark, or a list of processes, could show.

The same search finds what is not secret, so it looks in the right places.
"""

import subprocess
import sys
from pathlib import Path

from kctl.grammar.properties import write_properties
from tests.pipeline.exports import in_export, produce
from tests.pipeline.processes import children_of
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.security import PLAIN_PASSWORD
from tests.support.kafka.waiting import wait_until

WAIT_MS = bound(90_000)


def test_a_password_is_in_no_log_event_or_command_line(kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest.bootstrap(), topic, 500, partitions=1)
    properties = kafka_newest.client_properties("SASL_PLAINTEXT", "PLAIN")
    assert PLAIN_PASSWORD in properties["sasl.jaas.config"]
    config = tmp_path / "client.properties"
    config.write_text(write_properties(properties))
    events, log = tmp_path / "events", tmp_path / "spark.log"
    events.mkdir()
    arguments = [
        *("pipeline", "export", topic, "--to", str(tmp_path / "x"), "--command-config", str(config)),
        *("--master", "local[1]", "--spark-log", str(log), "--spark-conf", "spark.log.level=INFO"),
        *("--spark-conf", "spark.eventLog.enabled=true", "--spark-conf", f"spark.eventLog.dir={events.as_uri()}"),
        *("--spark-conf", "spark.eventLog.compress=false", "--spark-conf", "spark.eventLog.rolling.enabled=false"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "kctl", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: set[str] = set()

    def has_ended() -> bool:
        lines.update(_command_lines(process.pid))
        return process.poll() is not None

    wait_until(has_ended, WAIT_MS, "the end of the export", interval_ms=200)
    said, _ = process.communicate()
    assert process.returncode == 0, said
    assert len(in_export(tmp_path / "x")) == 500
    seen = "\n".join([said, log.read_text(), *(path.read_text() for path in events.iterdir()), *sorted(lines)])
    assert "spark.eventLog.enabled" in seen
    assert "SparkListenerTaskEnd" in seen
    assert "kctl export, round 1" in seen
    assert "org.apache.spark.deploy.SparkSubmit" in seen
    assert PLAIN_PASSWORD not in seen


def _command_lines(pid: int) -> set[str]:
    found = set()
    for child in (pid, *children_of(pid)):
        try:
            found.add(Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # it has ended meanwhile
            continue
    return found
