"""Properties of other clients that have no meaning in kctl.

Properties that would change the meaning of others are rejected; the rest is ignored with a warning.
"""

_JAVA_CLASS = "the property specifies a Java class, which kctl cannot run"
_JAVA_TLS = "the property configures the TLS of Java, which kctl does not use"
_METRICS = "the property configures metrics of Java clients"
_KERBEROS = "kctl does not run kinit, but gets a new ticket after 80% of the ticket lifetime"
_VALIDATION = "only brokers use this property, to validate tokens"
_ENDPOINT = "the property configures JWT assertions, which kctl does not support"
_LOGIN = "kctl reads the token at each login, or fetches a new token after 80% of the token lifetime"
_SHARE = "the property configures share consumers, which kctl does not support"

IGNORED: dict[str, str] = {
    "key.serializer": "kctl accepts keys as bytes: serialize keys before send()",
    "value.serializer": "kctl accepts values as bytes: serialize values before send()",
    "key.deserializer": "kctl returns keys as bytes: deserialize keys after poll()",
    "value.deserializer": "kctl returns values as bytes: deserialize values after poll()",
    "interceptor.classes": _JAVA_CLASS,
    "metric.reporters": _METRICS,
    "metrics.num.samples": _METRICS,
    "metrics.recording.level": _METRICS,
    "metrics.sample.window.ms": _METRICS,
    "auto.include.jmx.reporter": _METRICS,
    "sasl.client.callback.handler.class": _JAVA_CLASS,
    "sasl.login.callback.handler.class": _JAVA_CLASS,
    "sasl.login.class": _JAVA_CLASS,
    "sasl.oauthbearer.jwt.retriever.class": _JAVA_CLASS,
    "sasl.oauthbearer.jwt.validator.class": _JAVA_CLASS,
    "sasl.kerberos.kinit.cmd": _KERBEROS,
    "sasl.kerberos.min.time.before.relogin": _KERBEROS,
    "sasl.kerberos.ticket.renew.jitter": _KERBEROS,
    "sasl.kerberos.ticket.renew.window.factor": _KERBEROS,
    "sasl.oauthbearer.clock.skew.seconds": _VALIDATION,
    "sasl.oauthbearer.expected.audience": _VALIDATION,
    "sasl.oauthbearer.expected.issuer": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _VALIDATION,
    "sasl.oauthbearer.jwks.endpoint.url": _VALIDATION,
    "sasl.oauthbearer.scope.claim.name": _VALIDATION,
    "sasl.oauthbearer.sub.claim.name": _VALIDATION,
    "sasl.login.retry.backoff.ms": "kctl retries failed logins after reconnect.backoff.ms",
    "sasl.login.retry.backoff.max.ms": "kctl retries failed logins after reconnect.backoff.ms",
    "sasl.login.refresh.buffer.seconds": _LOGIN,
    "sasl.login.refresh.min.period.seconds": _LOGIN,
    "sasl.login.refresh.window.factor": _LOGIN,
    "sasl.login.refresh.window.jitter": _LOGIN,
    "security.providers": _JAVA_TLS,
    "ssl.engine.factory.class": _JAVA_CLASS,
    "ssl.keymanager.algorithm": _JAVA_TLS,
    "ssl.protocol": "use ssl.enabled.protocols",
    "ssl.provider": _JAVA_TLS,
    "ssl.secure.random.implementation": _JAVA_TLS,
    "ssl.trustmanager.algorithm": _JAVA_TLS,
    "share.acknowledgement.mode": _SHARE,
    "share.acquire.mode": _SHARE,
    "internal.throw.on.fetch.stable.offset.unsupported": "the property is internal to Java clients",
}

IGNORED_PREFIXES: dict[str, str] = {
    "metrics.": _METRICS,
    "sasl.oauthbearer.assertion.": _ENDPOINT,
    "schema.registry.": "the client does not use a schema registry",
    "basic.auth.": "the client does not use a schema registry",
    "confluent.": "the property belongs to Confluent clients",
}

REFUSED: dict[str, str] = {
    "bootstrap.controllers": "kctl cannot connect to controllers: use bootstrap.servers",
    "config.providers": "kctl does not support config providers and does not replace ${...}",
    "transaction.two.phase.commit.enable": "kctl does not support two-phase commit",
}
_HARMLESS = {"transaction.two.phase.commit.enable": "false"}


LIBRDKAFKA_NAMES = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery.timeout.ms",
    "queue.buffering.max.ms": "linger.ms",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "socket.timeout.ms": "request.timeout.ms",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "message.max.bytes": "max.request.size",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
"""Kafka's names of properties that librdkafka names differently."""

_LOGGED = "use the Python loggers below kctl.client"
_CALLBACK = "use the argument callback of send()"
_EVENTS = "use the argument events of the client"
_LISTENER = "pass a RebalanceListener to subscribe()"
_SOCKETS = "kctl has no property for this socket setting"
_PREFETCH = "use the argument prefetch_bytes of Consumer"
_REFRESH = "kctl refreshes metadata after errors and after metadata.max.age.ms"
_VERSIONS = "kctl negotiates API versions with each broker"

LIBRDKAFKA_HINTS = {
    "statistics.interval.ms": "use metrics() of the client for statistics",
    "enable.partition.eof": "compare position() with end_offsets()",
    "queue.buffering.max.messages": "use buffer.memory to limit unsent records",
    "queue.buffering.max.kbytes": "use buffer.memory to limit unsent records",
    "batch.num.messages": "use batch.size to limit the bytes of a batch",
    "queued.max.messages.kbytes": "use the argument prefetch_bytes of Consumer",
    "error_cb": "use the argument events of the client",
    "on_delivery": "use the argument callback of send()",
    "on_commit": "use the argument callback of commit_async()",
    "logger": _LOGGED,
    "api.version.fallback.ms": _VERSIONS,
    "api.version.request": _VERSIONS,
    "api.version.request.timeout.ms": _VERSIONS,
    "auto.commit.enable": "use enable.auto.commit",
    "background_event_cb": _EVENTS,
    "broker.address.family": "kctl tries IPv4 and IPv6 addresses",
    "broker.address.ttl": "kctl resolves host names for each connection",
    "broker.version.fallback": _VERSIONS,
    "closesocket_cb": _SOCKETS,
    "compression.level": "use compression.gzip.level, compression.lz4.level, or compression.zstd.level",
    "connect_cb": _SOCKETS,
    "consume.callback.max.messages": "use max.poll.records to limit the records of a poll",
    "consume_cb": "call poll() or iterate over the consumer",
    "coordinator.query.interval.ms": "kctl finds the coordinator when it needs it",
    "debug": _LOGGED,
    "default_topic_conf": "move the properties of default_topic_conf to the top level",
    "delivery.report.only.error": _CALLBACK,
    "dr_cb": _CALLBACK,
    "dr_msg_cb": _CALLBACK,
    "enable.gapless.guarantee": "use enable.idempotence to avoid reordered and duplicate records",
    "enable.ssl.certificate.verification": "kctl always verifies certificates",
    "enabled_events": _EVENTS,
    "fetch.error.backoff.ms": "use retry.backoff.ms for the backoff after errors",
    "fetch.queue.backoff.ms": _PREFETCH,
    "group.protocol.type": "kctl always uses the group protocol type consumer",
    "interceptors": "kctl cannot load plugins of librdkafka",
    "internal.termination.signal": "use close() to end the threads of a client",
    "log.connection.close": _LOGGED,
    "log.queue": _LOGGED,
    "log.thread.name": _LOGGED,
    "log_cb": _LOGGED,
    "log_level": _LOGGED,
    "message.copy.max.bytes": "kctl has no equivalent of this property",
    "msg_order_cmp": "kctl always sends the records of a partition in order",
    "oauth_cb": "use sasl.oauthbearer.token.callback",
    "oauthbearer_token_refresh_cb": "use sasl.oauthbearer.token.callback",
    "offset.store.method": "kctl always commits offsets to the group",
    "offset.store.path": "kctl always commits offsets to the group",
    "offset.store.sync.interval.ms": "kctl always commits offsets to the group",
    "offset_commit_cb": "use the argument callback of commit_async()",
    "opaque": _CALLBACK,
    "open_cb": _SOCKETS,
    "partitioner": "use the argument partitioner of Producer (default: by key hash, as in Java)",
    "partitioner_cb": "use the argument partitioner of Producer",
    "plugin.library.paths": "kctl cannot load plugins of librdkafka",
    "produce.offset.report": "use the future that send() returns, which contains the offset",
    "queue.buffering.backpressure.threshold": "use linger.ms and batch.size to control batching",
    "queued.min.messages": _PREFETCH,
    "queuing.strategy": "kctl always sends the records of a partition in order",
    "rebalance_cb": _LISTENER,
    "receive.message.max.bytes": "use fetch.max.bytes to limit a fetch response",
    "reconnect.backoff.jitter.ms": "use reconnect.backoff.ms and reconnect.backoff.max.ms",
    "resolve_cb": _SOCKETS,
    "sasl.oauthbearer.config": "use sasl.jaas.config",
    "sasl.password": "use sasl.jaas.config",
    "sasl.username": "use sasl.jaas.config",
    "socket.blocking.max.ms": _SOCKETS,
    "socket.keepalive.enable": _SOCKETS,
    "socket.max.fails": _SOCKETS,
    "socket.nagle.disable": _SOCKETS,
    "socket_cb": _SOCKETS,
    "ssl.ca.certificate.stores": "use ssl.truststore.location",
    "ssl.certificate.location": "use ssl.keystore.type=PEM and ssl.keystore.location (file with key and certificate)",
    "ssl.certificate.verify_cb": "kctl always verifies certificates",
    "ssl.crl.location": "kctl does not support certificate revocation lists",
    "ssl.curves.list": "use ssl.cipher.suites and ssl.enabled.protocols",
    "ssl.key.location": "use ssl.keystore.type=PEM and ssl.keystore.location (file with key and certificate)",
    "ssl.sigalgs.list": "use ssl.cipher.suites and ssl.enabled.protocols",
    "stats_cb": "use metrics() of the client for statistics",
    "sticky.partitioning.linger.ms": "kctl switches the partition of records without keys after batch.size bytes",
    "throttle_cb": _EVENTS,
    "topic.blacklist": "use subscribe() with a compiled pattern",
    "topic.metadata.propagation.max.ms": _REFRESH,
    "topic.metadata.refresh.fast.interval.ms": _REFRESH,
    "topic.metadata.refresh.interval.ms": "use metadata.max.age.ms for the maximum age of metadata",
    "topic.metadata.refresh.sparse": _REFRESH,
}
"""Advice for names of librdkafka and its Python client that have no equivalent property."""


def why_ignored(name: str) -> str | None:
    """Return why a property of another client has no effect, or None for an unknown name."""
    if name in IGNORED:
        return IGNORED[name]
    return next((reason for prefix, reason in IGNORED_PREFIXES.items() if name.startswith(prefix)), None)


def is_harmless(name: str, raw: object) -> bool:
    """Return whether this value disables a property in `REFUSED`."""
    return raw in ("", [], (), False) or (isinstance(raw, str) and raw.strip().lower() == _HARMLESS.get(name))
