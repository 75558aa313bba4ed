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
        "Wait until the new controller is active, then retry. Check the controller with: kctl cluster quorum"
    ),
    "OFFSET_METADATA_TOO_LARGE": (
        "Shorten the metadata of the commit, or raise offset.metadata.max.bytes of the brokers."
    ),
    "NETWORK_EXCEPTION": "Check the network between the brokers, and the log of the broker that returned the error.",
    "INCONSISTENT_GROUP_PROTOCOL": (
        "Set a common assignor in partition.assignment.strategy of all members. Use separate groups for consumers "
        "and Kafka Connect workers."
    ),
    "INVALID_COMMIT_OFFSET_SIZE": "Commit fewer partitions in each call, or shorten the metadata of the commit.",
    "DUPLICATE_SEQUENCE_NUMBER": "No action needed: the broker already has these records.",
    "INVALID_TXN_STATE": (
        "Close the producer and create a new one. If the error recurs, check that the application begins each "
        "transaction before it sends records or commits."
    ),
    "INVALID_PRODUCER_ID_MAPPING": (
        "Close the producer and create a new one: the broker has a different producer id for this transactional.id."
    ),
    "CONCURRENT_TRANSACTIONS": (
        "Wait and retry: the coordinator is still completing the previous transaction of this transactional.id."
    ),
    "TRANSACTION_COORDINATOR_FENCED": "Retry: the transaction has a new coordinator.",
    "OPERATION_NOT_ATTEMPTED": "Fix the other errors in the response, then retry the request.",
    "LOG_DIR_NOT_FOUND": "List the log directories of the broker with: kctl brokers log-dirs",
    "UNKNOWN_PRODUCER_ID": (
        "Restart the producer, because the broker no longer has its state. If the error recurs, raise "
        "producer.id.expiration.ms, transactional.id.expiration.ms, or retention.ms."
    ),
    "REASSIGNMENT_IN_PROGRESS": (
        "Wait until the reassignment ends, or cancel it. List partitions that are being moved with: kctl partitions "
        "list"
    ),
    "DELEGATION_TOKEN_AUTH_DISABLED": (
        "Set delegation.token.secret.key on all brokers and controllers, and restart them."
    ),
    "DELEGATION_TOKEN_NOT_FOUND": "Create a new delegation token: the old token has expired or was removed.",
    "DELEGATION_TOKEN_OWNER_MISMATCH": "Log in as the owner or as a renewer of the delegation token.",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "Log in with SASL or a client certificate, not with a delegation token.",
    "DELEGATION_TOKEN_EXPIRED": "Create a new delegation token, and renew it before it expires.",
    "FETCH_SESSION_ID_NOT_FOUND": (
        "No action needed: the client opens a new fetch session. If the error recurs, raise "
        "max.incremental.fetch.session.cache.slots of the broker."
    ),
    "INVALID_FETCH_SESSION_EPOCH": "No action needed: the client opens a new fetch session.",
    "LISTENER_NOT_FOUND": (
        "Configure the same listener names on all brokers: the leader has no listener with the name that the client "
        "uses."
    ),
    "TOPIC_DELETION_DISABLED": "Set delete.topic.enable=true on the brokers and controllers, and restart them.",
    "STALE_BROKER_EPOCH": "Check whether two brokers use the same node.id.",
    "MEMBER_ID_REQUIRED": "No action needed: the client joins again with the member id from the response.",
    "ELECTION_NOT_NEEDED": "No action needed: the preferred replica is already the leader.",
    "UNSTABLE_OFFSET_COMMIT": "Wait until the open transaction ends. Find it with: kctl transactions list",
    "INCONSISTENT_VOTER_SET": "Set the same controller.quorum.voters on all controllers and brokers.",
    "INVALID_UPDATE_VERSION": (
        "Check that all brokers support the new version. List features and their levels with: kctl cluster describe"
    ),
    "FEATURE_UPDATE_FAILED": (
        "Check the log of the active controller. Find the active controller with: kctl cluster quorum"
    ),
    "PRINCIPAL_DESERIALIZATION_FAILURE": "Set the same principal.builder.class on all brokers and controllers.",
    "SNAPSHOT_NOT_FOUND": (
        "Check the log of the active controller: a replica requested a metadata snapshot that was deleted."
    ),
    "POSITION_OUT_OF_RANGE": (
        "Check the disk of the replica that requested the metadata snapshot, and restart the replica."
    ),
    "DUPLICATE_BROKER_REGISTRATION": "Give each broker its own node.id.",
    "INCONSISTENT_TOPIC_ID": (
        "Retry: the topic was deleted and created again. If the error persists, restart the broker."
    ),
    "FETCH_SESSION_TOPIC_ID_ERROR": "No action needed: the client opens a new fetch session.",
    "INELIGIBLE_REPLICA": (
        "Wait until the broker is no longer fenced or shutting down. Check its state with: kctl cluster describe"
    ),
    "NEW_LEADER_ELECTED": "Retry: the partition has a new leader.",
    "OFFSET_MOVED_TO_TIERED_STORAGE": (
        "Check that all brokers have remote.log.storage.system.enable=true: the offset is only in tiered storage."
    ),
    "FENCED_MEMBER_EPOCH": (
        "No action needed: the member rejoins the group automatically. If the error recurs, check the members with: "
        "kctl groups members GROUP"
    ),
    "UNSUPPORTED_ASSIGNOR": (
        "Set group.remote.assignor of the consumer to an assignor in group.consumer.assignors of the brokers."
    ),
    "STALE_MEMBER_EPOCH": "No action needed: the client commits again with the current member epoch.",
    "UNKNOWN_CONTROLLER_ID": "Use the id of a registered controller. List controllers with: kctl cluster quorum",
    "UNKNOWN_SUBSCRIPTION_ID": "No action needed: the client fetches a new telemetry subscription.",
    "TELEMETRY_TOO_LARGE": "Subscribe to fewer metrics, or raise telemetry.max.bytes of the brokers.",
    "INVALID_REGISTRATION": (
        "Check the log of the active controller for the reason, then fix the listeners or features of the broker."
    ),
    "TRANSACTION_ABORTABLE": "Abort the transaction, and send its records again in a new transaction.",
    "INVALID_RECORD_STATE": (
        "No action needed: the lock on the record has expired, or another member of the share group has acquired the "
        "record."
    ),
    "SHARE_SESSION_NOT_FOUND": "No action needed: the client opens a new share session.",
    "INVALID_SHARE_SESSION_EPOCH": "No action needed: the client opens a new share session.",
    "FENCED_STATE_EPOCH": "Retry: the share group has a new coordinator.",
    "INVALID_VOTER_KEY": "Compare the directory id and endpoints of the voter with the output of: kctl cluster quorum",
    "DUPLICATE_VOTER": "No action needed: the controller is already a voter. List the voters with: kctl cluster quorum",
    "VOTER_NOT_FOUND": "List the voters with: kctl cluster quorum",
    "REBOOTSTRAP_REQUIRED": (
        "No action needed: the client connects to bootstrap.servers again. If the error recurs, check that "
        "bootstrap.servers is up to date."
    ),
    "STREAMS_INVALID_TOPOLOGY": "Check that all members of the Streams group run the same version of the application.",
    "STREAMS_INVALID_TOPOLOGY_EPOCH": (
        "Check that all members of the Streams group run the same version of the application."
    ),
    "STREAMS_TOPOLOGY_FENCED": "Restart this member with the latest version of the Streams application.",
    "SHARE_SESSION_LIMIT_REACHED": (
        "Close some share consumers, or raise group.share.max.share.sessions of the brokers."
    ),
    "CORRUPT_MESSAGE": "Check the disks of the leader and the followers: a batch has a wrong checksum.",
    "RECORD_LIST_TOO_LARGE": "Lower batch.size of the producer, or raise segment.bytes of the topic.",
    "INVALID_TIMESTAMP": (
        "Check the producer's clock, or raise message.timestamp.before.max.ms or message.timestamp.after.max.ms of "
        "the topic."
    ),
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": (
        "Raise message.format.version of the topic: the request needs a newer record format."
    ),
    "UNSUPPORTED_COMPRESSION_TYPE": "Use another compression.type: the broker does not support this codec.",
    "INVALID_RECORD": "Add a key to each record: compacted topics reject records without a key.",
    "BROKER_NOT_AVAILABLE": "Check which brokers are running with: kctl cluster describe",
    "REPLICA_NOT_AVAILABLE": "List the offline replicas with: kctl topics describe TOPIC",
    "FENCED_LEADER_EPOCH": (
        "No action needed: the client refreshes its metadata. If the error persists, compare the metadata of the "
        "brokers with: kctl probe"
    ),
    "UNKNOWN_LEADER_EPOCH": (
        "No action needed: the broker will soon receive the latest metadata. If the error persists, compare the "
        "metadata of the brokers with: kctl probe"
    ),
    "PREFERRED_LEADER_NOT_AVAILABLE": (
        "Start the broker of the preferred replica, and wait until the replica is in sync."
    ),
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": (
        "Start a broker whose replica is in sync. If that is impossible, elect another replica and lose records "
        "with: kctl partitions elect --unclean"
    ),
    "NO_REASSIGNMENT_IN_PROGRESS": (
        "No action needed: the partition is not being moved. List partitions that are being moved with: kctl "
        "partitions list"
    ),
    "GROUP_SUBSCRIBED_TO_TOPIC": "Stop the members of the group that read the topic, then delete the offsets again.",
    "INVALID_REQUIRED_ACKS": "Set acks to all, 1 or 0.",
    "INVALID_GROUP_ID": "Set group.id to a name that is not empty.",
    "INVALID_SESSION_TIMEOUT": (
        "Set session.timeout.ms to a value between group.min.session.timeout.ms and group.max.session.timeout.ms of "
        "the brokers."
    ),
    "INVALID_PARTITIONS": "Use 1 or more partitions. You can add partitions to a topic, but you cannot remove them.",
    "INVALID_REPLICA_ASSIGNMENT": (
        "Assign the replicas of each partition to different registered brokers. List the brokers with: kctl cluster "
        "describe"
    ),
    "INVALID_CONFIG": "Fix the config in the message. Show its description with: kctl explain CONFIG",
    "INVALID_REQUEST": (
        "Check the values of the request. For kctl api, compare the fields with the Kafka protocol of the broker's "
        "version."
    ),
    "INVALID_TRANSACTION_TIMEOUT": "Lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers.",
    "SECURITY_DISABLED": "Set authorizer.class.name on all brokers and controllers, and restart them.",
    "INVALID_PRINCIPAL_TYPE": "Use a principal of the form User:NAME.",
    "DUPLICATE_RESOURCE": "Remove the duplicate resource from the request.",
    "UNACCEPTABLE_CREDENTIAL": "Use 4096 to 16384 iterations, and a password that is not empty.",
    "INVALID_REGULAR_EXPRESSION": (
        "Use RE2 syntax for the pattern. RE2 does not support backreferences and lookaround."
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": (
        "Add an ACL with: kctl acls create --allow PRINCIPAL --operation write --transactional-id ID"
    ),
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": (
        "Log in as the owner of the delegation token, or allow the describe operation on the token."
    ),
    "RESOURCE_NOT_FOUND": (
        "Check the name of the resource. List users with kctl users list, and quotas with kctl quotas list."
    ),
    "UNKNOWN_TOPIC_ID": "Retry: the topic was deleted, or the broker has not received its metadata yet.",
    "BROKER_ID_NOT_REGISTERED": "List the registered brokers with: kctl cluster describe",
    "TRANSACTIONAL_ID_NOT_FOUND": "List the transactional ids with: kctl transactions list",
    "UNRELEASED_INSTANCE_ID": "Stop the other process with this group.instance.id, or wait for its session timeout.",
    "MISMATCHED_ENDPOINT_TYPE": (
        "Send broker requests to a broker listener, and controller requests to a controller listener."
    ),
    "UNSUPPORTED_ENDPOINT_TYPE": (
        "Upgrade the broker to Kafka 3.7 or newer. Older brokers do not support requests about controllers."
    ),
}

_CERTIFICATE = "Check that ssl.truststore.location contains the CA of the broker. kctl probe prints the broker's chain."
CLASS_ADVICE: dict[str, str] = {
    "AbortableTransactionError": "Call abort_transaction(), then send the records of the transaction again.",
    "AdvertisedAddressError": "Set advertised.listeners of the broker to an address that this client can reach.",
    "ApiTimeout": "Fix the cause in the message. If the message has no cause, raise --api-timeout.",
    "AuthenticationError": "Check user name, password and sasl.mechanism.",
    "AuthorizationError": "Add an ACL for the principal: kctl acls check PRINCIPAL lists its permissions.",
    "BrokerError": "Look up the error code with: kctl explain NAME. Check the log of the broker for details.",
    "CertificateError": _CERTIFICATE,
    "CertificateExpired": "Install a new certificate on the broker.",
    "CertificateNotYetValid": "Check the clock of this machine, or wait until the certificate is valid.",
    "ClientCertificateRefused": "Set ssl.keystore.location to a client certificate that the broker trusts.",
    "CloseTimeout": "Raise the timeout of close(), and check the broker that did not respond.",
    "CommitFailedError": "Process fewer records between two calls of poll(), or raise max.poll.interval.ms.",
    "ConcurrentModificationError": (
        "Use each client in one thread or event loop. Only wakeup() may be called from another thread."
    ),
    "ConfigError": "Fix the property in the message. Show its description with: kctl explain PROPERTY",
    "ConnectTimeout": "Check the phase in the message. In the phase tcp, check the firewall and the host.",
    "ConnectionLost": "Check the log of the broker, and any proxy between client and broker.",
    "ConnectionRefused": "Check that the broker is running and that the port is correct.",
    "CorruptBatchError": (
        "Skip damaged batches with: kctl consume --on-bad-record skip. Check the disk of the leader."
    ),
    "DeliveryTimeout": (
        "Fix the cause in the message, then send the record again. Raise delivery.timeout.ms if the broker is slow."
    ),
    "DnsError": "Fix the name or the resolver. Show the addresses of a name with: getent hosts NAME",
    "FatalTransactionError": "Close the producer. Give each process its own transactional.id.",
    "FlushTimeout": "Call flush() again, or raise its timeout. The producer is still sending the records.",
    "HostnameMismatch": "Connect by a name in the certificate, or issue a certificate for this name.",
    "IllegalStateError": "Check the order of the calls: the client may be closed, or another call must come first.",
    "InvalidOffsetError": "Seek to an offset that exists, or set auto.offset.reset to earliest or latest.",
    "KafkaError": "Look up the class of the error with: kctl explain CLASS",
    "KafkaTimeoutError": "Check the timeout and the cause in the message.",
    "LocalProtocolError": "Report a bug: kctl built a request that the protocol cannot express.",
    "LogTruncationError": (
        "Seek to divergent_offset to read the current records. To prevent a recurrence, set "
        "unclean.leader.election.enable=false."
    ),
    "LoginServerUnavailable": "Check the token endpoint or the Kerberos server of the login.",
    "MaxBlockTimeout": "Check the cause in the message. Raise max.block.ms or buffer.memory if the brokers are slow.",
    "NoCommonTls": "Enable a common version in ssl.enabled.protocols of client and broker.",
    "NoProgressError": "Check the disk of the leader: its log has a batch with wrong offsets.",
    "ProtocolError": "Check that the server is a Kafka broker with: kctl probe",
    "RecordTooLargeError": (
        "Raise max.request.size of the producer and max.message.bytes of the topic, or send smaller records."
    ),
    "RemoteProtocolError": "Check that the server is a Kafka broker, and check any proxy between client and broker.",
    "RequestBudgetError": "Raise --max-requests, or the limit of Admin.request_budget().",
    "RequestTimeout": "Check the broker in the message: disk, garbage collection, request queue.",
    "ResultTimeout": "Call result() again. The producer is still sending the record.",
    "SaslRequired": "Set security.protocol to SASL_PLAINTEXT or SASL_SSL, and configure the credentials.",
    "TlsAlert": "Check the broker's log for the TLS alert in the message.",
    "TlsClosed": "Check the broker's log: it closed the connection during the TLS handshake.",
    "TlsError": _CERTIFICATE,
    "TlsNotAnswered": "If the listener does not use TLS, use --security-protocol PLAINTEXT or SASL_PLAINTEXT.",
    "TransactionAbortedError": "Send the records of the transaction again.",
    "TransactionError": "Abort the transaction. If the abort fails, close the producer.",
    "TransportError": "Check the address and the phase in the message with: kctl probe -b HOST:PORT",
    "UndeliveredError": "Fix the cause in the message, then send the undelivered records again.",
    "UnsupportedCodecError": "Check the producer of the topic: it wrote a batch with an unknown codec.",
    "UnsupportedVersionError": (
        "Compare the versions of kctl and the broker in the message, and upgrade the older side."
    ),
    "UntrustedCertificate": "Add the issuer of the broker's certificate to ssl.truststore.location.",
    "WakeupError": "No action needed: another thread called wakeup() to interrupt the call.",
    "WrongPeerError": "Check the port and --security-protocol. kctl probe also tries the other protocol.",
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
