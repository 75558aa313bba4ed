# kctl completion for PowerShell. Made by tools/write_manuals.py from the commands; do not edit.
# Commands, options and their words are known here. Names of topics, groups and profiles are asked of
# `kctl __complete`, which answers within 300 ms (KCTL_COMPLETION_TIMEOUT_MS) or not at all.

$kctlValued = @('--offset', '-o', '--tail', '--max', '-n', '--idle-timeout', '--isolation', '--max-memory', '--format', '-f', '--kcat-format', '--null', '--grep', '--partition', '-p', '--group', '-g', '--decode', '--avsc', '--protoset', '--message', '--jq', '--bootstrap', '-b', '--api-timeout', '--connect-timeout', '--request-timeout', '--close-timeout', '--security-protocol', '-X', '--command-config', '--profile', '-C', '--output', '--trace-file', '--input', '-i', '--delimiter', '-D', '--key-separator', '-K', '--key', '-k', '--header', '-H', '--partitioner', '--acks', '--compression', '--rate', '--txn-id', '--undelivered', '--delivery-timeout', '--encode', '--json-schema', '--idle', '--cert-warn', '--resolve', '--sni', '--count', '--interval', '--write-out', 'probe:--diff', '--html', '--partitions', '--replication-factor', '-r', '--config', '--at', '--before', '--state', '--type', '--topic', '--threshold', '--to-offset', '--shift-by', '--to-datetime', '--by-duration', '--from-file', 'groups.reset-offsets:--export', '--instance', '--member', '--producer-id', '--older-than', '--pattern', '--broker', '--start-offset', '--principal', '--transactional-id', '--delegation-token', '--user', '--allow', '--deny', '--operation', '--host', '--mechanism', '--password-file', '--password-from', '--iterations', '--client-id', '--ip', '--only', '--ignore', '--severity', '--budget', '--serve', '--file', '--to', '--away-from', '--rollback', '--throttle', '--wait', '--lag', '--version', '--reference', '--set', '--node', '--sasl-mechanism', '--unset', '--from', '--rpk-profile', '--as', '--records', '--record-size', '--file-format', '--layout', '--partition-by', '--level', '--start', '--groups', '--range-size', '--file-size', '--schema', '--master', '--spark-conf', '--spark-log', '--worker-python', '--to-topic', '--progress', '--name', '--from-position', '--to-bootstrap', '--to-config', '--from-export', '--topic-from-header', '--since', '--until', '--max-attempts', '--checkpoint', '--trigger', '--max-records-per-batch', '--to-export', '--nodes', '--port', '--num-partitions', '--node-ids-from', '--racks', '--min-insync-replicas', '--transaction-version', '--super-user', '--sasl-user', '--tls-certificate', '--control')
$kctlLists = @{
    'properties' = @('acks=', 'allow.auto.create.topics=', 'auto.commit.interval.ms=', 'auto.offset.reset=', 'aws.profile=', 'aws.region=', 'batch.size=', 'bootstrap.attempt.delay.ms=', 'bootstrap.refused.timeout.ms=', 'bootstrap.servers=', 'buffer.memory=', 'check.crcs=', 'client.dns.lookup=', 'client.id=', 'client.rack=', 'compression.gzip.level=', 'compression.lz4.level=', 'compression.type=', 'compression.zstd.level=', 'connections.max.idle.ms=', 'default.api.timeout.ms=', 'delivery.timeout.ms=', 'enable.auto.commit=', 'enable.idempotence=', 'enable.metrics.push=', 'exclude.internal.topics=', 'fetch.max.bytes=', 'fetch.max.wait.ms=', 'fetch.min.bytes=', 'group.id=', 'group.instance.id=', 'group.protocol=', 'group.remote.assignor=', 'heartbeat.interval.ms=', 'isolation.level=', 'linger.ms=', 'max.block.ms=', 'max.in.flight.requests.per.connection=', 'max.partition.fetch.bytes=', 'max.poll.interval.ms=', 'max.poll.records=', 'max.request.size=', 'metadata.max.age.ms=', 'metadata.max.idle.ms=', 'metadata.recovery.rebootstrap.trigger.ms=', 'metadata.recovery.strategy=', 'partition.assignment.strategy=', 'partitioner.adaptive.partitioning.enable=', 'partitioner.availability.timeout.ms=', 'partitioner.class=', 'partitioner.ignore.keys=', 'receive.buffer.bytes=', 'reconnect.backoff.max.ms=', 'reconnect.backoff.ms=', 'request.timeout.ms=', 'retries=', 'retry.backoff.max.ms=', 'retry.backoff.ms=', 'sasl.kerberos.keytab=', 'sasl.kerberos.principal=', 'sasl.kerberos.service.name=', 'sasl.login.connect.timeout.ms=', 'sasl.login.read.timeout.ms=', 'sasl.mechanism=', 'sasl.oauthbearer.client.credentials.client.id=', 'sasl.oauthbearer.header.urlencode=', 'sasl.oauthbearer.method=', 'sasl.oauthbearer.scope=', 'sasl.oauthbearer.token.callback=', 'sasl.oauthbearer.token.endpoint.url=', 'sasl.oauthbearer.token.file=', 'schema.registry.basic.auth.credentials.source=', 'schema.registry.bearer.auth.client.id=', 'schema.registry.bearer.auth.credentials.source=', 'schema.registry.bearer.auth.identity.pool.id=', 'schema.registry.bearer.auth.issuer.endpoint.url=', 'schema.registry.bearer.auth.logical.cluster=', 'schema.registry.bearer.auth.scope=', 'schema.registry.url=', 'security.protocol=', 'send.buffer.bytes=', 'session.timeout.ms=', 'socket.connection.setup.timeout.max.ms=', 'socket.connection.setup.timeout.ms=', 'ssl.cipher.suites=', 'ssl.enabled.protocols=', 'ssl.endpoint.identification.algorithm=', 'ssl.keystore.location=', 'ssl.keystore.type=', 'ssl.truststore.location=', 'ssl.truststore.type=', 'transaction.timeout.ms=', 'transactional.id=')
    'subjects' = @('OK', 'UNEXPECTED', 'USAGE', 'DEGRADED', 'DNS', 'REFUSED', 'CONNECT_TIMEOUT', 'TLS', 'AUTHENTICATION', 'WRONG_PEER', 'REQUEST_TIMEOUT', 'API_TIMEOUT', 'ADVERTISED_ADDRESS', 'NOT_ABLE_YET', 'UNDELIVERED', 'CLOSE_TIMEOUT', 'NOT_AUTHORISED', 'UNKNOWN_RESOURCE', 'DATA', 'DISK', 'SIGHUP', 'SIGINT', 'SIGTERM', 'UNKNOWN_SERVER_ERROR', 'NONE', 'OFFSET_OUT_OF_RANGE', 'CORRUPT_MESSAGE', 'UNKNOWN_TOPIC_OR_PARTITION', 'INVALID_FETCH_SIZE', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_OR_FOLLOWER', 'REQUEST_TIMED_OUT', 'BROKER_NOT_AVAILABLE', 'REPLICA_NOT_AVAILABLE', 'MESSAGE_TOO_LARGE', 'STALE_CONTROLLER_EPOCH', 'OFFSET_METADATA_TOO_LARGE', 'NETWORK_EXCEPTION', 'COORDINATOR_LOAD_IN_PROGRESS', 'COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR', 'INVALID_TOPIC_EXCEPTION', 'RECORD_LIST_TOO_LARGE', 'NOT_ENOUGH_REPLICAS', 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'INVALID_REQUIRED_ACKS', 'ILLEGAL_GENERATION', 'INCONSISTENT_GROUP_PROTOCOL', 'INVALID_GROUP_ID', 'UNKNOWN_MEMBER_ID', 'INVALID_SESSION_TIMEOUT', 'REBALANCE_IN_PROGRESS', 'INVALID_COMMIT_OFFSET_SIZE', 'TOPIC_AUTHORIZATION_FAILED', 'GROUP_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED', 'INVALID_TIMESTAMP', 'UNSUPPORTED_SASL_MECHANISM', 'ILLEGAL_SASL_STATE', 'UNSUPPORTED_VERSION', 'TOPIC_ALREADY_EXISTS', 'INVALID_PARTITIONS', 'INVALID_REPLICATION_FACTOR', 'INVALID_REPLICA_ASSIGNMENT', 'INVALID_CONFIG', 'NOT_CONTROLLER', 'INVALID_REQUEST', 'UNSUPPORTED_FOR_MESSAGE_FORMAT', 'POLICY_VIOLATION', 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'DUPLICATE_SEQUENCE_NUMBER', 'INVALID_PRODUCER_EPOCH', 'INVALID_TXN_STATE', 'INVALID_PRODUCER_ID_MAPPING', 'INVALID_TRANSACTION_TIMEOUT', 'CONCURRENT_TRANSACTIONS', 'TRANSACTION_COORDINATOR_FENCED', 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'SECURITY_DISABLED', 'OPERATION_NOT_ATTEMPTED', 'KAFKA_STORAGE_ERROR', 'LOG_DIR_NOT_FOUND', 'SASL_AUTHENTICATION_FAILED', 'UNKNOWN_PRODUCER_ID', 'REASSIGNMENT_IN_PROGRESS', 'DELEGATION_TOKEN_AUTH_DISABLED', 'DELEGATION_TOKEN_NOT_FOUND', 'DELEGATION_TOKEN_OWNER_MISMATCH', 'DELEGATION_TOKEN_REQUEST_NOT_ALLOWED', 'DELEGATION_TOKEN_AUTHORIZATION_FAILED', 'DELEGATION_TOKEN_EXPIRED', 'INVALID_PRINCIPAL_TYPE', 'NON_EMPTY_GROUP', 'GROUP_ID_NOT_FOUND', 'FETCH_SESSION_ID_NOT_FOUND', 'INVALID_FETCH_SESSION_EPOCH', 'LISTENER_NOT_FOUND', 'TOPIC_DELETION_DISABLED', 'FENCED_LEADER_EPOCH', 'UNKNOWN_LEADER_EPOCH', 'UNSUPPORTED_COMPRESSION_TYPE', 'STALE_BROKER_EPOCH', 'OFFSET_NOT_AVAILABLE', 'MEMBER_ID_REQUIRED', 'PREFERRED_LEADER_NOT_AVAILABLE', 'GROUP_MAX_SIZE_REACHED', 'FENCED_INSTANCE_ID', 'ELIGIBLE_LEADERS_NOT_AVAILABLE', 'ELECTION_NOT_NEEDED', 'NO_REASSIGNMENT_IN_PROGRESS', 'GROUP_SUBSCRIBED_TO_TOPIC', 'INVALID_RECORD', 'UNSTABLE_OFFSET_COMMIT', 'THROTTLING_QUOTA_EXCEEDED', 'PRODUCER_FENCED', 'RESOURCE_NOT_FOUND', 'DUPLICATE_RESOURCE', 'UNACCEPTABLE_CREDENTIAL', 'INCONSISTENT_VOTER_SET', 'INVALID_UPDATE_VERSION', 'FEATURE_UPDATE_FAILED', 'PRINCIPAL_DESERIALIZATION_FAILURE', 'SNAPSHOT_NOT_FOUND', 'POSITION_OUT_OF_RANGE', 'UNKNOWN_TOPIC_ID', 'DUPLICATE_BROKER_REGISTRATION', 'BROKER_ID_NOT_REGISTERED', 'INCONSISTENT_TOPIC_ID', 'INCONSISTENT_CLUSTER_ID', 'TRANSACTIONAL_ID_NOT_FOUND', 'FETCH_SESSION_TOPIC_ID_ERROR', 'INELIGIBLE_REPLICA', 'NEW_LEADER_ELECTED', 'OFFSET_MOVED_TO_TIERED_STORAGE', 'FENCED_MEMBER_EPOCH', 'UNRELEASED_INSTANCE_ID', 'UNSUPPORTED_ASSIGNOR', 'STALE_MEMBER_EPOCH', 'MISMATCHED_ENDPOINT_TYPE', 'UNSUPPORTED_ENDPOINT_TYPE', 'UNKNOWN_CONTROLLER_ID', 'UNKNOWN_SUBSCRIPTION_ID', 'TELEMETRY_TOO_LARGE', 'INVALID_REGISTRATION', 'TRANSACTION_ABORTABLE', 'INVALID_RECORD_STATE', 'SHARE_SESSION_NOT_FOUND', 'INVALID_SHARE_SESSION_EPOCH', 'FENCED_STATE_EPOCH', 'INVALID_VOTER_KEY', 'DUPLICATE_VOTER', 'VOTER_NOT_FOUND', 'INVALID_REGULAR_EXPRESSION', 'REBOOTSTRAP_REQUIRED', 'STREAMS_INVALID_TOPOLOGY', 'STREAMS_INVALID_TOPOLOGY_EPOCH', 'STREAMS_TOPOLOGY_FENCED', 'SHARE_SESSION_LIMIT_REACHED', 'acks', 'allow.auto.create.topics', 'auto.commit.interval.ms', 'auto.offset.reset', 'aws.profile', 'aws.region', 'batch.size', 'bootstrap.attempt.delay.ms', 'bootstrap.refused.timeout.ms', 'bootstrap.servers', 'buffer.memory', 'check.crcs', 'client.dns.lookup', 'client.id', 'client.rack', 'compression.gzip.level', 'compression.lz4.level', 'compression.type', 'compression.zstd.level', 'connections.max.idle.ms', 'default.api.timeout.ms', 'delivery.timeout.ms', 'enable.auto.commit', 'enable.idempotence', 'enable.metrics.push', 'exclude.internal.topics', 'fetch.max.bytes', 'fetch.max.wait.ms', 'fetch.min.bytes', 'group.id', 'group.instance.id', 'group.protocol', 'group.remote.assignor', 'heartbeat.interval.ms', 'isolation.level', 'linger.ms', 'max.block.ms', 'max.in.flight.requests.per.connection', 'max.partition.fetch.bytes', 'max.poll.interval.ms', 'max.poll.records', 'max.request.size', 'metadata.max.age.ms', 'metadata.max.idle.ms', 'metadata.recovery.rebootstrap.trigger.ms', 'metadata.recovery.strategy', 'partition.assignment.strategy', 'partitioner.adaptive.partitioning.enable', 'partitioner.availability.timeout.ms', 'partitioner.class', 'partitioner.ignore.keys', 'receive.buffer.bytes', 'reconnect.backoff.max.ms', 'reconnect.backoff.ms', 'request.timeout.ms', 'retries', 'retry.backoff.max.ms', 'retry.backoff.ms', 'sasl.jaas.config', 'sasl.kerberos.keytab', 'sasl.kerberos.principal', 'sasl.kerberos.service.name', 'sasl.login.connect.timeout.ms', 'sasl.login.read.timeout.ms', 'sasl.mechanism', 'sasl.oauthbearer.client.credentials.client.id', 'sasl.oauthbearer.client.credentials.client.secret', 'sasl.oauthbearer.header.urlencode', 'sasl.oauthbearer.method', 'sasl.oauthbearer.scope', 'sasl.oauthbearer.token', 'sasl.oauthbearer.token.callback', 'sasl.oauthbearer.token.endpoint.url', 'sasl.oauthbearer.token.file', 'schema.registry.basic.auth.credentials.source', 'schema.registry.basic.auth.user.info', 'schema.registry.bearer.auth.client.id', 'schema.registry.bearer.auth.client.secret', 'schema.registry.bearer.auth.credentials.source', 'schema.registry.bearer.auth.identity.pool.id', 'schema.registry.bearer.auth.issuer.endpoint.url', 'schema.registry.bearer.auth.logical.cluster', 'schema.registry.bearer.auth.scope', 'schema.registry.bearer.auth.token', 'schema.registry.url', 'security.protocol', 'send.buffer.bytes', 'session.timeout.ms', 'socket.connection.setup.timeout.max.ms', 'socket.connection.setup.timeout.ms', 'ssl.cipher.suites', 'ssl.enabled.protocols', 'ssl.endpoint.identification.algorithm', 'ssl.key.password', 'ssl.keystore.certificate.chain', 'ssl.keystore.key', 'ssl.keystore.location', 'ssl.keystore.password', 'ssl.keystore.type', 'ssl.truststore.certificates', 'ssl.truststore.location', 'ssl.truststore.password', 'ssl.truststore.type', 'transaction.timeout.ms', 'transactional.id')
}
$kctlPlaces = @{
    '' = @{
        Commands = @(
            ,@('consume', 'Print the records of topics')
            ,@('produce', 'Send records to a topic')
            ,@('probe', 'Try every address of every broker and show each phase')
            ,@('topics', 'List, describe, create, change, trim and delete topics')
            ,@('groups', 'List, describe and change consumer, share and streams groups')
            ,@('transactions', 'List and describe transactions, find and abort those that hang')
            ,@('configs', 'Show and change configs of topics, brokers and groups')
            ,@('acls', 'List, create and delete ACLs, and check what they allow')
            ,@('users', 'List, create, change and delete users that log in by SCRAM')
            ,@('quotas', 'Limit how fast clients produce, fetch and send requests, and show which limit applies')
            ,@('cluster', 'Show brokers, controller, features and the quorum of controllers')
            ,@('brokers', 'Show the disks of brokers')
            ,@('why', 'Find out what is wrong with a group, a topic or the cluster')
            ,@('doctor', 'Look for everything that `kctl why` finds, in the whole cluster')
            ,@('apply', 'Create and change topics and ACLs to match a file')
            ,@('partitions', 'Move partitions between brokers and elect their leaders')
            ,@('wait', 'Wait for topics, brokers or a group')
            ,@('schemas', 'List, show, check, register and delete schemas of a registry')
            ,@('api', 'Send one request of any API of Kafka, as JSON')
            ,@('profile', 'Keep clusters by name, with references to their secrets')
            ,@('bench', 'Measure producing, consuming, or both')
            ,@('pipeline', 'Move many records with Spark')
            ,@('completion', 'Complete commands and names in your shell')
            ,@('help-json', 'Print all commands and their options as JSON')
            ,@('explain', 'Explain an exit code, an error, a timeout or a message')
            ,@('sandbox', 'Run a Kafka cluster inside this process, for trying things out')
        )
        Options = @(
            ,@('--version', 'Show the version and exit')
            ,@('-V', 'Show the version and exit')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'consume' = @{
        Commands = @(
        )
        Options = @(
            ,@('--offset', 'Where to start and end')
            ,@('-o', 'Where to start and end')
            ,@('--from-beginning', 'The same as -o start')
            ,@('--tail', 'The newest N records in total, then stop')
            ,@('--follow', 'With --tail: continue with new records')
            ,@('--max', 'Stop after N records')
            ,@('-n', 'Stop after N records')
            ,@('--exit-at-end', 'Stop at the end offsets as of startup')
            ,@('-e', 'Stop at the end offsets as of startup')
            ,@('--idle-timeout', 'Stop after this time without a record')
            ,@('--isolation', 'Which records: read_uncommitted (default) or read_committed')
            ,@('--max-memory', 'Memory for records fetched ahead, and the largest decompressed batch (64MiB)')
            ,@('--format', 'What to write for each record')
            ,@('-f', 'What to write for each record')
            ,@('--kcat-format', 'The same with kcat''s tokens')
            ,@('--print-offsets', 'Write partition and offset before each record')
            ,@('--null', 'What to write for a null key or value (nothing)')
            ,@('--csv-safe', 'With --output csv')
            ,@('--grep', 'Only records whose key or value contains a match')
            ,@('--partition', 'Only these: 0, 0,2 or 2-4')
            ,@('-p', 'Only these: 0, 0,2 or 2-4')
            ,@('--group', 'Share the partitions with this group''s other members, and commit what was written')
            ,@('-g', 'Share the partitions with this group''s other members, and commit what was written')
            ,@('--decode', 'Decode keys and values, or with key= or value= before it only these')
            ,@('--avsc', 'Avro schema of data without a schema id, and reader''s schema')
            ,@('--protoset', 'Protobuf FileDescriptorSet of --decode protobuf')
            ,@('--message', 'Full name of the message in --protoset')
            ,@('--strict', 'Exit with 24 at the first key or value that cannot be decoded, instead of printing it raw')
            ,@('--jq', 'Print the output of a jq program, whose input is each record as in jsonl')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'produce' = @{
        Commands = @(
        )
        Options = @(
            ,@('--input', 'Format of the input')
            ,@('-i', 'Format of the input')
            ,@('--format', 'Template of a record, with the verbs of consume -f, such as ''%k:%v\n'', ''%V{big32}%v'' or ''%v{json}''')
            ,@('-f', 'Template of a record, with the verbs of consume -f, such as ''%k:%v\n'', ''%V{big32}%v'' or ''%v{json}''')
            ,@('--file-per-message', 'Each file is one record, as kcat does without -l')
            ,@('--delimiter', 'End of a record (\n)')
            ,@('-D', 'End of a record (\n)')
            ,@('--key-separator', 'Separator of key and value')
            ,@('-K', 'Separator of key and value')
            ,@('--key', 'Key of every record without a key')
            ,@('-k', 'Key of every record without a key')
            ,@('--header', 'A header of every record')
            ,@('-H', 'A header of every record')
            ,@('--tombstones', 'An empty value is null, which deletes its key')
            ,@('-Z', 'An empty value is null, which deletes its key')
            ,@('--null', 'With -f: a key or value that is this text is null')
            ,@('--topic-from-record', 'Each record goes to the topic that it names')
            ,@('--keep-partition', 'With -i jsonl: each record goes to the partition that it names')
            ,@('--now', 'Give each record the current time instead of the timestamp that it has')
            ,@('--partition', 'Send to this partition')
            ,@('-p', 'Send to this partition')
            ,@('--partitioner', 'Partitioner: default (by key, else sticky) or round_robin')
            ,@('--no-create', 'Exit with 23 if a topic does not exist, instead of creating it')
            ,@('--acks', 'Required acknowledgements')
            ,@('--compression', 'Codec of batches')
            ,@('--rate', 'At most N records a second, such as 500/s')
            ,@('--txn', 'All or nothing: one transaction, aborted after any error and after Ctrl-C')
            ,@('--txn-id', 'Like --txn, with this transactional.id, which fences older producers')
            ,@('--undelivered', 'Write undelivered records to this new file, in the format that -i jsonl reads')
            ,@('--delivery-timeout', 'Timeout of one record from reading it to its acknowledgement (120s)')
            ,@('--encode', 'Encode JSON keys and values, or with key= or value= before it only these, by a schema of the registry')
            ,@('--avsc', 'Avro schema, of --encode avro or to --register')
            ,@('--protoset', 'Protobuf FileDescriptorSet, of --encode protobuf or of a schema that the registry has as text')
            ,@('--message', 'Full name of the message in --protoset')
            ,@('--json-schema', 'JSON Schema to --register')
            ,@('--register', 'Register the schema of --avsc or --json-schema under the subject first')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics', '')
    }
    'probe' = @{
        Commands = @(
            ,@('report', 'Report on saved probe and trace files')
        )
        Options = @(
            ,@('--strict', 'Exit with 3 for any problem, even if the cluster is usable')
            ,@('--group', 'Find the coordinator of this consumer group too')
            ,@('-g', 'Find the coordinator of this consumer group too')
            ,@('--idle', 'Keep each connection idle for this time, then check that it still works')
            ,@('--cert-warn', 'Report certificates that expire within this time (21d)')
            ,@('--resolve', 'Address to use for this host and port')
            ,@('--sni', 'Server name to send in TLS (SNI), and to check certificates for')
            ,@('--try-protocols', 'If a server seems to expect TLS, or no TLS, try that once, without credentials')
            ,@('--no-try-protocols', 'If a server seems to expect TLS, or no TLS, try that once, without credentials')
            ,@('--watch', 'Repeat the probe, with statistics of each address')
            ,@('--count', 'Stop after N rounds')
            ,@('--interval', 'Interval between rounds (1s)')
            ,@('--write-out', 'Print only this for each address')
            ,@('--diff', 'Compare two saved results (--output json or jsonl)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'probe report' = @{
        Commands = @(
        )
        Options = @(
            ,@('--html', 'Write the report as an HTML page too')
            ,@('--cert-warn', 'Report certificates that expire within this time (21d)')
            ,@('--strict', 'Exit with 3 for any finding')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'topics' = @{
        Commands = @(
            ,@('list', 'List the topics you can see')
            ,@('describe', 'Show the partitions of topics')
            ,@('create', 'Create topics')
            ,@('alter', 'Change properties of topics one by one, or add partitions')
            ,@('offsets', 'Show the start and end offsets of a topic''s partitions, or their offsets at a time')
            ,@('trim', 'Delete the oldest records of a topic')
            ,@('delete', 'Delete topics and all their records')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'topics list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--internal', 'Include internal topics')
            ,@('--under-replicated', 'Only partitions with a replica that is not in sync')
            ,@('--offline', 'Only partitions without a leader')
            ,@('--size', 'Show the size of all replicas of a topic')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'topics describe' = @{
        Commands = @(
        )
        Options = @(
            ,@('--under-replicated', 'Only partitions with a replica that is not in sync')
            ,@('--offline', 'Only partitions without a leader')
            ,@('--configs', 'Show the configs instead, each with its source and default')
            ,@('--docs', 'With --configs: also describe each config')
            ,@('--size', 'Show the size of each partition instead, on every replica')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'topics create' = @{
        Commands = @(
        )
        Options = @(
            ,@('--partitions', 'Partitions of each topic [default')
            ,@('-p', 'Partitions of each topic [default')
            ,@('--replication-factor', 'Replication factor of each topic [default')
            ,@('-r', 'Replication factor of each topic [default')
            ,@('--config', 'A property of the topics')
            ,@('--if-not-exists', 'Accept topics that exist already, and leave them unchanged')
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'topics alter' = @{
        Commands = @(
        )
        Options = @(
            ,@('--config', 'Set a property')
            ,@('--partitions', 'New total number of partitions of each topic')
            ,@('-p', 'New total number of partitions of each topic')
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'topics offsets' = @{
        Commands = @(
        )
        Options = @(
            ,@('--at', 'Offset at start, end, @time or max-timestamp')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'topics trim' = @{
        Commands = @(
        )
        Options = @(
            ,@('--before', 'Delete the records before this offset, @time or end')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'topics delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'groups' = @{
        Commands = @(
            ,@('list', 'List the groups of all brokers')
            ,@('describe', 'Show groups: state, assignor, coordinator, members, and each partition with its lag')
            ,@('lag', 'Show the lag of groups by partition')
            ,@('members', 'Show the members of groups, and the partitions of each')
            ,@('delete', 'Delete groups and their committed offsets')
            ,@('reset-offsets', 'Set the committed offsets of a group')
            ,@('delete-offsets', 'Delete the committed offsets of a group for topics')
            ,@('remove-members', 'Remove members from a group')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'groups list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--state', 'Only groups in this state')
            ,@('--type', 'Only groups of this type')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'groups describe' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups lag' = @{
        Commands = @(
        )
        Options = @(
            ,@('--all', 'Show all groups of the cluster')
            ,@('--topic', 'Only this topic, or these partitions')
            ,@('--threshold', 'Exit with 3 when a partition is more than N behind')
            ,@('--rates', 'Measure twice, --interval apart, for rates and the time to catch up')
            ,@('--watch', 'Refresh until Ctrl-C')
            ,@('--interval', 'Refresh interval')
            ,@('--count', 'Stop after N refreshes')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups members' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups reset-offsets' = @{
        Commands = @(
        )
        Options = @(
            ,@('--topic', 'Only this topic, or these partitions')
            ,@('--to-earliest', 'To the first record')
            ,@('--to-latest', 'To the end, skipping all existing records')
            ,@('--to-current', 'To the committed offset, or to the nearest offset in the log if it is outside')
            ,@('--to-offset', 'To this offset')
            ,@('--shift-by', 'Move the committed offset by N, backwards if negative')
            ,@('--to-datetime', 'To the first record at or after a time (UTC)')
            ,@('--by-duration', 'To the first record of the last 1h, 2d, PT30M ..')
            ,@('--from-file', 'To the offsets in a file')
            ,@('--export', 'Write the new offsets to a file that --from-file reads')
            ,@('--create', 'Create the group if it does not exist')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups delete-offsets' = @{
        Commands = @(
        )
        Options = @(
            ,@('--topic', 'Only this topic, or these partitions')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'groups remove-members' = @{
        Commands = @(
        )
        Options = @(
            ,@('--instance', 'The static member with this group.instance.id')
            ,@('--member', 'The member with this member id')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'transactions' = @{
        Commands = @(
            ,@('list', 'List the transactional.ids of all brokers')
            ,@('describe', 'Show transactions')
            ,@('hanging', 'Find open transactions that no coordinator will end')
            ,@('abort', 'Abort hanging transactions of a partition')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'transactions list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--state', 'Only transactions in this state')
            ,@('--producer-id', 'Only transactions of this producer id')
            ,@('--older-than', 'Only transactions that have been open for longer (Kafka 3.8)')
            ,@('--pattern', 'Only transactions whose whole transactional.id matches (Kafka 4.1)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'transactions describe' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'transactions hanging' = @{
        Commands = @(
        )
        Options = @(
            ,@('--topic', 'Only this topic, or these partitions')
            ,@('--broker', 'Only partitions that this broker leads')
            ,@('--all', 'Include transactions that are running')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'transactions abort' = @{
        Commands = @(
        )
        Options = @(
            ,@('--start-offset', 'Only the transaction that begins at this offset')
            ,@('--force', 'Abort it even if it is running or undecided')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'configs' = @{
        Commands = @(
            ,@('show', 'Show each property with its value, where that was set, and its default')
            ,@('set', 'Set properties of one resource and leave its others alone')
            ,@('unset', 'Remove properties of one resource, so that the default applies again')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'configs show' = @{
        Commands = @(
        )
        Options = @(
            ,@('--changed', 'Only what is set, not the defaults')
            ,@('--docs', 'Also what each property means')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'configs set' = @{
        Commands = @(
        )
        Options = @(
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'configs unset' = @{
        Commands = @(
        )
        Options = @(
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'acls' = @{
        Commands = @(
            ,@('list', 'List the rules that match all options, or all rules')
            ,@('create', 'Create a rule for each combination of principal, operation, resource and host')
            ,@('delete', 'Delete the rules that match all options')
            ,@('check', 'Show whether a principal may do something, and which rule decides or is missing')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'acls list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--principal', 'Rules that allow or deny this principal')
            ,@('--topic', 'A topic, or ''*'' for all')
            ,@('--group', 'A group, or ''*'' for all')
            ,@('-g', 'A group, or ''*'' for all')
            ,@('--cluster', 'The cluster itself')
            ,@('--transactional-id', 'A transactional id')
            ,@('--delegation-token', 'A delegation token')
            ,@('--user', 'A user whose delegation tokens are meant')
            ,@('--prefixed', 'Each name stands for all names that begin with it')
            ,@('--allow', 'Who is allowed: User:NAME, or User:* for all')
            ,@('--deny', 'Who is denied')
            ,@('--operation', 'Such as read, write, describe, alter-configs, all')
            ,@('--host', 'Only clients from this address (any)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'acls create' = @{
        Commands = @(
        )
        Options = @(
            ,@('--producer', 'The operations of a producer, on topics and transactional ids')
            ,@('--consumer', 'The operations of a consumer, on topics and groups')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--topic', 'A topic, or ''*'' for all')
            ,@('--group', 'A group, or ''*'' for all')
            ,@('-g', 'A group, or ''*'' for all')
            ,@('--cluster', 'The cluster itself')
            ,@('--transactional-id', 'A transactional id')
            ,@('--delegation-token', 'A delegation token')
            ,@('--user', 'A user whose delegation tokens are meant')
            ,@('--prefixed', 'Each name stands for all names that begin with it')
            ,@('--allow', 'Who is allowed: User:NAME, or User:* for all')
            ,@('--deny', 'Who is denied')
            ,@('--operation', 'Such as read, write, describe, alter-configs, all')
            ,@('--host', 'Only clients from this address (any)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'acls delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--principal', 'Rules that allow or deny this principal')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--topic', 'A topic, or ''*'' for all')
            ,@('--group', 'A group, or ''*'' for all')
            ,@('-g', 'A group, or ''*'' for all')
            ,@('--cluster', 'The cluster itself')
            ,@('--transactional-id', 'A transactional id')
            ,@('--delegation-token', 'A delegation token')
            ,@('--user', 'A user whose delegation tokens are meant')
            ,@('--prefixed', 'Each name stands for all names that begin with it')
            ,@('--allow', 'Who is allowed: User:NAME, or User:* for all')
            ,@('--deny', 'Who is denied')
            ,@('--operation', 'Such as read, write, describe, alter-configs, all')
            ,@('--host', 'Only clients from this address (any)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'acls check' = @{
        Commands = @(
        )
        Options = @(
            ,@('--operation', 'Such as read, write, describe, alter-configs, all')
            ,@('--host', 'The address of the client (any)')
            ,@('--topic', 'A topic, or ''*'' for all')
            ,@('--group', 'A group, or ''*'' for all')
            ,@('-g', 'A group, or ''*'' for all')
            ,@('--cluster', 'The cluster itself')
            ,@('--transactional-id', 'A transactional id')
            ,@('--delegation-token', 'A delegation token')
            ,@('--user', 'A user whose delegation tokens are meant')
            ,@('--prefixed', 'Each name stands for all names that begin with it')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'users' = @{
        Commands = @(
            ,@('list', 'List users with their SCRAM mechanisms and iterations')
            ,@('create', 'Create a user with a password, which is asked for on the terminal unless an option names its source')
            ,@('alter', 'Change the password of a user')
            ,@('delete', 'Delete users, or the credentials of some mechanisms')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'users list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'users create' = @{
        Commands = @(
        )
        Options = @(
            ,@('--mechanism', 'SCRAM mechanism (all)')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--password-file', 'Read the password from a file')
            ,@('--password-from', 'Where the password is')
            ,@('--iterations', 'Hash iterations')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'users alter' = @{
        Commands = @(
        )
        Options = @(
            ,@('--mechanism', 'SCRAM mechanism (all)')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--password-file', 'Read the password from a file')
            ,@('--password-from', 'Where the password is')
            ,@('--iterations', 'Hash iterations')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'users delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--mechanism', 'SCRAM mechanism (all)')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'quotas' = @{
        Commands = @(
            ,@('list', 'List the quotas that are set')
            ,@('set', 'Set quotas of a user, a client id, a user with a client id, or an address, and leave its others alone')
            ,@('unset', 'Remove quotas of one entity, so that the default quotas apply, if there are any')
            ,@('describe', 'Show which quotas apply to a client of that user, client id or address, and where each was set')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'quotas list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--user', 'A user, without User:')
            ,@('--user-default', 'All users without their own quota')
            ,@('--client-id', 'A client id')
            ,@('--client-id-default', 'All client ids without their own quota')
            ,@('--ip', 'An address of clients')
            ,@('--ip-default', 'All addresses without their own quota')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'quotas set' = @{
        Commands = @(
        )
        Options = @(
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--user', 'A user, without User:')
            ,@('--user-default', 'All users without their own quota')
            ,@('--client-id', 'A client id')
            ,@('--client-id-default', 'All client ids without their own quota')
            ,@('--ip', 'An address of clients')
            ,@('--ip-default', 'All addresses without their own quota')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'quotas unset' = @{
        Commands = @(
        )
        Options = @(
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--user', 'A user, without User:')
            ,@('--user-default', 'All users without their own quota')
            ,@('--client-id', 'A client id')
            ,@('--client-id-default', 'All client ids without their own quota')
            ,@('--ip', 'An address of clients')
            ,@('--ip-default', 'All addresses without their own quota')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'quotas describe' = @{
        Commands = @(
        )
        Options = @(
            ,@('--user', 'A user, without User:')
            ,@('--user-default', 'All users without their own quota')
            ,@('--client-id', 'A client id')
            ,@('--client-id-default', 'All client ids without their own quota')
            ,@('--ip', 'An address of clients')
            ,@('--ip-default', 'All addresses without their own quota')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'cluster' = @{
        Commands = @(
            ,@('describe', 'Show the id of the cluster, its brokers with racks, the controller, and the levels of its features')
            ,@('quorum', 'Show the voting controllers, the brokers that copy their log, and how far each is behind')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'cluster describe' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'cluster quorum' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'brokers' = @{
        Commands = @(
            ,@('disks', 'Show the log directories of brokers')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'brokers disks' = @{
        Commands = @(
        )
        Options = @(
            ,@('--replicas', 'Show the size of each replica instead, the largest first')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'why' = @{
        Commands = @(
            ,@('group', 'Show why a group does not read')
            ,@('topic', 'Show what is wrong with a topic')
            ,@('cluster', 'Show what is wrong with the cluster')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'why group' = @{
        Commands = @(
        )
        Options = @(
            ,@('--watch', 'Check twice, because many findings are about changes')
            ,@('--interval', 'Time between the two checks')
            ,@('--only', 'Check for this finding only')
            ,@('--ignore', 'Do not report this finding')
            ,@('--severity', 'Lowest severity to report')
            ,@('--budget', 'Maximum number of requests in total')
            ,@('--serve', 'Check every --interval and serve metrics for Prometheus at /metrics')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'why topic' = @{
        Commands = @(
        )
        Options = @(
            ,@('--watch', 'Check twice, because many findings are about changes')
            ,@('--interval', 'Time between the two checks')
            ,@('--only', 'Check for this finding only')
            ,@('--ignore', 'Do not report this finding')
            ,@('--severity', 'Lowest severity to report')
            ,@('--budget', 'Maximum number of requests in total')
            ,@('--serve', 'Check every --interval and serve metrics for Prometheus at /metrics')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'why cluster' = @{
        Commands = @(
        )
        Options = @(
            ,@('--watch', 'Check twice, because many findings are about changes')
            ,@('--interval', 'Time between the two checks')
            ,@('--only', 'Check for this finding only')
            ,@('--ignore', 'Do not report this finding')
            ,@('--severity', 'Lowest severity to report')
            ,@('--budget', 'Maximum number of requests in total')
            ,@('--serve', 'Check every --interval and serve metrics for Prometheus at /metrics')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'doctor' = @{
        Commands = @(
        )
        Options = @(
            ,@('--group', 'Check this group instead of all')
            ,@('-g', 'Check this group instead of all')
            ,@('--topic', 'Check this topic instead of all')
            ,@('--watch', 'Check twice, because many findings are about changes')
            ,@('--interval', 'Time between the two checks')
            ,@('--only', 'Check for this finding only')
            ,@('--ignore', 'Do not report this finding')
            ,@('--severity', 'Lowest severity to report')
            ,@('--budget', 'Maximum number of requests in total')
            ,@('--serve', 'Check every --interval and serve metrics for Prometheus at /metrics')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'apply' = @{
        Commands = @(
        )
        Options = @(
            ,@('--file', 'The YAML file')
            ,@('-f', 'The YAML file')
            ,@('--diff', 'Only show how the cluster differs')
            ,@('--export', 'Print the existing topics and ACLs in this format, and change nothing')
            ,@('--prune', 'Also delete topics and ACLs and unset properties that the file does not declare')
            ,@('--dry-run', 'Let the brokers check, and change nothing')
            ,@('--execute', 'With --prune: delete without asking')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'partitions' = @{
        Commands = @(
            ,@('plan', 'Print which replicas go where, with as few copies as possible')
            ,@('move', 'Carry out a plan, show the progress, and remove the throttle at the end')
            ,@('list', 'List the partitions that are being moved')
            ,@('elect', 'Elect the preferred leaders, which are the first replicas')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'partitions plan' = @{
        Commands = @(
        )
        Options = @(
            ,@('--to', 'Use only these brokers, with replicas spread evenly')
            ,@('--away-from', 'Leave no replica on these brokers')
            ,@('--replication-factor', 'Give each partition N replicas')
            ,@('-r', 'Give each partition N replicas')
            ,@('--ignore-racks', 'Place replicas without regard to the racks of brokers')
            ,@('--rollback', 'Write the plan that undoes this one to a file')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'partitions move' = @{
        Commands = @(
        )
        Options = @(
            ,@('--throttle', 'Maximum bytes per second that each broker sends, and receives, such as 50MB')
            ,@('--wait', 'Maximum time to wait for the end')
            ,@('--resume', 'Continue a move that was interrupted, and remove its throttle')
            ,@('--cancel', 'Cancel the moves that have not ended, and remove their throttle')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'partitions list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'partitions elect' = @{
        Commands = @(
        )
        Options = @(
            ,@('--all', 'Partitions of all topics')
            ,@('--unclean', 'Elect any live replica where there is no leader')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'wait' = @{
        Commands = @(
            ,@('topic', 'Wait until topics exist and each partition has a leader')
            ,@('brokers', 'Wait until at least N brokers are registered')
            ,@('group', 'Wait until a group is in a state, or has caught up')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'wait topic' = @{
        Commands = @(
        )
        Options = @(
            ,@('--partitions', 'Wait until each has at least N partitions')
            ,@('-p', 'Wait until each has at least N partitions')
            ,@('--in-sync', 'Wait until all replicas are in sync')
            ,@('--gone', 'Wait until they no longer exist')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'wait brokers' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'wait group' = @{
        Commands = @(
        )
        Options = @(
            ,@('--state', 'Wait for this state')
            ,@('--lag', 'Wait until no partition is more than N behind')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:groups')
    }
    'schemas' = @{
        Commands = @(
            ,@('list', 'List the subjects of the registry, with their versions')
            ,@('show', 'Show a schema: the latest of a subject, another version, or the schema with an id')
            ,@('check', 'Check whether a schema is compatible with a version of a subject')
            ,@('register', 'Register a schema as the next version of a subject')
            ,@('delete', 'Delete a subject, or one version of it')
            ,@('config', 'Show or set the compatibility level of a subject, or of the registry')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'schemas list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--deleted', 'Include subjects that are deleted, but not permanently')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'schemas show' = @{
        Commands = @(
        )
        Options = @(
            ,@('--version', 'Version of the subject (latest)')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'schemas check' = @{
        Commands = @(
        )
        Options = @(
            ,@('--version', 'Version of the subject (latest)')
            ,@('--type', 'Type of the schema (by the file''s extension)')
            ,@('--reference', 'NAME=SUBJECT@VERSION')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'schemas register' = @{
        Commands = @(
        )
        Options = @(
            ,@('--type', 'Type of the schema (by the file''s extension)')
            ,@('--reference', 'NAME=SUBJECT@VERSION')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'schemas delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--version', 'Version of the subject (latest)')
            ,@('--permanent', 'Delete permanently what was already deleted')
            ,@('--execute', 'Make the changes')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'schemas config' = @{
        Commands = @(
        )
        Options = @(
            ,@('--set', 'Compatibility level')
            ,@('--dry-run', 'Show what would be done, and change nothing')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'api' = @{
        Commands = @(
        )
        Options = @(
            ,@('--node', 'The broker to ask')
            ,@('--version', 'Version of the API')
            ,@('--execute', 'Send a request that can destroy records, positions or access')
            ,@('--yes', 'The same as --execute')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'profile' = @{
        Commands = @(
            ,@('list', 'List the profiles, and which one is current')
            ,@('show', 'Show the properties that a call would use')
            ,@('use', 'Make a profile the current one')
            ,@('create', 'Create a profile')
            ,@('edit', 'Change a profile')
            ,@('delete', 'Delete profiles')
            ,@('import', 'Create a profile from a Java .properties file, a configuration of kcat or librdkafka, or rpk''s')
            ,@('export', 'Write a profile as a Java .properties file, for kcat and librdkafka, or for rpk')
            ,@('check', 'Look for mistakes in profiles without asking any server')
            ,@('trust', 'Trust the project''s .kctl.toml as it is now')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'profile list' = @{
        Commands = @(
        )
        Options = @(
            ,@('--output', 'Format of the data on stdout')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'profile show' = @{
        Commands = @(
        )
        Options = @(
            ,@('--origin', 'Show every property and where its value comes from, including defaults')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:profiles')
    }
    'profile use' = @{
        Commands = @(
        )
        Options = @(
            ,@('--none', 'Make no profile the current one')
            ,@('--project', 'In the project''s .kctl.toml, not in your own file')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:profiles')
    }
    'profile create' = @{
        Commands = @(
        )
        Options = @(
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('--sasl-mechanism', 'PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER')
            ,@('--user', 'User name for SASL')
            ,@('--password-from', 'Where the password is')
            ,@('-X', 'A property, by its official name')
            ,@('--use', 'Make it the current profile')
            ,@('--force', 'Replace a profile of that name')
            ,@('--project', 'In the project''s .kctl.toml, not in your own file')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'profile edit' = @{
        Commands = @(
        )
        Options = @(
            ,@('-X', 'A property, by its official name')
            ,@('--unset', 'Remove a property')
            ,@('--project', 'In the project''s .kctl.toml, not in your own file')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:profiles')
    }
    'profile delete' = @{
        Commands = @(
        )
        Options = @(
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:profiles')
    }
    'profile import' = @{
        Commands = @(
        )
        Options = @(
            ,@('--from', 'Tool that the file belongs to [default')
            ,@('--rpk-profile', 'Which of rpk''s profiles')
            ,@('--use', 'Make it the current profile')
            ,@('--force', 'Replace a profile of that name')
            ,@('--project', 'In the project''s .kctl.toml, not in your own file')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('', '')
    }
    'profile export' = @{
        Commands = @(
        )
        Options = @(
            ,@('--as', 'Tool to write for')
            ,@('--with-secrets', 'Include passwords and keys, which are left out otherwise')
            ,@('--to', 'Write a file (0600), not stdout')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'profile check' = @{
        Commands = @(
        )
        Options = @(
            ,@('--strict', 'Exit with 3 on warnings as well')
            ,@('--output', 'Format of the data on stdout')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:profiles')
    }
    'profile trust' = @{
        Commands = @(
        )
        Options = @(
            ,@('--revoke', 'Withdraw the trust')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'bench' = @{
        Commands = @(
            ,@('produce', 'Send records as fast as they are accepted')
            ,@('consume', 'Read records from the start of a topic')
            ,@('end-to-end', 'Send records and read them')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'bench produce' = @{
        Commands = @(
        )
        Options = @(
            ,@('--records', 'How many records')
            ,@('-n', 'How many records')
            ,@('--record-size', 'Size of each value, such as 100B or 1KiB')
            ,@('--topic', 'An existing topic')
            ,@('--partitions', 'Partitions of the topic, if one is created')
            ,@('-p', 'Partitions of the topic, if one is created')
            ,@('--replication-factor', 'Replication factor of the topic, if one is created')
            ,@('-r', 'Replication factor of the topic, if one is created')
            ,@('--compression', 'Codec of batches')
            ,@('--rate', 'At most N records a second, such as 500/s')
            ,@('--acks', 'Required acknowledgements')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'bench consume' = @{
        Commands = @(
        )
        Options = @(
            ,@('--records', 'How many records')
            ,@('-n', 'How many records')
            ,@('--record-size', 'Size of each value, such as 100B or 1KiB')
            ,@('--topic', 'An existing topic')
            ,@('--partitions', 'Partitions of the topic, if one is created')
            ,@('-p', 'Partitions of the topic, if one is created')
            ,@('--replication-factor', 'Replication factor of the topic, if one is created')
            ,@('-r', 'Replication factor of the topic, if one is created')
            ,@('--compression', 'Codec of batches')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'bench end-to-end' = @{
        Commands = @(
        )
        Options = @(
            ,@('--records', 'How many records')
            ,@('-n', 'How many records')
            ,@('--record-size', 'Size of each value, such as 100B or 1KiB')
            ,@('--topic', 'An existing topic')
            ,@('--partitions', 'Partitions of the topic, if one is created')
            ,@('-p', 'Partitions of the topic, if one is created')
            ,@('--replication-factor', 'Replication factor of the topic, if one is created')
            ,@('-r', 'Replication factor of the topic, if one is created')
            ,@('--compression', 'Codec of batches')
            ,@('--rate', 'At most N records a second, such as 500/s')
            ,@('--acks', 'Required acknowledgements')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'pipeline' = @{
        Commands = @(
            ,@('export', 'Write topics to Parquet or JSON files, each record exactly once')
            ,@('import', 'Produce the records of an export, each at least once')
            ,@('mirror', 'Copy topics to another cluster, each record exactly once')
            ,@('replay', 'Produce records of a topic, an export or a table again, each once')
            ,@('stats', 'Count what is in a topic')
            ,@('sync', 'Keep files or a table up to date with topics, each record exactly once, until Ctrl-C')
            ,@('verify', 'Compare two topics, or a topic and its export')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'pipeline export' = @{
        Commands = @(
        )
        Options = @(
            ,@('--to', 'A folder, which all workers of a cluster must see at this path')
            ,@('--file-format', 'Format of files: parquet or json (lines), with zstd')
            ,@('--layout', 'Subfolders per topic')
            ,@('--partition-by', 'Partition a table')
            ,@('--level', 'Compression level of zstd')
            ,@('--start', 'Where partitions that the target does not have begin')
            ,@('--groups', 'Keep the committed offsets of this group, or of ''/app-.*/'' all that match, for import')
            ,@('--range-size', 'Approximate size that one task reads, as stored in the log')
            ,@('--file-size', 'Target size of a file (the table''s own property, or one file a range)')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--decode', 'Decode keys and values into columns, or only one of them with key= or value= in front')
            ,@('--schema', 'Schema to read by')
            ,@('--message', 'Full name of the Protobuf message (first of its file)')
            ,@('--continuous', 'Continue with new records, until Ctrl-C')
            ,@('--interval', 'Refresh interval (10s)')
            ,@('--allow-loss', 'Continue where records were deleted before they were read')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'pipeline import' = @{
        Commands = @(
        )
        Options = @(
            ,@('--topic', 'Only this exported topic')
            ,@('--to-topic', 'The target''s topic')
            ,@('--keep-partitions', 'Keep the partitions')
            ,@('--keep-timestamps', 'Keep the timestamps')
            ,@('--unordered', 'Import ranges of a partition in parallel')
            ,@('--create', 'Create topics that the target lacks, with the partitions and configs exported')
            ,@('--groups', 'Have this exported group, or of ''/app-.*/'' all that match, continue in the target')
            ,@('--progress', 'Folder for the progress of the import, required for a table')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'pipeline mirror' = @{
        Commands = @(
        )
        Options = @(
            ,@('--name', 'Name of this mirror')
            ,@('--create', 'Create topics that the target lacks, with the same number of partitions')
            ,@('--restart', 'Copy everything from the beginning, appended to what the target already has')
            ,@('--groups', 'Carry over the committed offsets of this group, or of ''/app-.*/'' all that match')
            ,@('--from-position', 'Continue at these offsets of the source instead of where the last run ended')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--to-topic', 'The target''s topic')
            ,@('--to-bootstrap', 'Bootstrap servers of the target')
            ,@('--to-config', 'A .properties file for the target''s cluster')
            ,@('--continuous', 'Continue with new records, until Ctrl-C')
            ,@('--interval', 'Refresh interval (10s)')
            ,@('--allow-loss', 'Continue where records were deleted before they were read')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'pipeline replay' = @{
        Commands = @(
        )
        Options = @(
            ,@('--from-export', 'Read the topic from this export')
            ,@('--topic-from-header', 'Produce each record to the topic that this header names')
            ,@('--since', 'Only records from this time on')
            ,@('--until', 'Only records before this time')
            ,@('--key', 'Only records whose key matches')
            ,@('--header', 'Only records with this header')
            ,@('--offset', 'Only these offsets, FROM:TO or PARTITION=FROM:TO')
            ,@('--jq', 'Only records that a jq program selects')
            ,@('--rate', 'At most N records a second, such as 500/s')
            ,@('--max-attempts', 'Skip records that were replayed N times already, by their header kctl-replay-attempts')
            ,@('--keep-partitions', 'Keep the partitions')
            ,@('--keep-timestamps', 'Keep the timestamps')
            ,@('--name', 'Name of this replay')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--to-topic', 'The target''s topic')
            ,@('--to-bootstrap', 'Bootstrap servers of the target')
            ,@('--to-config', 'A .properties file for the target''s cluster')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'pipeline stats' = @{
        Commands = @(
        )
        Options = @(
            ,@('--html', 'Write the statistics as an HTML page too')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'pipeline sync' = @{
        Commands = @(
        )
        Options = @(
            ,@('--to', 'A folder, which all workers of a cluster must see at this path')
            ,@('--checkpoint', 'Where Spark keeps offsets, on this machine (_checkpoint in the folder of --to')
            ,@('--start', 'Where partitions that the target does not have begin')
            ,@('--trigger', 'Interval between batches (10s)')
            ,@('--available-now', 'Stop after the records that exist at startup')
            ,@('--max-records-per-batch', 'Maximum number of offsets in a batch (10000000')
            ,@('--group', 'Also commit progress to this consumer group, without members')
            ,@('-g', 'Also commit progress to this consumer group, without members')
            ,@('--file-format', 'Format of files: parquet or json (lines), with zstd')
            ,@('--layout', 'Subfolders per topic')
            ,@('--level', 'Compression level of zstd')
            ,@('--range-size', 'Approximate size that one task reads, as stored in the log')
            ,@('--file-size', 'Target size of a file (the table''s own property, or one file a range)')
            ,@('--allow-loss', 'Continue where records were deleted before they were read')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--decode', 'Decode keys and values into columns, or only one of them with key= or value= in front')
            ,@('--schema', 'Schema to read by')
            ,@('--message', 'Full name of the Protobuf message (first of its file)')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'pipeline verify' = @{
        Commands = @(
        )
        Options = @(
            ,@('--to-export', 'Compare with an export or a table, including offsets')
            ,@('--groups', 'Also check that this group, or each of ''/app-.*/'', continues at the same record in the target')
            ,@('--ignore-timestamps', 'Treat records that differ only in their timestamps as equal')
            ,@('--allow-behind', 'Accept a target that is still behind its source')
            ,@('--to-topic', 'The target''s topic')
            ,@('--to-bootstrap', 'Bootstrap servers of the target')
            ,@('--to-config', 'A .properties file for the target''s cluster')
            ,@('--dry-run', 'Show what would be read and written, and change nothing')
            ,@('--master', 'Where Spark runs')
            ,@('--spark-conf', 'A property of Spark')
            ,@('--spark-log', 'File for Spark''s log')
            ,@('--worker-python', 'Python of a cluster''s workers')
            ,@('--bootstrap', 'Bootstrap servers, separated by commas or repeated')
            ,@('-b', 'Bootstrap servers, separated by commas or repeated')
            ,@('--api-timeout', 'Timeout of one whole call (60s)')
            ,@('--connect-timeout', 'Timeout of each attempt to connect')
            ,@('--request-timeout', 'Timeout of one request (30s)')
            ,@('--close-timeout', 'Timeout of close (30s)')
            ,@('--fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--no-fail-fast', 'Fail after 5s while all bootstrap servers refuse or do not resolve, or try until --api-timeout')
            ,@('--security-protocol', 'PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL')
            ,@('-X', 'Any Kafka client property, by its official name')
            ,@('--command-config', 'A .properties file, as Kafka''s own tools take it')
            ,@('--profile', 'Profile to use')
            ,@('-C', 'Profile to use')
            ,@('--output', 'Format of the data on stdout')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--verbose', 'Print more detail on stderr')
            ,@('-v', 'Print more detail on stderr')
            ,@('--trace', 'Print every request and connection attempt on stderr, and draw where the time went')
            ,@('--trace-file', 'Write every request and connection attempt to a file, as jsonl')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('names:topics')
    }
    'completion' = @{
        Commands = @(
            ,@('bash', 'Print the script of bash')
            ,@('zsh', 'Print the file _kctl of zsh, for a folder in $fpath')
            ,@('fish', 'Print the script of fish')
            ,@('powershell', 'Print the script of PowerShell')
            ,@('install', 'Write the script where your shell finds it')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'completion bash' = @{
        Commands = @(
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'completion zsh' = @{
        Commands = @(
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'completion fish' = @{
        Commands = @(
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'completion powershell' = @{
        Commands = @(
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'completion install' = @{
        Commands = @(
        )
        Options = @(
            ,@('--force', 'Replace a file that kctl did not write')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--yes', 'Not needed here: the change is made without asking')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'help-json' = @{
        Commands = @(
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'explain' = @{
        Commands = @(
        )
        Options = @(
            ,@('--list', 'List everything that can be explained')
            ,@('--output', 'Format of the data on stdout')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('list:subjects')
    }
    'sandbox' = @{
        Commands = @(
            ,@('up', 'Start the cluster and run it until Ctrl-C')
            ,@('tell', 'Send a command to a running cluster')
            ,@('status', 'Show the running sandboxes of this user')
        )
        Options = @(
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'sandbox up' = @{
        Commands = @(
        )
        Options = @(
            ,@('--nodes', 'Number of brokers')
            ,@('--port', 'Node i listens on this port + i - 1')
            ,@('--host', 'Address to listen on')
            ,@('--topic', 'A topic to start with')
            ,@('--replication-factor', 'Replication factor of new topics')
            ,@('-r', 'Replication factor of new topics')
            ,@('--num-partitions', 'Partitions of topics created without a number')
            ,@('--config', 'A broker property, by its official name')
            ,@('--node-ids-from', 'Id of the first broker')
            ,@('--racks', 'The rack of each node, in order, repeated as needed')
            ,@('--min-insync-replicas', 'Replicas that acks=all needs')
            ,@('--transaction-version', '2: an epoch for each transaction (KIP-890)')
            ,@('--acls', 'Enforce ACLs')
            ,@('--super-user', 'Principal that needs no ACLs (User:ANONYMOUS, or the first of --sasl-user)')
            ,@('--sasl-user', 'Require SASL: a user and the file of its password')
            ,@('--tls-certificate', 'Require TLS: a PEM file with key and certificates')
            ,@('--control', 'Accept commands of `kctl sandbox tell` on this socket [default')
            ,@('--quiet', 'Print only errors on stderr')
            ,@('-q', 'Print only errors on stderr')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
    'sandbox tell' = @{
        Commands = @(
        )
        Options = @(
            ,@('--control', 'The socket of `kctl sandbox up`')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @('')
    }
    'sandbox status' = @{
        Commands = @(
        )
        Options = @(
            ,@('--control', 'The socket of `kctl sandbox up`')
            ,@('--output', 'Format of the data on stdout')
            ,@('--help', 'Show this message and exit')
            ,@('-h', 'Show this message and exit')
        )
        Values = [System.Collections.Hashtable]::new()
        Arguments = @()
    }
}
$kctlPlaces['consume'].Values['--isolation'] = @('read_uncommitted', 'read_committed')
$kctlPlaces['consume'].Values['--group'] = 'names:groups'
$kctlPlaces['consume'].Values['-g'] = 'names:groups'
$kctlPlaces['consume'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['consume'].Values['-X'] = 'list:properties'
$kctlPlaces['consume'].Values['--profile'] = 'names:profiles'
$kctlPlaces['consume'].Values['-C'] = 'names:profiles'
$kctlPlaces['consume'].Values['--output'] = @('jsonl', 'csv', 'raw', 'hex', 'base64')
$kctlPlaces['produce'].Values['--input'] = @('lines', 'jsonl')
$kctlPlaces['produce'].Values['-i'] = @('lines', 'jsonl')
$kctlPlaces['produce'].Values['--partitioner'] = @('default', 'round_robin')
$kctlPlaces['produce'].Values['--acks'] = @('all', '1', '0')
$kctlPlaces['produce'].Values['--compression'] = @('none', 'gzip', 'snappy', 'lz4', 'zstd')
$kctlPlaces['produce'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['produce'].Values['-X'] = 'list:properties'
$kctlPlaces['produce'].Values['--profile'] = 'names:profiles'
$kctlPlaces['produce'].Values['-C'] = 'names:profiles'
$kctlPlaces['probe'].Values['--group'] = 'names:groups'
$kctlPlaces['probe'].Values['-g'] = 'names:groups'
$kctlPlaces['probe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['probe'].Values['-X'] = 'list:properties'
$kctlPlaces['probe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['probe'].Values['-C'] = 'names:profiles'
$kctlPlaces['probe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['probe report'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['probe report'].Values['-X'] = 'list:properties'
$kctlPlaces['probe report'].Values['--profile'] = 'names:profiles'
$kctlPlaces['probe report'].Values['-C'] = 'names:profiles'
$kctlPlaces['probe report'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml')
$kctlPlaces['topics list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics list'].Values['-X'] = 'list:properties'
$kctlPlaces['topics list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics list'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics describe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics describe'].Values['-X'] = 'list:properties'
$kctlPlaces['topics describe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics describe'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics describe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics create'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics create'].Values['-X'] = 'list:properties'
$kctlPlaces['topics create'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics create'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics create'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics alter'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics alter'].Values['-X'] = 'list:properties'
$kctlPlaces['topics alter'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics alter'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics alter'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics offsets'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics offsets'].Values['-X'] = 'list:properties'
$kctlPlaces['topics offsets'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics offsets'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics offsets'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics trim'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics trim'].Values['-X'] = 'list:properties'
$kctlPlaces['topics trim'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics trim'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics trim'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['topics delete'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['topics delete'].Values['-X'] = 'list:properties'
$kctlPlaces['topics delete'].Values['--profile'] = 'names:profiles'
$kctlPlaces['topics delete'].Values['-C'] = 'names:profiles'
$kctlPlaces['topics delete'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups list'].Values['-X'] = 'list:properties'
$kctlPlaces['groups list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups list'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups describe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups describe'].Values['-X'] = 'list:properties'
$kctlPlaces['groups describe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups describe'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups describe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups lag'].Values['--topic'] = 'names:topics'
$kctlPlaces['groups lag'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups lag'].Values['-X'] = 'list:properties'
$kctlPlaces['groups lag'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups lag'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups lag'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups members'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups members'].Values['-X'] = 'list:properties'
$kctlPlaces['groups members'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups members'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups members'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups delete'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups delete'].Values['-X'] = 'list:properties'
$kctlPlaces['groups delete'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups delete'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups delete'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups reset-offsets'].Values['--topic'] = 'names:topics'
$kctlPlaces['groups reset-offsets'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups reset-offsets'].Values['-X'] = 'list:properties'
$kctlPlaces['groups reset-offsets'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups reset-offsets'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups reset-offsets'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups delete-offsets'].Values['--topic'] = 'names:topics'
$kctlPlaces['groups delete-offsets'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups delete-offsets'].Values['-X'] = 'list:properties'
$kctlPlaces['groups delete-offsets'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups delete-offsets'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups delete-offsets'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['groups remove-members'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['groups remove-members'].Values['-X'] = 'list:properties'
$kctlPlaces['groups remove-members'].Values['--profile'] = 'names:profiles'
$kctlPlaces['groups remove-members'].Values['-C'] = 'names:profiles'
$kctlPlaces['groups remove-members'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['transactions list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['transactions list'].Values['-X'] = 'list:properties'
$kctlPlaces['transactions list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['transactions list'].Values['-C'] = 'names:profiles'
$kctlPlaces['transactions list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['transactions describe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['transactions describe'].Values['-X'] = 'list:properties'
$kctlPlaces['transactions describe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['transactions describe'].Values['-C'] = 'names:profiles'
$kctlPlaces['transactions describe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['transactions hanging'].Values['--topic'] = 'names:topics'
$kctlPlaces['transactions hanging'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['transactions hanging'].Values['-X'] = 'list:properties'
$kctlPlaces['transactions hanging'].Values['--profile'] = 'names:profiles'
$kctlPlaces['transactions hanging'].Values['-C'] = 'names:profiles'
$kctlPlaces['transactions hanging'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['transactions abort'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['transactions abort'].Values['-X'] = 'list:properties'
$kctlPlaces['transactions abort'].Values['--profile'] = 'names:profiles'
$kctlPlaces['transactions abort'].Values['-C'] = 'names:profiles'
$kctlPlaces['transactions abort'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['configs show'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['configs show'].Values['-X'] = 'list:properties'
$kctlPlaces['configs show'].Values['--profile'] = 'names:profiles'
$kctlPlaces['configs show'].Values['-C'] = 'names:profiles'
$kctlPlaces['configs show'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['configs set'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['configs set'].Values['-X'] = 'list:properties'
$kctlPlaces['configs set'].Values['--profile'] = 'names:profiles'
$kctlPlaces['configs set'].Values['-C'] = 'names:profiles'
$kctlPlaces['configs set'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['configs unset'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['configs unset'].Values['-X'] = 'list:properties'
$kctlPlaces['configs unset'].Values['--profile'] = 'names:profiles'
$kctlPlaces['configs unset'].Values['-C'] = 'names:profiles'
$kctlPlaces['configs unset'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['acls list'].Values['--topic'] = 'names:topics'
$kctlPlaces['acls list'].Values['--group'] = 'names:groups'
$kctlPlaces['acls list'].Values['-g'] = 'names:groups'
$kctlPlaces['acls list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['acls list'].Values['-X'] = 'list:properties'
$kctlPlaces['acls list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['acls list'].Values['-C'] = 'names:profiles'
$kctlPlaces['acls list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['acls create'].Values['--topic'] = 'names:topics'
$kctlPlaces['acls create'].Values['--group'] = 'names:groups'
$kctlPlaces['acls create'].Values['-g'] = 'names:groups'
$kctlPlaces['acls create'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['acls create'].Values['-X'] = 'list:properties'
$kctlPlaces['acls create'].Values['--profile'] = 'names:profiles'
$kctlPlaces['acls create'].Values['-C'] = 'names:profiles'
$kctlPlaces['acls create'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['acls delete'].Values['--topic'] = 'names:topics'
$kctlPlaces['acls delete'].Values['--group'] = 'names:groups'
$kctlPlaces['acls delete'].Values['-g'] = 'names:groups'
$kctlPlaces['acls delete'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['acls delete'].Values['-X'] = 'list:properties'
$kctlPlaces['acls delete'].Values['--profile'] = 'names:profiles'
$kctlPlaces['acls delete'].Values['-C'] = 'names:profiles'
$kctlPlaces['acls delete'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['acls check'].Values['--topic'] = 'names:topics'
$kctlPlaces['acls check'].Values['--group'] = 'names:groups'
$kctlPlaces['acls check'].Values['-g'] = 'names:groups'
$kctlPlaces['acls check'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['acls check'].Values['-X'] = 'list:properties'
$kctlPlaces['acls check'].Values['--profile'] = 'names:profiles'
$kctlPlaces['acls check'].Values['-C'] = 'names:profiles'
$kctlPlaces['acls check'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['users list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['users list'].Values['-X'] = 'list:properties'
$kctlPlaces['users list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['users list'].Values['-C'] = 'names:profiles'
$kctlPlaces['users list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['users create'].Values['--mechanism'] = @('SCRAM-SHA-256', 'SCRAM-SHA-512')
$kctlPlaces['users create'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['users create'].Values['-X'] = 'list:properties'
$kctlPlaces['users create'].Values['--profile'] = 'names:profiles'
$kctlPlaces['users create'].Values['-C'] = 'names:profiles'
$kctlPlaces['users create'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['users alter'].Values['--mechanism'] = @('SCRAM-SHA-256', 'SCRAM-SHA-512')
$kctlPlaces['users alter'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['users alter'].Values['-X'] = 'list:properties'
$kctlPlaces['users alter'].Values['--profile'] = 'names:profiles'
$kctlPlaces['users alter'].Values['-C'] = 'names:profiles'
$kctlPlaces['users alter'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['users delete'].Values['--mechanism'] = @('SCRAM-SHA-256', 'SCRAM-SHA-512')
$kctlPlaces['users delete'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['users delete'].Values['-X'] = 'list:properties'
$kctlPlaces['users delete'].Values['--profile'] = 'names:profiles'
$kctlPlaces['users delete'].Values['-C'] = 'names:profiles'
$kctlPlaces['users delete'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['quotas list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['quotas list'].Values['-X'] = 'list:properties'
$kctlPlaces['quotas list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['quotas list'].Values['-C'] = 'names:profiles'
$kctlPlaces['quotas list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['quotas set'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['quotas set'].Values['-X'] = 'list:properties'
$kctlPlaces['quotas set'].Values['--profile'] = 'names:profiles'
$kctlPlaces['quotas set'].Values['-C'] = 'names:profiles'
$kctlPlaces['quotas set'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['quotas unset'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['quotas unset'].Values['-X'] = 'list:properties'
$kctlPlaces['quotas unset'].Values['--profile'] = 'names:profiles'
$kctlPlaces['quotas unset'].Values['-C'] = 'names:profiles'
$kctlPlaces['quotas unset'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['quotas describe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['quotas describe'].Values['-X'] = 'list:properties'
$kctlPlaces['quotas describe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['quotas describe'].Values['-C'] = 'names:profiles'
$kctlPlaces['quotas describe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['cluster describe'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['cluster describe'].Values['-X'] = 'list:properties'
$kctlPlaces['cluster describe'].Values['--profile'] = 'names:profiles'
$kctlPlaces['cluster describe'].Values['-C'] = 'names:profiles'
$kctlPlaces['cluster describe'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['cluster quorum'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['cluster quorum'].Values['-X'] = 'list:properties'
$kctlPlaces['cluster quorum'].Values['--profile'] = 'names:profiles'
$kctlPlaces['cluster quorum'].Values['-C'] = 'names:profiles'
$kctlPlaces['cluster quorum'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['brokers disks'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['brokers disks'].Values['-X'] = 'list:properties'
$kctlPlaces['brokers disks'].Values['--profile'] = 'names:profiles'
$kctlPlaces['brokers disks'].Values['-C'] = 'names:profiles'
$kctlPlaces['brokers disks'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['why group'].Values['--severity'] = @('error', 'warning', 'note')
$kctlPlaces['why group'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['why group'].Values['-X'] = 'list:properties'
$kctlPlaces['why group'].Values['--profile'] = 'names:profiles'
$kctlPlaces['why group'].Values['-C'] = 'names:profiles'
$kctlPlaces['why group'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['why topic'].Values['--severity'] = @('error', 'warning', 'note')
$kctlPlaces['why topic'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['why topic'].Values['-X'] = 'list:properties'
$kctlPlaces['why topic'].Values['--profile'] = 'names:profiles'
$kctlPlaces['why topic'].Values['-C'] = 'names:profiles'
$kctlPlaces['why topic'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['why cluster'].Values['--severity'] = @('error', 'warning', 'note')
$kctlPlaces['why cluster'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['why cluster'].Values['-X'] = 'list:properties'
$kctlPlaces['why cluster'].Values['--profile'] = 'names:profiles'
$kctlPlaces['why cluster'].Values['-C'] = 'names:profiles'
$kctlPlaces['why cluster'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['doctor'].Values['--group'] = 'names:groups'
$kctlPlaces['doctor'].Values['-g'] = 'names:groups'
$kctlPlaces['doctor'].Values['--topic'] = 'names:topics'
$kctlPlaces['doctor'].Values['--severity'] = @('error', 'warning', 'note')
$kctlPlaces['doctor'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['doctor'].Values['-X'] = 'list:properties'
$kctlPlaces['doctor'].Values['--profile'] = 'names:profiles'
$kctlPlaces['doctor'].Values['-C'] = 'names:profiles'
$kctlPlaces['doctor'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['apply'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['apply'].Values['-X'] = 'list:properties'
$kctlPlaces['apply'].Values['--profile'] = 'names:profiles'
$kctlPlaces['apply'].Values['-C'] = 'names:profiles'
$kctlPlaces['apply'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['partitions plan'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['partitions plan'].Values['-X'] = 'list:properties'
$kctlPlaces['partitions plan'].Values['--profile'] = 'names:profiles'
$kctlPlaces['partitions plan'].Values['-C'] = 'names:profiles'
$kctlPlaces['partitions move'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['partitions move'].Values['-X'] = 'list:properties'
$kctlPlaces['partitions move'].Values['--profile'] = 'names:profiles'
$kctlPlaces['partitions move'].Values['-C'] = 'names:profiles'
$kctlPlaces['partitions move'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['partitions list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['partitions list'].Values['-X'] = 'list:properties'
$kctlPlaces['partitions list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['partitions list'].Values['-C'] = 'names:profiles'
$kctlPlaces['partitions list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['partitions elect'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['partitions elect'].Values['-X'] = 'list:properties'
$kctlPlaces['partitions elect'].Values['--profile'] = 'names:profiles'
$kctlPlaces['partitions elect'].Values['-C'] = 'names:profiles'
$kctlPlaces['partitions elect'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['wait topic'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['wait topic'].Values['-X'] = 'list:properties'
$kctlPlaces['wait topic'].Values['--profile'] = 'names:profiles'
$kctlPlaces['wait topic'].Values['-C'] = 'names:profiles'
$kctlPlaces['wait brokers'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['wait brokers'].Values['-X'] = 'list:properties'
$kctlPlaces['wait brokers'].Values['--profile'] = 'names:profiles'
$kctlPlaces['wait brokers'].Values['-C'] = 'names:profiles'
$kctlPlaces['wait group'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['wait group'].Values['-X'] = 'list:properties'
$kctlPlaces['wait group'].Values['--profile'] = 'names:profiles'
$kctlPlaces['wait group'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas list'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas list'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas list'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas list'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['schemas show'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas show'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas show'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas show'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas show'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['schemas check'].Values['--type'] = @('avro', 'protobuf', 'json')
$kctlPlaces['schemas check'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas check'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas check'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas check'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas check'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['schemas register'].Values['--type'] = @('avro', 'protobuf', 'json')
$kctlPlaces['schemas register'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas register'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas register'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas register'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas register'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['schemas delete'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas delete'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas delete'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas delete'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas delete'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['schemas config'].Values['--set'] = @('BACKWARD', 'BACKWARD_TRANSITIVE', 'FORWARD', 'FORWARD_TRANSITIVE', 'FULL', 'FULL_TRANSITIVE', 'NONE')
$kctlPlaces['schemas config'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['schemas config'].Values['-X'] = 'list:properties'
$kctlPlaces['schemas config'].Values['--profile'] = 'names:profiles'
$kctlPlaces['schemas config'].Values['-C'] = 'names:profiles'
$kctlPlaces['schemas config'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['api'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['api'].Values['-X'] = 'list:properties'
$kctlPlaces['api'].Values['--profile'] = 'names:profiles'
$kctlPlaces['api'].Values['-C'] = 'names:profiles'
$kctlPlaces['api'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['profile list'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['profile show'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['profile show'].Values['-X'] = 'list:properties'
$kctlPlaces['profile show'].Values['--profile'] = 'names:profiles'
$kctlPlaces['profile show'].Values['-C'] = 'names:profiles'
$kctlPlaces['profile show'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['profile create'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['profile create'].Values['-X'] = 'list:properties'
$kctlPlaces['profile edit'].Values['-X'] = 'list:properties'
$kctlPlaces['profile import'].Values['--from'] = @('java', 'librdkafka', 'rpk')
$kctlPlaces['profile export'].Values['--as'] = @('java', 'librdkafka', 'rpk')
$kctlPlaces['profile check'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['bench produce'].Values['--topic'] = 'names:topics'
$kctlPlaces['bench produce'].Values['--compression'] = @('none', 'gzip', 'snappy', 'lz4', 'zstd')
$kctlPlaces['bench produce'].Values['--acks'] = @('all', '1', '0')
$kctlPlaces['bench produce'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['bench produce'].Values['-X'] = 'list:properties'
$kctlPlaces['bench produce'].Values['--profile'] = 'names:profiles'
$kctlPlaces['bench produce'].Values['-C'] = 'names:profiles'
$kctlPlaces['bench produce'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['bench consume'].Values['--topic'] = 'names:topics'
$kctlPlaces['bench consume'].Values['--compression'] = @('none', 'gzip', 'snappy', 'lz4', 'zstd')
$kctlPlaces['bench consume'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['bench consume'].Values['-X'] = 'list:properties'
$kctlPlaces['bench consume'].Values['--profile'] = 'names:profiles'
$kctlPlaces['bench consume'].Values['-C'] = 'names:profiles'
$kctlPlaces['bench consume'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['bench end-to-end'].Values['--topic'] = 'names:topics'
$kctlPlaces['bench end-to-end'].Values['--compression'] = @('none', 'gzip', 'snappy', 'lz4', 'zstd')
$kctlPlaces['bench end-to-end'].Values['--acks'] = @('all', '1', '0')
$kctlPlaces['bench end-to-end'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['bench end-to-end'].Values['-X'] = 'list:properties'
$kctlPlaces['bench end-to-end'].Values['--profile'] = 'names:profiles'
$kctlPlaces['bench end-to-end'].Values['-C'] = 'names:profiles'
$kctlPlaces['bench end-to-end'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline export'].Values['--groups'] = 'names:groups'
$kctlPlaces['pipeline export'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline export'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline export'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline export'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline export'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline import'].Values['--topic'] = 'names:topics'
$kctlPlaces['pipeline import'].Values['--to-topic'] = 'names:topics'
$kctlPlaces['pipeline import'].Values['--groups'] = 'names:groups'
$kctlPlaces['pipeline import'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline import'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline import'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline import'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline import'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline mirror'].Values['--groups'] = 'names:groups'
$kctlPlaces['pipeline mirror'].Values['--to-topic'] = 'names:topics'
$kctlPlaces['pipeline mirror'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline mirror'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline mirror'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline mirror'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline mirror'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline replay'].Values['--to-topic'] = 'names:topics'
$kctlPlaces['pipeline replay'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline replay'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline replay'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline replay'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline replay'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline stats'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline stats'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline stats'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline stats'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline stats'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline sync'].Values['--group'] = 'names:groups'
$kctlPlaces['pipeline sync'].Values['-g'] = 'names:groups'
$kctlPlaces['pipeline sync'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline sync'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline sync'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline sync'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline sync'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['pipeline verify'].Values['--groups'] = 'names:groups'
$kctlPlaces['pipeline verify'].Values['--to-topic'] = 'names:topics'
$kctlPlaces['pipeline verify'].Values['--security-protocol'] = @('PLAINTEXT', 'SSL', 'SASL_PLAINTEXT', 'SASL_SSL')
$kctlPlaces['pipeline verify'].Values['-X'] = 'list:properties'
$kctlPlaces['pipeline verify'].Values['--profile'] = 'names:profiles'
$kctlPlaces['pipeline verify'].Values['-C'] = 'names:profiles'
$kctlPlaces['pipeline verify'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['explain'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')
$kctlPlaces['sandbox status'].Values['--output'] = @('table', 'json', 'jsonl', 'yaml', 'csv')

Register-ArgumentCompleter -Native -CommandName 'kctl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $elements = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or
        ($_.Extent.EndOffset -eq $cursorPosition -and $wordToComplete -eq '') } | ForEach-Object { $_.ToString() })
    $path = ''
    $option = ''
    $count = 0
    for ($i = 1; $i -lt $elements.Count; $i++) {
        $word = $elements[$i]
        $next = ($path + ' ' + $word).Trim()
        if ($option -ne '') { $option = '' }
        elseif ($word.StartsWith('-')) {
            $here = $path.Replace(' ', '.') + ':' + $word
            if (($kctlValued -ccontains $word) -or ($kctlValued -ccontains $here)) { $option = $word }
        }
        elseif ($kctlPlaces.Contains($next)) { $path = $next }
        else { $count++ }
    }

    $place = $kctlPlaces[$path]
    $found = @()
    $offer = $null
    if ($option -ne '') { $offer = $place.Values[$option] }
    elseif ($wordToComplete.StartsWith('-')) { $found = @($place.Options) }
    elseif ($place.Commands.Count -gt 0) { $found = @($place.Commands) }
    elseif ($place.Arguments.Count -gt 0) {
        $offer = $place.Arguments[[Math]::Min($count, $place.Arguments.Count - 1)]
    }
    if ($offer -is [array]) { $found = @($offer | ForEach-Object { ,@($_, $_) }) }
    elseif ($offer -like 'list:*') { $found = @($kctlLists[$offer.Substring(5)] | ForEach-Object { ,@($_, $_) }) }
    elseif ($offer -like 'names:*') {
        $line = $commandAst.ToString()
        $names = @(& $elements[0] __complete $offer.Substring(6) $line 2>$null)
        $found = @($names | ForEach-Object { ,@($_, $_) })
    }
    $found | Where-Object { $_ -and $_[0].StartsWith($wordToComplete) } | ForEach-Object {
        $text = if ($_[0] -match '^[\w.=:/-]+$') { $_[0] } else { "'" + $_[0].Replace("'", "''") + "'" }
        [System.Management.Automation.CompletionResult]::new($text, $_[0], 'ParameterValue', $_[1])
    }
}
