"""kafka-python: a new `KafkaAdminClient` under `bootstrap_timeout_ms`; it has no limit of its own for a connection."""

from kafka import KafkaAdminClient

from benchmarks.peers.measuring import parse, report

options = parse()
config: dict[str, object] = {"bootstrap_servers": options.servers, "security_protocol": options.security}
if options.security.startswith("SASL"):
    config |= {"sasl_mechanism": "PLAIN", "sasl_plain_username": "alice", "sasl_plain_password": "wrong"}


def attempt() -> None:
    client = KafkaAdminClient(
        **config, bootstrap_timeout_ms=options.limit_ms, request_timeout_ms=options.limit_ms, client_id="bench"
    )
    client.list_topics()
    client.close()


if __name__ == "__main__":
    report(attempt, options.runs)
