"""The Java client, run as tests/conformance/java/RecordExchange.java.

`produce` also takes `transactional.id` (one transaction for all) and `exchange.abort=true` (which is then aborted).
"""

from functools import partial
from pathlib import Path

from tests.conformance.foreign.client import ExchangeClient
from tests.support.kafka.toolchain import NEWEST_KAFKA, compiled_class_path, java_command

SOURCE = Path(__file__).parents[1] / "java" / "RecordExchange.java"


def java_client(version: str = NEWEST_KAFKA) -> ExchangeClient:
    """Return Apache Kafka's own client of this version."""
    return ExchangeClient(f"java-{version}", partial(_command, version))


def _command(version: str) -> list[str]:
    return java_command(compiled_class_path(SOURCE, version), "RecordExchange")


JAVA = java_client()
