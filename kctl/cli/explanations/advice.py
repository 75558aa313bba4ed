"""Advice for client errors, and for broker errors that are not in BROKER_CAUSES.

Each error has its own advice, because errors with the same exit code have different fixes.
"""

from kctl.cli.explanations.broker_causes import BROKER_CAUSES

HINTED = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PARTITION",
        "TOPIC_ALREADY_EXISTS",
        "INVALID_TOPIC_EXCEPTION",
        "GROUP_ID_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "BROKER_ID_NOT_REGISTERED",
        "SECURITY_DISABLED",
        "MESSAGE_TOO_LARGE",
        "INVALID_TIMESTAMP",
        "LEADER_NOT_AVAILABLE",
        "PRODUCER_FENCED",
        "COORDINATOR_NOT_AVAILABLE",
    }
)
"""Broker errors whose hint is the advice of `kctl explain`."""

BROKER_ADVICE: dict[str, str] = {
    "INVALID_FETCH_SIZE": "Set fetch.max.bytes and max.partition.fetch.bytes of the consumer to 0 or more.",
    "STALE_CONTROLLER_EPOCH": (
        "Wait for the new controller: the request came from a former one. Check kctl cluster quorum."
    ),
    "OFFSET_METADATA_TOO_LARGE": (
        "Shorten the metadata of the commit, or raise offset.metadata.max.bytes of the brokers."
    ),
    "NETWORK_EXCEPTION": "Check the network between brokers, and the log of the broker that responded.",
    "INCONSISTENT_GROUP_PROTOCOL": (
        "Give all members a common assignor in partition.assignment.strategy. Do not mix consumers with Kafka "
        "Connect or "
        "other group types under one group.id."
    ),
    "INVALID_COMMIT_OFFSET_SIZE": "Commit fewer partitions in a call, or shorten the metadata of the commit.",
    "DUPLICATE_SEQUENCE_NUMBER": "No action: the broker has the records already.",
    "INVALID_TXN_STATE": "Close the producer and open a new one: begin, send and commit came in an impossible order.",
    "INVALID_PRODUCER_ID_MAPPING": (
        "Close the producer and open a new one: the broker has another id for this transactional.id."
    ),
    "CONCURRENT_TRANSACTIONS": (
        "Wait and retry: the coordinator still ends the previous transaction of this transactional.id."
    ),
    "TRANSACTION_COORDINATOR_FENCED": "Retry: another broker has become the coordinator of the transaction.",
    "OPERATION_NOT_ATTEMPTED": "Fix the other errors of the same request, and send it again.",
    "LOG_DIR_NOT_FOUND": "List the log directories of the broker with: kctl brokers log-dirs",
    "UNKNOWN_PRODUCER_ID": (
        "The broker no longer has the state of this producer: restart the producer. If this repeats, raise "
        "producer.id.expiration.ms, transactional.id.expiration.ms, or retention.ms."
    ),
    "REASSIGNMENT_IN_PROGRESS": "Wait until the reassignment ends, or cancel it. Check it with: kctl partitions list",
    "DELEGATION_TOKEN_AUTH_DISABLED": (
        "Set delegation.token.secret.key on all brokers and controllers, and restart them."
    ),
    "DELEGATION_TOKEN_NOT_FOUND": "Create a new delegation token: this one has expired or was removed.",
    "DELEGATION_TOKEN_OWNER_MISMATCH": "Use the login of the owner or of a renewer of the delegation token.",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "Log in with SASL or a client certificate, not with a delegation token.",
    "DELEGATION_TOKEN_EXPIRED": "Create a new delegation token, and renew it before it expires.",
    "FETCH_SESSION_ID_NOT_FOUND": (
        "No action: the client opens a new fetch session. Raise the broker's "
        "max.incremental.fetch.session.cache.slots if it recurs."
    ),
    "INVALID_FETCH_SESSION_EPOCH": "No action: the client opens a new fetch session.",
    "LISTENER_NOT_FOUND": (
        "Give the leader a listener with the name that this client uses: compare listeners of all brokers."
    ),
    "TOPIC_DELETION_DISABLED": "Set delete.topic.enable=true on the brokers and controllers, and restart them.",
    "STALE_BROKER_EPOCH": "Check whether two brokers use the same broker id.",
    "MEMBER_ID_REQUIRED": "No action: the client joins again with the member id of the response.",
    "ELECTION_NOT_NEEDED": "No action: the preferred replica is the leader.",
    "UNSTABLE_OFFSET_COMMIT": "Wait until the open transaction ends. Find it with: kctl transactions list",
    "INCONSISTENT_VOTER_SET": "Compare controller.quorum.voters of all controllers and brokers.",
    "INVALID_UPDATE_VERSION": (
        "Check that all brokers support the version: kctl cluster describe shows features and their levels."
    ),
    "FEATURE_UPDATE_FAILED": "Read the log of the active controller. kctl cluster quorum shows which node that is.",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "Use one principal.builder.class on all brokers and controllers.",
    "SNAPSHOT_NOT_FOUND": ("Check the log of the active controller: a replica fetches a deleted metadata snapshot."),
    "POSITION_OUT_OF_RANGE": "Check the disk of the replica that fetches a metadata snapshot, and restart it.",
    "DUPLICATE_BROKER_REGISTRATION": "Give each broker its own node.id.",
    "INCONSISTENT_TOPIC_ID": (
        "Retry: the topic was deleted and created again. Restart the broker if the error persists."
    ),
    "FETCH_SESSION_TOPIC_ID_ERROR": "No action: the client opens a new fetch session.",
    "INELIGIBLE_REPLICA": "Wait until the broker is no longer fenced or shutting down. Check kctl cluster describe.",
    "NEW_LEADER_ELECTED": "Retry: the change made another broker the leader.",
    "OFFSET_MOVED_TO_TIERED_STORAGE": (
        "Check remote.log.storage.system.enable of all replicas: the offset is in tiered storage."
    ),
    "FENCED_MEMBER_EPOCH": (
        "No action: the member joins again. Check its session if it recurs: kctl groups members GROUP"
    ),
    "UNSUPPORTED_ASSIGNOR": (
        "Set group.remote.assignor of the consumer to an assignor in group.consumer.assignors of the brokers."
    ),
    "STALE_MEMBER_EPOCH": "No action: the client commits again with the current member epoch.",
    "UNKNOWN_CONTROLLER_ID": "Use the id of a registered controller: kctl cluster quorum lists them.",
    "UNKNOWN_SUBSCRIPTION_ID": "No action: the client fetches a new telemetry subscription.",
    "TELEMETRY_TOO_LARGE": "Subscribe to fewer metrics, or raise telemetry.max.bytes of the brokers.",
    "INVALID_REGISTRATION": "Compare the listeners and features of the node with the controllers' log.",
    "TRANSACTION_ABORTABLE": "Abort the transaction and send its records again.",
    "INVALID_RECORD_STATE": "No action: another member has the record of the share group, or its lock has expired.",
    "SHARE_SESSION_NOT_FOUND": "No action: the client opens a new share session.",
    "INVALID_SHARE_SESSION_EPOCH": "No action: the client opens a new share session.",
    "FENCED_STATE_EPOCH": "Retry: another broker has become the coordinator of the share group.",
    "INVALID_VOTER_KEY": "Compare the directory id and endpoints of the voter with: kctl cluster quorum",
    "DUPLICATE_VOTER": "No action: the controller is a voter. Check kctl cluster quorum.",
    "VOTER_NOT_FOUND": "List the voters with: kctl cluster quorum",
    "REBOOTSTRAP_REQUIRED": (
        "The client reconnects automatically. If this repeats, check that bootstrap.servers is up to date."
    ),
    "STREAMS_INVALID_TOPOLOGY": "Check that all members of the streams group run the same application version.",
    "STREAMS_INVALID_TOPOLOGY_EPOCH": "Check that all members of the streams group run the same application version.",
    "STREAMS_TOPOLOGY_FENCED": "Restart this member with the newer version of the streams application.",
    "SHARE_SESSION_LIMIT_REACHED": "Close share consumers, or raise group.share.max.share.sessions of the brokers.",
    "CORRUPT_MESSAGE": "Check the disk of the leader and of its replicas: a checksum of a batch is wrong.",
    "RECORD_LIST_TOO_LARGE": "Lower batch.size of the producer, or raise segment.bytes of the topic.",
    "INVALID_TIMESTAMP": (
        "Check the clock of the producer. message.timestamp.before.max.ms and message.timestamp.after.max.ms set "
        "the range "
        "that the topic accepts."
    ),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": (
        "Raise message.format.version of the topic: the request needs a newer record format."
    ),
    "UNSUPPORTED_COMPRESSION_TYPE": "Use another compression.type: this broker does not support the codec.",
    "INVALID_RECORD": "Give each record a key: compacted topics reject records without one.",
    "BROKER_NOT_AVAILABLE": "Find out which brokers run with: kctl cluster describe",
    "REPLICA_NOT_AVAILABLE": "Find out which replicas are offline with: kctl topics describe TOPIC",
    "FENCED_LEADER_EPOCH": "No action: the client fetches newer metadata. Check kctl probe if the error persists.",
    "UNKNOWN_LEADER_EPOCH": "No action: the broker reads newer metadata. Check kctl probe if the error persists.",
    "PREFERRED_LEADER_NOT_AVAILABLE": "Start the broker of the first replica and wait until it is in sync.",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": (
        "Start a broker with a replica in sync. kctl partitions elect --unclean elects another replica and loses "
        "records."
    ),
    "NO_REASSIGNMENT_IN_PROGRESS": "No action: the partition is not being moved. Check it with: kctl partitions list",
    "GROUP_SUBSCRIBED_TO_TOPIC": "Stop the members that read the topic, then delete its offsets.",
    "INVALID_REQUIRED_ACKS": "Set acks to all, 1 or 0.",
    "INVALID_GROUP_ID": "Set group.id to a name that is not empty.",
    "INVALID_SESSION_TIMEOUT": (
        "Set session.timeout.ms between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers."
    ),
    "INVALID_PARTITIONS": "Set the number of partitions to 1 or more. Topics can get more partitions, not fewer.",
    "INVALID_REPLICA_ASSIGNMENT": (
        "Name registered brokers, each once for a partition: kctl cluster describe lists them."
    ),
    "INVALID_CONFIG": "Read the message for the name and the valid values: kctl explain CONFIG describes the config.",
    "INVALID_REQUEST": (
        "Check the values of the request. For kctl api, compare the fields with the protocol of the broker's version."
    ),
    "INVALID_TRANSACTION_TIMEOUT": "Lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers.",
    "SECURITY_DISABLED": "Set authorizer.class.name of all brokers and controllers, and restart them.",
    "INVALID_PRINCIPAL_TYPE": "Write the principal as User:NAME.",
    "DUPLICATE_RESOURCE": "Name each resource once in a request.",
    "UNACCEPTABLE_CREDENTIAL": "Use 4096 to 16384 iterations and a password that is not empty.",
    "INVALID_REGULAR_EXPRESSION": (
        "Write the pattern in the syntax of RE2: it has no back-references and no look-around."
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
        "Add an ACL with: kctl acls create --allow PRINCIPAL --operation write --transactional-id ID"
    ),
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": (
        "Use the login of the owner, or add the operation describe on the delegation token."
    ),
    "RESOURCE_NOT_FOUND": "Check the name. List users with kctl users list, and quotas with kctl quotas list.",
    "UNKNOWN_TOPIC_ID": "Retry: the topic was deleted, or the broker has not read its metadata.",
    "BROKER_ID_NOT_REGISTERED": "List registered brokers with: kctl cluster describe",
    "TRANSACTIONAL_ID_NOT_FOUND": "List transactional ids with: kctl transactions list",
    "UNRELEASED_INSTANCE_ID": "Stop the other process with this group.instance.id, or wait for its session timeout.",
    "MISMATCHED_ENDPOINT_TYPE": (
        "Connect to a broker listener for broker requests, and to a controller listener for controllers."
    ),
    "UNSUPPORTED_ENDPOINT_TYPE": "Use a broker that supports requests about controllers: Kafka 3.7 or newer.",
}

_CERTIFICATE = "Check that ssl.truststore.location contains the CA of the broker. kctl probe prints the broker's chain."
CLASS_ADVICE: dict[str, str] = {
    "AbortableTransactionError": "Call abort_transaction(), then send the records of the transaction again.",
    "AdvertisedAddressError": "Set advertised.listeners of the broker to an address that clients reach.",
    "ApiTimeout": "Read the cause in the message first. Raise --api-timeout if there is no cause.",
    "AuthenticationError": "Check user name, password and sasl.mechanism.",
    "AuthorizationError": "Add an ACL for the principal: kctl acls check PRINCIPAL lists its permissions.",
    "BrokerError": "Look up the error with: kctl explain NAME. The log of the broker has more.",
    "CertificateError": _CERTIFICATE,
    "CertificateExpired": "Install a new certificate on the broker.",
    "CertificateNotYetValid": "Set the clock of this machine, or wait until the certificate is valid.",
    "ClientCertificateRefused": "Set ssl.keystore.location to a certificate that the broker trusts.",
    "CloseTimeout": "Raise the timeout of close(): a broker did not respond in time.",
    "CommitFailedError": "Process fewer records between two calls of poll(), or raise max.poll.interval.ms.",
    "ConcurrentModificationError": "Use each consumer in one thread. Only wakeup() is safe from another thread.",
    "ConfigError": "Fix the property in the message: kctl explain PROPERTY describes it.",
    "ConnectTimeout": "Check the phase in the message. For tcp, check the firewall and the host.",
    "ConnectionLost": "Check the broker's log, and proxies between client and broker.",
    "ConnectionRefused": "Start the broker, or fix the port.",
    "CorruptBatchError": (
        "Continue behind bad records and batches with: kctl consume --on-bad-record skip. Check the disk of the leader."
    ),
    "DeliveryTimeout": (
        "Fix the cause in the message, then send the record again. Raise delivery.timeout.ms if the broker is slow."
    ),
    "DnsError": "Fix the name, or the resolver: getent hosts NAME shows its result.",
    "FatalTransactionError": "Close the producer. Give each process its own transactional.id.",
    "FlushTimeout": "Call flush() again, or raise its timeout: the producer still sends these records.",
    "HostnameMismatch": "Connect by a name in the certificate, or issue a certificate for this name.",
    "IllegalStateError": "Fix the order of the calls: the client is closed, or the call needs another one first.",
    "InvalidOffsetError": "Seek to an offset that exists, or set auto.offset.reset to earliest or latest.",
    "KafkaError": "Read the class of the error: kctl explain CLASS describes it.",
    "KafkaTimeoutError": "Read the limit and the cause in the message.",
    "LocalProtocolError": "Report the call: kctl built a request that the protocol cannot express.",
    "LogTruncationError": (
        "Seek to divergent_offset. To prevent a recurrence, set unclean.leader.election.enable=false."
    ),
    "LoginServerUnavailable": "Check the token endpoint or the Kerberos server of the login.",
    "MaxBlockTimeout": "Check the cause in the message. Raise max.block.ms or buffer.memory if the brokers are slow.",
    "NoCommonTls": "Enable a common version in ssl.enabled.protocols of client and broker.",
    "NoProgressError": "Check the disk of the leader: its log has a batch with wrong offsets.",
    "ProtocolError": "Check that the server is a Kafka broker: kctl probe shows its versions.",
    "RecordTooLargeError": (
        "Raise max.request.size of the producer and max.message.bytes of the topic, or send smaller records."
    ),
    "RemoteProtocolError": "Check that the server is a Kafka broker, and proxies between client and broker.",
    "RequestBudgetError": "Raise --max-requests.",
    "RequestTimeout": "Check the broker in the message: disk, garbage collection, request queue.",
    "ResultTimeout": "Call result() again: the producer still sends the record.",
    "SaslRequired": "Set security.protocol to SASL_PLAINTEXT or SASL_SSL, with a user.",
    "TlsAlert": "Check the broker's log for the TLS alert in the message.",
    "TlsClosed": "Check the broker's log: it closed the connection during the TLS handshake.",
    "TlsError": _CERTIFICATE,
    "TlsNotAnswered": "Use --security-protocol PLAINTEXT or SASL_PLAINTEXT if the listener has no TLS.",
    "TransactionAbortedError": "Send the records of the transaction again.",
    "TransactionError": "Abort the transaction, or close the producer if that fails.",
    "TransportError": "Check the address and the phase in the message with: kctl probe -b HOST:PORT",
    "UndeliveredError": "Fix the cause in the message, then send the undelivered records again.",
    "UnsupportedCodecError": "Check the producer of the topic: it wrote a batch with an unknown codec.",
    "UnsupportedVersionError": "Upgrade the brokers, or use a command that they support.",
    "UntrustedCertificate": "Add the issuer of the broker's certificate to ssl.truststore.location.",
    "WakeupError": "No action: another thread called wakeup().",
    "WrongPeerError": "Check port and --security-protocol: kctl probe tries the other protocol once.",
}


def broker_advice(name: str) -> tuple[str, ...]:
    """Return the advice for the broker error with Kafka's name `name`."""
    cause = BROKER_CAUSES.get(name)
    if cause is not None:
        return cause.try_
    return (BROKER_ADVICE[name],) if name in BROKER_ADVICE else ()


def broker_hint(name: str) -> str:
    """Return the advice for a broker error as a hint, in lower case and without full stop."""
    text = ". ".join(line.removesuffix(".") for line in broker_advice(name))
    return text[:1].lower() + text[1:]
