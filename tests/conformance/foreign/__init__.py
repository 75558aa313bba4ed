"""Other people's Kafka clients, each as a bounded process: produce, consume, list topics.

Owns the translation between `ForeignRecord` and each client's own ways. Knows nothing of kctl's client: what it says is
the second opinion.
"""

from tests.conformance.foreign.client import ForeignClient, ForeignClientError, Isolation
from tests.conformance.foreign.confluent import CONFLUENT
from tests.conformance.foreign.java import JAVA
from tests.conformance.foreign.kafka_python import KAFKA_PYTHON
from tests.conformance.foreign.kcat import KCAT
from tests.conformance.foreign.record import ForeignRecord, contents

EVERY_CLIENT: tuple[ForeignClient, ...] = (JAVA, KAFKA_PYTHON, CONFLUENT, KCAT)
BINARY_CLIENTS: tuple[ForeignClient, ...] = (JAVA, KAFKA_PYTHON, CONFLUENT)
"""Those that carry any key, value, header and timestamp; kcat does not."""

__all__ = [
    "BINARY_CLIENTS",
    "CONFLUENT",
    "EVERY_CLIENT",
    "JAVA",
    "KAFKA_PYTHON",
    "KCAT",
    "ForeignClient",
    "ForeignClientError",
    "ForeignRecord",
    "Isolation",
    "contents",
]
