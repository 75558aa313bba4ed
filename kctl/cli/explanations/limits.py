"""Timeouts of clients, each with its owner, scope and test."""

from typing import NamedTuple

from kctl.cli.options import DEFAULT_CLOSE_MS
from kctl.client.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig
from kctl.grammar.durations import show_duration


class Limit(NamedTuple):
    """Timeout of a client.

    Attributes:
        name: property, or method argument.
        kind: config class with the property; None for an argument.
        flag: command-line option, or empty.
        owner: `module.Class` that enforces the timeout.
        covers: what must end within the timeout.
        default: default of an argument.
        only: kind of client that has the argument; empty for every client.
    """

    name: str
    kind: type[ClientConfig] | None
    flag: str
    owner: str
    covers: str
    test: str
    default: str = ""
    only: str = ""

    @property
    def client(self) -> str:
        """Return the kind of client that has the timeout, or "every"."""
        if self.kind is None:
            return self.only or "every"
        return "every" if self.kind.KIND == "client" else self.kind.KIND

    @property
    def default_text(self) -> str:
        if self.kind is None:
            return self.default
        default: int = self.kind.PROPERTIES[self.name].default
        return show_duration(default) if default >= 0 else f"none ({default})"


_SIM = "tests/sim"
_NETWORK = "kctl.client.network"

LIMITS = (
    Limit(
        "default.api.timeout.ms",
        ConsumerConfig,
        "--api-timeout",
        "kctl.client.loop.mailbox.Mailbox",
        "Maximum time of a blocking consumer call, including lookups, connections, requests, and waits.",
        f"{_SIM}/consumer/test_deadlines.py::test_a_call_ends_on_its_deadline_with_every_node_broken",
    ),
    Limit(
        "default.api.timeout.ms",
        AdminConfig,
        "--api-timeout",
        "kctl.client.admin.call.Call",
        "Maximum time of an admin call, including retries and waits. In commands such as kctl topics and kctl "
        "groups, it covers all requests of the command.",
        f"{_SIM}/admin/test_admin.py::test_every_call_ends_at_its_deadline_and_says_where_the_time_went",
    ),
    Limit(
        "max.block.ms",
        ProducerConfig,
        "--api-timeout",
        "kctl.client.producer.producer.Producer",
        "Maximum time of a blocking producer call: send() until the record is accepted, and partitions_for().",
        f"{_SIM}/producer/test_limits.py::test_send_blocks_for_metadata_at_most_max_block_ms",
    ),
    Limit(
        "socket.connection.setup.timeout.ms",
        ClientConfig,
        "--connect-timeout",
        f"{_NETWORK}.cluster_connection_states.ClusterConnectionStates",
        "Maximum time to connect to a broker: DNS, TCP, TLS, ApiVersions, and SASL together, without jitter. If "
        "it is set without socket.connection.setup.timeout.max.ms, it applies to every attempt. Otherwise, it "
        "doubles with each failed attempt to a broker. It never exceeds the API timeout. connections.timeout.ms "
        "is an alias.",
        f"{_SIM}/network/test_connect_limit.py::test_a_connect_timeout_given_alone_is_the_limit_of_every_attempt",
    ),
    Limit(
        "socket.connection.setup.timeout.max.ms",
        ClientConfig,
        "",
        f"{_NETWORK}.cluster_connection_states.ClusterConnectionStates",
        "Maximum of the connect timeout, which grows with failed attempts.",
        f"{_SIM}/network/test_connect_limit.py::"
        "test_the_limit_doubles_per_failed_attempt_up_to_its_max_and_starts_afresh_after_a_success",
    ),
    Limit(
        "request.timeout.ms",
        ClientConfig,
        "--request-timeout",
        f"{_NETWORK}.connection.Connection",
        "Maximum time of a request, from sending to the response, including requests while connecting (ApiVersions, "
        "SASL). If the call has less time left, the remaining time applies. A request that times out closes its "
        "connection. If a call ends before the response to a lookup, the connection stays open until "
        "request.timeout.ms. The value also sets TCP_USER_TIMEOUT. JoinGroup requests have a longer timeout: "
        "max.poll.interval.ms plus 5s.",
        f"{_SIM}/network/test_requests.py::test_a_request_expires_on_its_millisecond_and_takes_its_connection_along",
    ),
    Limit(
        "delivery.timeout.ms",
        ProducerConfig,
        "--delivery-timeout",
        "kctl.client.producer.batch_expiry.BatchExpiry",
        "Maximum time of a record from send() to its acknowledgment, including batching, attempts, and waits "
        "between attempts. In `kctl produce`, the default is --api-timeout.",
        f"{_SIM}/producer/test_delivery.py::test_records_expire_each_at_its_own_deadline",
    ),
    Limit(
        "close(timeout)",
        None,
        "--close-timeout",
        "kctl.client.consumer.consumer.Consumer",
        "Maximum time to close a consumer: automatic commit, LeaveGroup, and closing connections. "
        "request.timeout.ms also limits each request.",
        f"{_SIM}/groups/test_close.py::test_the_default_is_30_seconds",
        show_duration(DEFAULT_CLOSE_MS),
        "consumer",
    ),
    Limit(
        "close(timeout)",
        None,
        "--close-timeout",
        "kctl.client.producer.sender.Sender",
        "Maximum time to close a producer. Records that are not delivered within this time fail. In "
        "`kctl produce`, a timeout that you set starts at the end of the input.",
        f"{_SIM}/producer/test_limits.py::test_close_ends_at_its_timeout_and_every_future_with_a_cause",
        f"none: each record has its own timeout ({show_duration(DEFAULT_CLOSE_MS)} with kctl)",
        "producer",
    ),
    Limit(
        "close()",
        None,
        "",
        "kctl.client.admin.admin.Admin",
        "An admin client has no thread and nothing to deliver, so it closes its connections immediately. close() "
        "has no timeout.",
        f"{_SIM}/admin/test_admin.py::test_a_closed_admin_refuses_and_closes_again",
        "none: close() returns immediately",
        "admin",
    ),
    Limit(
        "flush(timeout)",
        None,
        "",
        "kctl.client.producer.delivery_tracker.DeliveryTracker",
        "Maximum time to deliver all records that were sent before the call.",
        f"{_SIM}/producer/test_limits.py::test_flush_ends_at_its_timeout_with_the_count",
        "none: each record has its own timeout",
        "producer",
    ),
    Limit(
        "result(timeout)",
        None,
        "",
        "kctl.client.producer.future.SendFuture",
        "Maximum time to wait for the delivery of a record. The producer still sends the record after this time.",
        f"{_SIM}/producer/test_limits.py::test_result_waits_as_long_as_it_is_told",
        "none: the record has its own timeout",
        "producer",
    ),
    Limit(
        "poll(timeout)",
        None,
        "",
        "kctl.client.consumer.consumer.Consumer",
        "Maximum time to wait for records. An empty result is not an error.",
        f"{_SIM}/consumer/test_deadlines.py::test_an_idle_consumer_does_not_spin",
        show_duration(ConsumerConfig.default_api_timeout_ms.default),
        "consumer",
    ),
    Limit(
        "connections.max.idle.ms",
        ClientConfig,
        "",
        f"{_NETWORK}.idle_expiry.IdleExpiryManager",
        "Idle connections are closed after this time. This is not a failure.",
        f"{_SIM}/network/test_requests.py::test_idle_connections_are_closed_all_in_one_poll_and_used_ones_stay",
    ),
    Limit(
        "connections.max.idle.ms",
        AdminConfig,
        "",
        f"{_NETWORK}.idle_expiry.IdleExpiryManager",
        "Idle connections of an admin client are closed after this time. This is not a failure.",
        "tests/unit/network/test_idle_expiry.py::test_idle_channels_go_least_recently_used_first_and_all_at_once",
    ),
    Limit(
        "bootstrap.refused.timeout.ms",
        ClientConfig,
        "--fail-fast",
        f"{_NETWORK}.refusals.BootstrapRefusal",
        "Maximum time that a client without connections retries while all bootstrap servers refuse connections or do "
        "not resolve. The timeout also limits retries of advertised names that do not resolve. Servers with another "
        "security protocol fail the call after two attempts. -1 retries until the call times out. `kctl` sets 5s for "
        "commands that do not follow new records.",
        f"{_SIM}/network/test_refused_bootstrap.py::test_consumer_fails_after_the_timeout_and_again_in_the_next_call",
    ),
    Limit(
        "bootstrap.attempt.delay.ms",
        ClientConfig,
        "",
        f"{_NETWORK}.races.CandidateRace",
        "Time after which the client also tries the next bootstrap server, or the next address of a name. If a "
        "broker does not respond within this time, the client tries a second connection to the broker in parallel.",
        f"{_SIM}/network/test_races.py::test_one_living_node_among_dead_ones_answers_soon",
    ),
    Limit(
        "reconnect.backoff.ms",
        ClientConfig,
        "",
        f"{_NETWORK}.cluster_connection_states.ClusterConnectionStates",
        "Wait before reconnecting to a broker after a failure. It doubles with each failure, with 20% jitter.",
        f"{_SIM}/network/test_connect_limit.py::test_a_refused_node_is_dialled_again_after_the_back_off_only",
    ),
    Limit(
        "reconnect.backoff.max.ms",
        ClientConfig,
        "",
        f"{_NETWORK}.cluster_connection_states.ClusterConnectionStates",
        "Maximum wait before reconnecting to a broker. After a refused connection, the wait doubles up to 10s.",
        "tests/unit/test_backoff.py::test_never_above_the_maximum_however_many_attempts",
    ),
    Limit(
        "retry.backoff.ms",
        ClientConfig,
        "",
        "kctl.client.backoff.ExponentialBackoff",
        "Wait before a failed request is retried. It doubles with each failure, with 20% jitter.",
        "tests/unit/test_backoff.py::test_kafkas_table_of_retry_backoffs",
    ),
    Limit(
        "retry.backoff.max.ms",
        ClientConfig,
        "",
        "kctl.client.backoff.ExponentialBackoff",
        "Maximum wait before a failed request is retried.",
        "tests/unit/test_backoff.py::test_never_above_the_maximum_however_many_attempts",
    ),
    Limit(
        "metadata.max.age.ms",
        ClientConfig,
        "",
        "kctl.client.metadata.Metadata",
        "Maximum age of metadata. Older metadata is refreshed.",
        "tests/unit/test_metadata.py::test_everything_of_interest_is_refreshed_when_it_is_too_old",
    ),
    Limit(
        "metadata.recovery.rebootstrap.trigger.ms",
        ClientConfig,
        "",
        "kctl.client.metadata_updater.MetadataUpdater",
        "If metadata refreshes fail for this time, the client connects to its bootstrap servers again.",
        "tests/unit/test_metadata_updater.py::test_rebootstrap_after_the_trigger_counted_from_the_first_failed_refresh",
    ),
    Limit(
        "linger.ms",
        ProducerConfig,
        "",
        "kctl.client.producer.accumulator.Accumulator",
        "Maximum time that a batch waits for more records. It counts toward the delivery timeout.",
        "tests/unit/producer/test_accumulator.py::test_a_batch_is_due_after_linger_or_when_it_is_full",
    ),
)
