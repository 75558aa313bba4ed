"""The twenty most pasted messages of each client lead to the page on them."""

import pytest

from kctl.cli.explanations.lookup import find_pages

OF_CLIENTS: dict[str, list[tuple[str, str]]] = {
    "librdkafka": [
        (
            "%3|1700000000.123|FAIL|rdkafka#consumer-1| [thrd:kafka:9092/bootstrap]: "
            "kafka:9092/bootstrap: Failed to resolve 'kafka:9092': Name or service not known (after 5ms"
            " in state CONNECT)",
            "fault 1",
        ),
        (
            "%3|1700000000.123|FAIL|rdkafka#producer-1| [thrd:localhost:9092/bootstrap]: "
            "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after"
            " 0ms in state CONNECT)",
            "fault 5",
        ),
        (
            "%6|1700000000.123|FAIL|rdkafka#producer-1| [thrd:ssl://a:9093/bootstrap]: "
            "ssl://a:9093/bootstrap: Disconnected while requesting ApiVersion: might be caused by "
            "incorrect security.protocol configuration (connecting to a SSL listener?) or broker "
            "version is < 0.10",
            "fault 13",
        ),
        (
            "%3|1700000000.123|FAIL|rdkafka#producer-1| [thrd:ssl://a:9092/bootstrap]: "
            "ssl://a:9092/bootstrap: SSL handshake failed: Disconnected: connecting to a PLAINTEXT "
            "broker listener? (after 5ms in state SSL_HANDSHAKE)",
            "fault 14",
        ),
        (
            "%3|1700000000.123|FAIL|rdkafka#producer-1| [thrd:ssl://a:9093/bootstrap]: "
            "ssl://a:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate "
            "verify failed: broker certificate could not be verified, verify that ssl.ca.location is "
            "correctly configured",
            "fault 22",
        ),
        (
            "%3|1700000000.123|FAIL|rdkafka#producer-1| [thrd:sasl_ssl://a:9093/bootstrap]: "
            "sasl_ssl://a:9093/bootstrap: SASL authentication error: Authentication failed: Invalid "
            "username or password (after 300ms in state AUTH_REQ)",
            "fault 27",
        ),
        (
            "%4|1700000000.123|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll "
            "interval (300000ms) exceeded by 28ms (adjust max.poll.interval.ms for long-running message"
            " processing): leaving group",
            "fault 43",
        ),
        (
            "%4|1700000000.123|REQTMOUT|rdkafka#consumer-1| [thrd:GroupCoordinator]: "
            "GroupCoordinator/1: Timed out HeartbeatRequest in flight (after 60023ms, timeout #0)",
            "exit 16",
        ),
        (
            "%5|1700000000.123|REQTMOUT|rdkafka#producer-1| [thrd:a:9092/1]: a:9092/1: Timed out "
            "ProduceRequest in flight (after 30045ms, timeout #0)",
            "exit 16",
        ),
        (
            "%3|1700000000.123|ERROR|rdkafka#consumer-1| [thrd:app]: rdkafka#consumer-1: 1/1 brokers are down",
            "fault 9",
        ),
        ('KafkaError{code=_ALL_BROKERS_DOWN,val=-187,str="3/3 brokers are down"}', "fault 9"),
        (
            'KafkaError{code=_TRANSPORT,val=-195,str="Failed to get metadata: Local: Broker transport failure"}',
            "exit 11",
        ),
        (
            "% ERROR: Failed to acquire metadata: Local: Broker transport failure (Are the brokers "
            "reachable? Also try increasing the metadata timeout with -m <timeout>?)",
            "exit 11",
        ),
        (
            'KafkaError{code=UNKNOWN_TOPIC_OR_PART,val=3,str="Subscribed topic not available: orders: '
            'Broker: Unknown topic or partition"}',
            "UNKNOWN_TOPIC_OR_PARTITION",
        ),
        ('KafkaError{code=_MSG_TIMED_OUT,val=-192,str="Local: Message timed out"}', "fault 41"),
        ("BufferError: Local: Queue full", "buffer.memory"),
        ('KafkaError{code=MSG_SIZE_TOO_LARGE,val=10,str="Broker: Message size too large"}', "MESSAGE_TOO_LARGE"),
        (
            'KafkaError{code=_MAX_POLL_EXCEEDED,val=-147,str="Application maximum poll interval '
            '(300000ms) exceeded by 459ms"}',
            "fault 43",
        ),
        (
            'KafkaError{code=TOPIC_AUTHORIZATION_FAILED,val=29,str="FindCoordinator response error: '
            'Broker: Topic authorization failed"}',
            "fault 38",
        ),
        (
            'KafkaException: KafkaError{code=_TIMED_OUT,val=-185,str="Failed to get metadata: Local: Timed out"}',
            "exit 17",
        ),
    ],
    "kafka-python": [
        ("kafka.errors.NoBrokersAvailable: NoBrokersAvailable", "fault 9"),
        (
            "kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Failed to update metadata after 60.0 secs.",
            "exit 17",
        ),
        ("ERROR:kafka.conn:DNS lookup failed for kafka:9092 (AddressFamily.AF_UNSPEC)", "fault 1"),
        (
            "ERROR:kafka.conn:Connect attempt to <BrokerConnection node_id=bootstrap-0 "
            "host=localhost:9092 <connecting> [IPv4 ('127.0.0.1', 9092)]> returned error 111. "
            "Disconnecting.",
            "fault 5",
        ),
        (
            "kafka.errors.CommitFailedError: CommitFailedError: Commit cannot be completed since the "
            "group has already rebalanced and assigned the partitions to another member.",
            "CommitFailedError",
        ),
        ("WARNING:kafka.coordinator:Heartbeat session expired, marking coordinator dead", "UNKNOWN_MEMBER_ID"),
        (
            "kafka.errors.MessageSizeTooLargeError: [Error 10] MessageSizeTooLargeError: The message is"
            " 2097231 bytes when serialized which is larger than the maximum request size you have "
            "configured with the max_request_size configuration",
            "RecordTooLargeError",
        ),
        (
            "kafka.errors.KafkaTimeoutError: KafkaTimeoutError: Batch for "
            "TopicPartition(topic='orders', partition=0) containing 1 record(s) expired: 31 seconds "
            "have passed since last attempt plus linger time",
            "fault 41",
        ),
        ("kafka.errors.UnrecognizedBrokerVersion: UnrecognizedBrokerVersion", "exit 15"),
        (
            "kafka.errors.TopicAuthorizationFailedError: [Error 29] TopicAuthorizationFailedError: {'orders'}",
            "TOPIC_AUTHORIZATION_FAILED",
        ),
        (
            "kafka.errors.GroupAuthorizationFailedError: [Error 30] GroupAuthorizationFailedError: billing",
            "GROUP_AUTHORIZATION_FAILED",
        ),
        (
            "kafka.errors.UnknownTopicOrPartitionError: [Error 3] UnknownTopicOrPartitionError",
            "UNKNOWN_TOPIC_OR_PARTITION",
        ),
        ("kafka.errors.NotLeaderForPartitionError: [Error 6] NotLeaderForPartitionError", "NOT_LEADER_OR_FOLLOWER"),
        (
            "kafka.errors.OffsetOutOfRangeError: [Error 1] OffsetOutOfRangeError: "
            "{TopicPartition(topic='orders', partition=0): 17}",
            "OFFSET_OUT_OF_RANGE",
        ),
        ("kafka.errors.NodeNotReadyError: NodeNotReadyError: coordinator-1", "fault 35"),
        (
            "kafka.errors.UnsupportedCodecError: UnsupportedCodecError: Libraries for snappy "
            "compression codec not found",
            "UnsupportedCodecError",
        ),
        (
            "kafka.errors.AuthenticationFailedError: AuthenticationFailedError: Authentication failed for user ann",
            "fault 27",
        ),
        ("kafka.errors.IllegalGenerationError: [Error 22] IllegalGenerationError: billing", "ILLEGAL_GENERATION"),
        (
            "kafka.errors.RebalanceInProgressError: [Error 27] RebalanceInProgressError: billing",
            "REBALANCE_IN_PROGRESS",
        ),
        (
            "ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: "
            "unable to get local issuer certificate (_ssl.c:1006)",
            "fault 22",
        ),
    ],
    "aiokafka": [
        (
            "aiokafka.errors.KafkaConnectionError: KafkaConnectionError: Unable to bootstrap from "
            "[('localhost', 9092, <AddressFamily.AF_UNSPEC: 0>)]",
            "fault 9",
        ),
        ("Unable connect to \"localhost:9092\": [Errno 111] Connect call failed ('127.0.0.1', 9092)", "fault 5"),
        ("Unable connect to node with id 1: [Errno -2] Name or service not known", "fault 1"),
        ("Unable connect to node with id 1: [Errno -3] Temporary failure in name resolution", "fault 2"),
        ("aiokafka.errors.KafkaTimeoutError: KafkaTimeoutError", "KafkaTimeoutError"),
        ("aiokafka.errors.RequestTimedOutError: [Error 7] RequestTimedOutError", "REQUEST_TIMED_OUT"),
        (
            "aiokafka.errors.CommitFailedError: CommitFailedError: Commit cannot be completed since the"
            " group has already rebalanced and assigned the partitions to another member.",
            "CommitFailedError",
        ),
        ("Heartbeat failed for group billing because it is rebalancing", "REBALANCE_IN_PROGRESS"),
        ("Heartbeat failed: local member_id was not recognized; resetting and re-joining group", "UNKNOWN_MEMBER_ID"),
        (
            "aiokafka.errors.GroupCoordinatorNotAvailableError: [Error 15] GroupCoordinatorNotAvailableError",
            "COORDINATOR_NOT_AVAILABLE",
        ),
        ("Failed fetch messages from 1: [Error 7] RequestTimedOutError", "REQUEST_TIMED_OUT"),
        ("Topic orders not found in cluster metadata", "UNKNOWN_TOPIC_OR_PARTITION"),
        (
            "aiokafka.errors.ProducerFenced: ProducerFenced: There is a newer producer using the same "
            "transactional_id or transaction timeout occurred (check that processing time is below "
            "transaction_timeout_ms)",
            "fault 53",
        ),
        ("aiokafka.errors.ConsumerStoppedError: ConsumerStoppedError", "IllegalStateError"),
        ("aiokafka.errors.UnsupportedVersionError: UnsupportedVersionError", "UnsupportedVersionError"),
        (
            'aiokafka.errors.RecordTooLargeError: ("There are some messages at [Partition=Offset]: '
            "{TopicPartition(topic='orders', partition=0): 12} whose size is larger than the fetch size"
            " 1048576 and hence cannot be ever returned.",
            "RecordTooLargeError",
        ),
        (
            "aiokafka.errors.NoOffsetForPartitionError: NoOffsetForPartitionError: "
            "TopicPartition(topic='orders', partition=0)",
            "fault 52",
        ),
        (
            "aiokafka.errors.TopicAuthorizationFailedError: [Error 29] TopicAuthorizationFailedError: orders",
            "TOPIC_AUTHORIZATION_FAILED",
        ),
        ("aiokafka.errors.NotEnoughReplicasError: [Error 19] NotEnoughReplicasError", "NOT_ENOUGH_REPLICAS"),
        ("asyncio.exceptions.IncompleteReadError: 0 bytes read on a total of 4 expected bytes", "fault 12"),
    ],
    "franz-go": [
        ("unable to dial: dial tcp: lookup kafka on 10.96.0.10:53: no such host", "fault 1"),
        ("unable to open connection to broker: dial tcp 127.0.0.1:9092: connect: connection refused", "fault 5"),
        ("unable to dial: dial tcp 10.0.0.9:9092: i/o timeout", "fault 7"),
        (
            "broker closed the connection immediately after a dial, which happens if the client is "
            "using TLS when the broker is not expecting it: is TLS misconfigured? EOF",
            "fault 14",
        ),
        ("unable to dial: tls: first record does not look like a TLS handshake", "fault 14"),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", "fault 22"),
        ("x509: certificate is valid for kafka-1, not kafka-2", "fault 21"),
        (
            "x509: certificate has expired or is not yet valid: current time 2026-02-01T00:00:00Z is "
            "after 2026-01-31T00:00:00Z",
            "fault 19",
        ),
        ("SASL_AUTHENTICATION_FAILED: SASL Authentication failed.", "SASL_AUTHENTICATION_FAILED"),
        ("UNKNOWN_TOPIC_OR_PARTITION: This server does not host this topic-partition.", "UNKNOWN_TOPIC_OR_PARTITION"),
        ("records have timed out before they were able to be produced", "fault 41"),
        (
            "the internal broker struct chosen to issue this request has died--either the broker id is "
            "migrating or no longer exists",
            "fault 12",
        ),
        (
            "invalid large response size 1213486160 > limit 104857600; the four size bytes are 48545450"
            ' in ASCII "HTTP"; is a plaintext HTTP server listening',
            "fault 15",
        ),
        ("NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.", "NOT_LEADER_OR_FOLLOWER"),
        (
            "MESSAGE_TOO_LARGE: The request included a message larger than the max message size the "
            "server will accept.",
            "MESSAGE_TOO_LARGE",
        ),
        ("TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: [Topic authorization failed.]", "fault 38"),
        (
            "unable to join group session: unable to find coordinator: COORDINATOR_NOT_AVAILABLE: The "
            "coordinator is not available.",
            "COORDINATOR_NOT_AVAILABLE",
        ),
        (
            "topic orders partition 0 lost records; the client consumed to offset 10 but was reset to offset 5",
            "fault 51",
        ),
        (
            "unable to initialize a producer id due to errors: CLUSTER_AUTHORIZATION_FAILED: Cluster "
            "authorization failed.",
            "CLUSTER_AUTHORIZATION_FAILED",
        ),
        ("read tcp 10.0.0.1:51234->10.0.0.9:9092: read: connection reset by peer", "fault 12"),
    ],
    "sarama": [
        (
            "kafka: client has run out of available brokers to talk to: dial tcp 127.0.0.1:9092: "
            "connect: connection refused",
            "fault 5",
        ),
        ("kafka: client has run out of available brokers to talk to (Is your cluster reachable?)", "fault 9"),
        (
            "kafka: client has run out of available brokers to talk to: dial tcp: lookup kafka: no such host",
            "fault 1",
        ),
        ("kafka: client has run out of available brokers to talk to: EOF", "fault 11"),
        (
            "kafka: client has run out of available brokers to talk to: dial tcp 10.0.0.9:9092: i/o timeout",
            "fault 7",
        ),
        (
            "kafka server: Request was for a topic or partition that does not exist on this broker",
            "UNKNOWN_TOPIC_OR_PARTITION",
        ),
        (
            "kafka server: In the middle of a leadership election, there is currently no leader for "
            "this partition and hence it is unavailable for writes",
            "fault 36",
        ),
        (
            "kafka server: Tried to send a message to a replica that is not the leader for some "
            "partition. Your metadata is out of date",
            "NOT_LEADER_OR_FOLLOWER",
        ),
        ("kafka server: Message was too large, server rejected it to avoid allocation error", "MESSAGE_TOO_LARGE"),
        (
            "kafka server: The requested offset is outside the range of offsets maintained by the "
            "server for the given topic/partition",
            "OFFSET_OUT_OF_RANGE",
        ),
        ("kafka server: The provided member is not known in the current generation", "UNKNOWN_MEMBER_ID"),
        ("kafka server: A rebalance for the group is in progress. Please re-join the group", "REBALANCE_IN_PROGRESS"),
        ("kafka server: Request was for a consumer group that is not coordinated by this broker", "NOT_COORDINATOR"),
        (
            "kafka server: Messages are rejected since there are fewer in-sync replicas than required",
            "NOT_ENOUGH_REPLICAS",
        ),
        ("kafka server: The client is not authorized to access this topic", "fault 38"),
        ("kafka server: The client is not authorized to access this group", "fault 38"),
        ("kafka server: SASL Authentication failed", "SASL_AUTHENTICATION_FAILED"),
        (
            "kafka: error while consuming orders/0: kafka: response did not contain all the expected "
            "topic/partition blocks",
            "NOT_LEADER_OR_FOLLOWER",
        ),
        ("kafka: broker not connected", "fault 12"),
        (
            "kafka: Failed to produce message to topic orders: kafka server: Request exceeded the "
            "user-specified time limit in the request",
            "REQUEST_TIMED_OUT",
        ),
    ],
    "java": [
        (
            "org.apache.kafka.common.errors.TimeoutException: Topic orders not present in metadata after 60000 ms.",
            "UNKNOWN_TOPIC_OR_PARTITION",
        ),
        (
            "[AdminClient clientId=adminclient-1] Connection to node -1 (localhost/127.0.0.1:9092) "
            "could not be established. Node may not be available.",
            "fault 5",
        ),
        ("Bootstrap broker localhost:9092 (id: -1 rack: null) disconnected", "fault 11"),
        (
            "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers",
            "fault 1",
        ),
        (
            "Error connecting to node kafka-1:9092 (id: 1 rack: null) java.net.UnknownHostException: kafka-1",
            "fault 29",
        ),
        (
            "java.lang.OutOfMemoryError: Java heap space at "
            "org.apache.kafka.common.memory.MemoryPool$1.tryAllocate at "
            "org.apache.kafka.common.network.NetworkReceive.readFrom",
            "fault 13",
        ),
        (
            'Exception in thread "kafka-admin-client-thread" java.lang.OutOfMemoryError: Java heap '
            "space at org.apache.kafka.common.network.BoundedByteBufferReceive",
            "fault 13",
        ),
        (
            "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed Caused by:"
            " javax.net.ssl.SSLHandshakeException: PKIX path building failed: unable to find valid "
            "certification path to requested target",
            "fault 22",
        ),
        (
            "javax.net.ssl.SSLHandshakeException: No subject alternative names matching IP address 10.0.0.9 found",
            "fault 21",
        ),
        (
            "org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed: Invalid"
            " username or password",
            "fault 27",
        ),
        (
            "Connection to node -1 (a/10.0.0.9:9093) terminated during authentication. This may happen "
            "due to any of the following reasons: (1) Authentication failed due to invalid credentials",
            "fault 25",
        ),
        (
            "org.apache.kafka.common.network.InvalidReceiveException: Invalid receive (size = 369296128"
            " larger than 104857600)",
            "fault 17",
        ),
        (
            "org.apache.kafka.common.errors.TimeoutException: Expiring 3 record(s) for orders-0:120001 "
            "ms has passed since batch creation",
            "fault 41",
        ),
        (
            "org.apache.kafka.common.errors.RecordTooLargeException: The message is 2097230 bytes when "
            "serialized which is larger than 1048576, which is the value of the max.request.size "
            "configuration.",
            "RecordTooLargeError",
        ),
        (
            "org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be completed"
            " since the consumer is not part of an active group for auto partition assignment; it is "
            "likely that the consumer was kicked out of the group.",
            "CommitFailedError",
        ),
        (
            "[Consumer clientId=c, groupId=g] consumer poll timeout has expired. This means the time "
            "between subsequent calls to poll() was longer than the configured max.poll.interval.ms",
            "fault 43",
        ),
        (
            "org.apache.kafka.common.errors.NotEnoughReplicasException: Messages are rejected since "
            "there are fewer in-sync replicas than required.",
            "NOT_ENOUGH_REPLICAS",
        ),
        (
            "org.apache.kafka.common.errors.ProducerFencedException: There is a newer producer with the"
            " same transactionalId which fences the current one.",
            "fault 53",
        ),
        (
            "org.apache.kafka.common.errors.UnknownProducerIdException: This exception is raised by the"
            " broker if it could not locate the producer metadata associated with the producerId in "
            "question.",
            "UNKNOWN_PRODUCER_ID",
        ),
        (
            "org.apache.kafka.clients.consumer.NoOffsetForPartitionException: Undefined offset with no "
            "reset policy for partitions: [orders-0]",
            "fault 52",
        ),
    ],
}
"""Messages by client, and the name of the page."""
LINES = [(client, line, name) for client, lines in OF_CLIENTS.items() for line, name in lines]


@pytest.mark.parametrize(("client", "line", "name"), LINES, ids=[f"{client}-{line[:40]}" for client, line, _ in LINES])
def test_message_of_a_client_leads_to_its_page(client: str, line: str, name: str) -> None:
    named = find_pages(name)
    assert len(named) == 1, name
    assert find_pages(line) == named, client


def test_each_client_has_twenty_messages() -> None:
    assert set(OF_CLIENTS) == {"librdkafka", "kafka-python", "aiokafka", "franz-go", "sarama", "java"}
    assert all(len({line for line, _ in lines}) >= 20 for lines in OF_CLIENTS.values())


@pytest.mark.parametrize("line", [line for _, line, _ in LINES])
def test_page_of_a_message_is_not_about_the_number_of_its_exit_code(line: str) -> None:
    assert all("is also the broker error code" not in page.also for page in find_pages(line))


def test_page_of_a_typed_number_is_about_both_meanings() -> None:
    assert "kctl explain STALE_CONTROLLER_EPOCH" in find_pages("11")[0].also
    assert find_pages("exit 11")[0].also == ""
