"""kafka-python, run as kafka_python_exchange.py."""

from tests.conformance.foreign.python_client import python_client

KAFKA_PYTHON = python_client(
    "kafka-python", "kafka", "tests.conformance.foreign.kafka_python_exchange", sends_null_headers=False
)
