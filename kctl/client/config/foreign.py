"""Properties of Java and other clients without a meaning in kctl.

Refused ones would change the meaning of other properties; others are ignored with a warning.
"""

_JAVA_CLASS = "is a Java class, which kctl cannot run"
_JAVA_TLS = "chooses a part of Java's TLS, which is not used here"
_METRICS = "belongs to Java's metrics"
_KERBEROS = "kinit is not run here: a ticket is fetched again after 0.8 of its lifetime"
_VALIDATION = "is used only by brokers to validate tokens"
_ENDPOINT = "belongs to a kind of token endpoint that is not supported here"
_LOGIN = "a token is read again at each login, or fetched again after 0.8 of its lifetime"
_SHARE = "belongs to share consumers, which are not supported here"

IGNORED: dict[str, str] = {
    "key.serializer": "keys are bytes here",
    "value.serializer": "values are bytes here",
    "key.deserializer": "keys are bytes here",
    "value.deserializer": "values are bytes here",
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
    "bootstrap.controllers": "connections to controllers are not supported; use bootstrap.servers",
    "config.providers": "values are not fetched from providers, so ${...} would be taken literally",
    "transaction.two.phase.commit.enable": "two-phase commit is not supported here",
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
"""Names of librdkafka for properties with another name in Kafka."""

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
    "logger": "log records go to the logger kctl.client",
}
"""Advice for names of librdkafka and its Python client that have no equivalent property."""


def why_ignored(name: str) -> str | None:
    """Return why a foreign property has no effect, or None for unknown names."""
    if name in IGNORED:
        return IGNORED[name]
    return next((reason for prefix, reason in IGNORED_PREFIXES.items() if name.startswith(prefix)), None)


def is_harmless(name: str, raw: object) -> bool:
    """Return whether this value disables a refused property."""
    return raw in ("", [], (), False) or (isinstance(raw, str) and raw.strip().lower() == _HARMLESS.get(name))
