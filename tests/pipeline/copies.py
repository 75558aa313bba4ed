"""What the tests of verify, mirror and report share: jobs as processes, rows that compare, records that are deleted."""

import json
from pathlib import Path

from tests.cli.processes import Ended, running
from tests.pipeline.exports import Row, on_topic
from tests.pipeline.processes import WAIT_MS
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_for_markers

JOB_BOUND_S = WAIT_MS / 1000
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"


def run_job(*arguments: str) -> Ended:
    """Run `kctl pipeline` to its end; with Spark that takes longer than other commands."""
    with running("pipeline", *arguments) as process:
        stdout, stderr = process.communicate(timeout=JOB_BOUND_S)
        return Ended(process.returncode, stdout, stderr.decode())


def committed_rows(kafka: KafkaCluster, topic: str) -> list[Row]:
    """Return what a read_committed consumer sees, by partition and offset, once no transaction is open."""
    wait_for_markers(kafka.bootstrap(), topic)
    return on_topic({**kafka.client_properties(), "isolation.level": "read_committed"}, topic)


def content(rows: list[Row]) -> list[tuple[object, ...]]:
    """Return all of the rows but where they are: partition, time, key, value, headers, in their order."""
    return [(row.partition, *row[3:]) for row in rows]


def delete_records(kafka: KafkaCluster, folder: Path, topic: str, partition: int, before: int) -> None:
    """Delete the records of a partition before an offset, with Kafka's own tool."""
    wanted = {"partitions": [{"topic": topic, "partition": partition, "offset": before}], "version": 1}
    (folder / "delete.json").write_text(json.dumps(wanted))
    file = str(folder / "delete.json")
    kafka.run_tool(DELETE_RECORDS, "--bootstrap-server", kafka.bootstrap(), "--offset-json-file", file)
