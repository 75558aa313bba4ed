"""Properties of other clients that have no meaning in kctl.

Properties that would change the meaning of others are rejected; the rest is ignored with a warning.
"""

_JAVA_CLASS = "is a Java class, which kctl cannot run"
_JAVA_TLS = "chooses a part of Java's TLS, which kctl does not use"
_METRICS = "belongs to Java's metrics"
_KERBEROS = "kctl does not run kinit: it fetches a new ticket after 80% of the ticket's lifetime"
_VALIDATION = "is used only by brokers to validate tokens"
_ENDPOINT = "belongs to a kind of token endpoint that kctl does not support"
_LOGIN = "kctl reads tokens again at each login, or fetches a new token after 80% of the lifetime"
_SHARE = "belongs to share consumers, which kctl does not support"

IGNORED: dict[str, str] = {
    "key.serializer": "kctl takes keys as bytes: remove this property, and serialize keys before send()",
    "value.serializer": "kctl takes values as bytes: remove this property, and serialize values before send()",
    "key.deserializer": "kctl returns keys as bytes: remove this property, and deserialize keys after poll()",
    "value.deserializer": "kctl returns values as bytes: remove this property, and deserialize values after poll()",
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
    "sasl.login.retry.backoff.ms": "a connection is tried again after reconnect.backoff.ms, with its token",
    "sasl.login.retry.backoff.max.ms": "a connection is tried again after reconnect.backoff.ms, with its token",
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
    "internal.throw.on.fetch.stable.offset.unsupported": "is internal to Java's clients",
}

IGNORED_PREFIXES: dict[str, str] = {
    "metrics.": _METRICS,
    "sasl.oauthbearer.assertion.": _ENDPOINT,
    "schema.registry.": "schemas are not used here",
    "basic.auth.": "schemas are not used here",
    "confluent.": "belongs to another vendor's clients",
}

REFUSED: dict[str, str] = {
    "bootstrap.controllers": "kctl cannot connect to controllers: use bootstrap.servers",
    "config.providers": "kctl does not fetch values from providers, so ${...} would stay as is",
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

_LOGGED = "log records go to the loggers below kctl.client"
_CALLBACK = "use the argument callback of send()"
_EVENTS = "use the argument events of the client"
_LISTENER = "pass a RebalanceListener to subscribe()"
_SOCKETS = "the client sets up its sockets"
_PREFETCH = "use the argument prefetch_bytes of Consumer"
_REFRESH = "metadata is refreshed after errors, and after metadata.max.age.ms"
_VERSIONS = "the client negotiates versions with each broker"

LIBRDKAFKA_HINTS = {
    "statistics.interval.ms": "metrics() has the statistics",
    "enable.partition.eof": "compare position() with end_offsets()",
    "queue.buffering.max.messages": "buffer.memory limits the records that wait",
    "queue.buffering.max.kbytes": "buffer.memory limits the records that wait",
    "batch.num.messages": "batch.size limits a batch, in bytes",
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
    "broker.address.family": "addresses of both families are tried",
    "broker.address.ttl": "names are resolved for each connection",
    "broker.version.fallback": _VERSIONS,
    "closesocket_cb": _SOCKETS,
    "compression.level": "compression.gzip.level, compression.lz4.level or compression.zstd.level",
    "connect_cb": _SOCKETS,
    "consume.callback.max.messages": "max.poll.records limits the records of a poll",
    "consume_cb": "call poll(), or loop over the consumer",
    "coordinator.query.interval.ms": "the coordinator is looked up when it is needed",
    "debug": _LOGGED,
    "default_topic_conf": "set properties of topics with all others",
    "delivery.report.only.error": _CALLBACK,
    "dr_cb": _CALLBACK,
    "dr_msg_cb": _CALLBACK,
    "enable.gapless.guarantee": "enable.idempotence keeps order and sends records once",
    "enable.ssl.certificate.verification": "certificates are always checked; see ssl.endpoint.identification.algorithm",
    "enabled_events": _EVENTS,
    "fetch.error.backoff.ms": "retry.backoff.ms is the pause after errors",
    "fetch.queue.backoff.ms": _PREFETCH,
    "group.protocol.type": "all groups are consumer groups",
    "interceptors": "plugins of librdkafka cannot be loaded",
    "internal.termination.signal": "close() ends the threads",
    "log.connection.close": _LOGGED,
    "log.queue": _LOGGED,
    "log.thread.name": _LOGGED,
    "log_cb": _LOGGED,
    "log_level": _LOGGED,
    "message.copy.max.bytes": "bytes are never copied",
    "msg_order_cmp": "records of a partition keep their order",
    "oauth_cb": "use sasl.oauthbearer.token.callback",
    "oauthbearer_token_refresh_cb": "use sasl.oauthbearer.token.callback",
    "offset.store.method": "the group stores the offsets",
    "offset.store.path": "the group stores the offsets",
    "offset.store.sync.interval.ms": "the group stores the offsets",
    "offset_commit_cb": "use the argument callback of commit_async()",
    "opaque": _CALLBACK,
    "open_cb": _SOCKETS,
    "partitioner": "use the argument partitioner of Producer; by default the key chooses, as in Java",
    "partitioner_cb": "use the argument partitioner of Producer",
    "plugin.library.paths": "plugins of librdkafka cannot be loaded",
    "produce.offset.report": "the future of send() has the offset",
    "queue.buffering.backpressure.threshold": "linger.ms and batch.size decide when a batch is sent",
    "queued.min.messages": _PREFETCH,
    "queuing.strategy": "records of a partition keep their order",
    "rebalance_cb": _LISTENER,
    "receive.message.max.bytes": "fetch.max.bytes limits a response",
    "reconnect.backoff.jitter.ms": "reconnect.backoff.ms and reconnect.backoff.max.ms set the pause",
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
    "ssl.certificate.location": "use ssl.keystore.location with the key and the certificate, and ssl.keystore.type=PEM",
    "ssl.certificate.verify_cb": "certificates are always checked",
    "ssl.crl.location": "certificates are checked with ssl.truststore.location",
    "ssl.curves.list": "use ssl.cipher.suites and ssl.enabled.protocols",
    "ssl.key.location": "use ssl.keystore.location with the key and the certificate, and ssl.keystore.type=PEM",
    "ssl.sigalgs.list": "use ssl.cipher.suites and ssl.enabled.protocols",
    "stats_cb": "metrics() has the statistics",
    "sticky.partitioning.linger.ms": "records without a key change the partition after batch.size bytes",
    "throttle_cb": _EVENTS,
    "topic.blacklist": "subscribe() accepts a compiled pattern",
    "topic.metadata.propagation.max.ms": _REFRESH,
    "topic.metadata.refresh.fast.interval.ms": _REFRESH,
    "topic.metadata.refresh.interval.ms": "metadata.max.age.ms is the longest time between refreshes",
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
