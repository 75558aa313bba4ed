"""confluent-kafka (librdkafka), run as confluent_exchange.py.

`produce` also takes `transactional.id` (one transaction for all) and `exchange.abort=true` (which is then aborted).
"""

from tests.conformance.foreign.python_client import python_client

CONFLUENT = python_client("confluent-kafka", "confluent_kafka", "tests.conformance.foreign.confluent_exchange")
