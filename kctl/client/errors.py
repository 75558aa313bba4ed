"""Errors of the client, a class for each; `retriable` is a class attribute.

    KafkaError
      BrokerError            error code of a broker: a class for each code in broker_errors.py
        AuthorizationError   the principal lacks an ACL: TopicAuthorizationFailedError, ...
      TransportError         no usable connection: DNS, refused, reset, TLS, SASL, wrong server
      ProtocolError          RemoteProtocolError: invalid bytes of a server; LocalProtocolError: misuse of the client
      KafkaTimeoutError      a timeout passed: has the property, its value, and the wait
      ConfigError            a property is unknown, malformed, or impossible

If a class sets `retriable` to False, no subclass sets it to True.
"""

from kctl.client.clock import FOREVER_MS, duration_text
from kctl.client.kafka_error import Account as Account  # said twice: this is where everyone imports it from
from kctl.client.kafka_error import ErrorKind as ErrorKind
from kctl.client.kafka_error import KafkaError as KafkaError
from kctl.client.kafka_error import class_of_code as __getattr__  # noqa: F401 - TopicAlreadyExistsError, ...
from kctl.client.kafka_error import names_of_errors as __dir__  # noqa: F401
from kctl.client.wording import counted


class ConfigError(KafkaError):
    "A property is unknown, malformed, out of range, or conflicts with another property. The message shows its name."

    kind = ErrorKind.USAGE

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


class IllegalStateError(KafkaError):
    "The state of the client does not allow the call, for example because the client is closed."


class ConcurrentModificationError(IllegalStateError):
    "Two threads or event loops called a client at the same time, but the client supports only one."


class WakeupError(KafkaError):
    "Another thread interrupted the call with wakeup()."


class InvalidOffsetError(KafkaError):
    """Partitions have no valid offset to read from, and no reset policy sets an offset. Seek to continue.

    Attributes: `partitions`: the partitions as (topic, partition).
    """

    kind = ErrorKind.DATA

    def __init__(self, message: str, *, partitions: "tuple[tuple[str, int], ...]" = ()) -> None:
        super().__init__(message)
        self.partitions = partitions


class LogTruncationError(InvalidOffsetError):
    """The log was truncated: a new leader does not have records that were already read, and no reset policy is set.

    Attributes: `topic` and `partition`; `offset`: the position; `divergent_offset`: first offset with possibly
    different records, or None if unknown; `divergent_epoch`: the leader epoch that ends there. Seek to
    `divergent_offset` to continue with the current records. Source: KIP-320.
    """

    def __init__(
        self,
        message: str,
        *,
        topic: str,
        partition: int,
        offset: int,
        divergent_offset: int | None = None,
        divergent_epoch: int = -1,
    ) -> None:
        super().__init__(message, partitions=((topic, partition),))
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.divergent_offset = divergent_offset
        self.divergent_epoch = divergent_epoch


class RequestBudgetError(KafkaError):
    "A call exceeded the maximum number of requests, which `Admin.request_budget` sets for a block of calls."

    kind = ErrorKind.PARTIAL


class CommitFailedError(KafkaError):
    """Offsets were not committed, because the partitions were assigned to other members of the group.

    The new members read the records since the last commit again. Attributes: `cause`: the error of the broker.
    """

    kind = ErrorKind.UNAVAILABLE

    def __init__(self, message: str, *, cause: KafkaError | None = None) -> None:
        super().__init__(message)
        self.cause = cause


class TransactionError(KafkaError):
    """A transaction or its producer cannot continue. Attributes: `cause`: the error that caused it."""

    kind = ErrorKind.UNDELIVERED

    def __init__(self, message: str, cause: KafkaError) -> None:
        super().__init__(message)
        self.cause = cause


class AbortableTransactionError(TransactionError):
    """The open transaction must be aborted. Call abort_transaction(), then begin a new transaction."""

    def __init__(self, cause: KafkaError) -> None:
        super().__init__(f"the transaction can only be aborted: {cause}", cause)


class FatalTransactionError(TransactionError):
    """The producer must be closed: a newer producer replaced it, or the cluster rejects it."""

    def __init__(self, cause: KafkaError) -> None:
        super().__init__(f"the producer can only be closed: {cause}", cause)


class TransactionAbortedError(KafkaError):
    """Records were not delivered, because their transaction was aborted before."""

    kind = ErrorKind.UNDELIVERED


# --- errors of brokers ----------------------------------------------------------------------------------------------


class BrokerError(KafkaError):
    """A broker returned an error code.

    Attributes: `code` as on the wire; `name` in Kafka's spelling; `text`: the broker's message, if any; `hint`: set by
    the caller. Each code has a subclass in `kctl.client.broker_errors`: `NOT_COORDINATOR` is NotCoordinatorError.
    """

    code: int = -1
    name: str = "UNKNOWN_SERVER_ERROR"

    def __init_subclass__(cls, *, code: int | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code

    def __init__(self, message: str, *, text: str | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.hint = ""


class AuthorizationError(BrokerError):
    """The principal of the connection does not have the required permission.

    Base class of the errors for each resource type. Source: KIP-266, Java's AuthorizationException.
    """

    kind = ErrorKind.AUTHORIZATION


# --- bytes that are not what they should be -------------------------------------------------------------------------


class ProtocolError(KafkaError):
    """The client or the server violated the protocol, and the client closed the connection."""

    kind = ErrorKind.WRONG_PROTOCOL


class LocalProtocolError(ProtocolError):
    """The client cannot express a request in the protocol, for example because the version has no such field."""

    kind = ErrorKind.UNEXPECTED


class RemoteProtocolError(ProtocolError):
    """The server sent invalid bytes.

    Attributes: `api` and `version` of the message if known; `field` path and byte `offset` in it; `first_bytes` (up to
    64) if the server may not be Kafka.
    """

    kind = ErrorKind.WRONG_PROTOCOL

    def __init__(
        self,
        message: str,
        *,
        api: str | None = None,
        version: int | None = None,
        field: str | None = None,
        offset: int | None = None,
        first_bytes: bytes = b"",
    ) -> None:
        super().__init__(message)
        self.api = api
        self.version = version
        self.field = field
        self.offset = offset
        self.first_bytes = first_bytes


class NoProgressError(RemoteProtocolError):
    """A broker returned only record batches that end before the requested offset, so the consumer cannot continue.

    Attributes: `topic`, `partition`, and the `position` that was fetched.
    """

    kind = ErrorKind.DATA

    def __init__(self, message: str, *, topic: str, partition: int, position: int) -> None:
        super().__init__(message, api="Fetch")
        self.topic = topic
        self.partition = partition
        self.position = position


class CorruptBatchError(RemoteProtocolError):
    """A record batch is damaged: its checksum, length, or compressed data is invalid.

    Attributes: `topic` and `partition`; `base_offset` of the batch; byte `offset` in the fetched bytes; `resume_offset`
    at which a consumer continues if it skips the batch. Unknown ones are None.
    """

    kind = ErrorKind.DATA

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        base_offset: int | None = None,
        offset: int | None = None,
        resume_offset: int | None = None,
    ) -> None:
        super().__init__(message, offset=offset)
        self.resume_offset = resume_offset
        self.topic = topic
        self.partition = partition
        self.base_offset = base_offset


class UnsupportedCodecError(CorruptBatchError):
    """A record batch uses an unknown compression codec."""


class UnsupportedVersionError(ProtocolError):
    """The broker does not support an API, or has no version of the API in common with kctl."""

    kind = ErrorKind.WRONG_PROTOCOL

    def __init__(self, message: str, *, api: str | None = None) -> None:
        super().__init__(message)
        self.api = api


class RecordTooLargeError(KafkaError):
    """A record is larger than the maximum size of a request.

    Attributes: `row`: the first such row of send_columns; 0 for a single record.
    """

    kind = ErrorKind.DATA

    def __init__(self, message: str, *, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class UndeliveredError(KafkaError):
    """Some records were not delivered. The message shows their number and the first error, which is `cause`."""

    kind = ErrorKind.UNDELIVERED

    def __init__(self, undelivered: int, cause: KafkaError) -> None:
        super().__init__(f"{counted(undelivered, 'record')} not delivered, first error: {cause}")
        self.undelivered = undelivered
        self.cause = cause


# --- no usable connection -------------------------------------------------------------------------------------------


class TransportError(KafkaError):
    """A connection could not be established or was lost.

    Attributes: `phase` (dns, tcp, tls, apiversions, sasl, ready), `host`, `port`, and `address`, all set by the
    network; `hint`.
    """

    kind = ErrorKind.CONNECTION
    retriable = True

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.phase = ""
        self.host = ""
        self.port = 0
        self.address = ""


class DnsError(TransportError):
    """A host name does not resolve, or the DNS resolver failed."""

    kind = ErrorKind.DNS


class ConnectionRefused(TransportError):
    """The server refused the connection, or the network reported that the host is unreachable."""

    kind = ErrorKind.CONNECTION


class ConnectionLost(TransportError):
    """The server closed or reset the connection."""

    kind = ErrorKind.CONNECTION


class TlsClosed(ConnectionLost):
    """The server closed the connection during the TLS handshake."""

    kind = ErrorKind.TLS


class TlsNotAnswered(ConnectionLost):
    """The server closed the connection when TLS started: it is a plaintext listener, or a proxy without a backend."""

    kind = ErrorKind.WRONG_PROTOCOL


class SaslRequired(ConnectionLost):
    """The server closed the connection at the first request without SASL: it requires SASL, or is restarting."""

    kind = ErrorKind.AUTHENTICATION


class LoginServerUnavailable(ConnectionLost):
    """The server that issues the token or Kerberos ticket for a login did not respond. `cause` is its error."""

    def __init__(self, message: str, cause: KafkaError, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.cause = cause


class ConnectTimeout(TransportError):
    """The connection was not ready within socket.connection.setup.timeout.ms."""

    kind = ErrorKind.CONNECT_TIMEOUT

    def __init__(self, message: str, *, limit_ms: int, elapsed_ms: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.limit_ms = limit_ms
        self.elapsed_ms = elapsed_ms


class TlsError(TransportError):
    """The TLS handshake failed. The client does not retry the handshake."""

    kind = ErrorKind.TLS
    retriable = False


class CertificateError(TlsError):
    """The client rejected the server's certificate. `presented` describes the certificate chain, leaf first."""

    def __init__(self, message: str, *, presented: "tuple[str, ...]" = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.presented = presented


class CertificateExpired(CertificateError):
    """The server's certificate has expired."""


class CertificateNotYetValid(CertificateError):
    """The server's certificate is not valid yet, or the clock of this machine is wrong."""


class HostnameMismatch(CertificateError):
    """The server's certificate is not valid for the host name of the connection."""


class UntrustedCertificate(CertificateError):
    """The server's certificate was not issued by a certificate authority that the client trusts."""


class NoCommonTls(TlsError):
    """Client and server have no TLS version or no cipher suite in common."""


class TlsAlert(TlsError):
    """The server ended the TLS handshake with an alert. `alert` is its name."""

    def __init__(self, message: str, *, alert: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.alert = alert


class ClientCertificateRefused(TlsAlert):
    """The server requires a client certificate, or rejected the client's certificate."""


class AuthenticationError(TransportError):
    """The broker rejected the credentials. The client does not retry the login."""

    kind = ErrorKind.AUTHENTICATION
    retriable = False


class WrongPeerError(TransportError):
    """The server is not a Kafka broker, or uses another security protocol. The client does not retry."""

    kind = ErrorKind.WRONG_PROTOCOL
    retriable = False


class AdvertisedAddressError(TransportError):
    """A bootstrap server responded, but the client cannot connect to an address that a broker advertises.

    Attributes: `node_id` of the broker; `cause`: the error at that address, which decides `retriable`.
    """

    kind = ErrorKind.ADVERTISED_ADDRESS

    def __init__(self, node_id: int, cause: TransportError, *, hint: str = "") -> None:
        super().__init__(f"bootstrap ok, but broker {node_id} advertises {cause}", hint=hint)
        self.node_id = node_id
        self.cause = cause
        self.retriable = cause.retriable
        self.phase, self.host, self.port, self.address = cause.phase, cause.host, cause.port, cause.address


# --- a limit passed -------------------------------------------------------------------------------------------------


class KafkaTimeoutError(KafkaError):
    """A timeout passed before the call was complete.

    Attributes:
        limit: the property of the timeout, such as `default.api.timeout.ms`.
        timeout_ms, elapsed_ms: its value and the measured time.
        waiting_for: the wait in which the timeout passed.
        node_ids: the awaited brokers, if the call waited for some of several.
        address: HOST:PORT of the broker that did not respond; empty if it was not one broker.
        forwarded: Kafka's name of the request without a response, if KRaft brokers forward it to the controller.
        cause: the error that blocked the call, if any.
        account: time breakdown, connection attempts, and errors of nodes.
        summary: one line with wait, timeout, and cause; `str` includes the account.
    """

    kind = ErrorKind.TIMEOUT
    retriable = True
    limit = "default.api.timeout.ms"
    node_ids: "tuple[int, ...]" = ()
    address: str = ""
    forwarded: str = ""

    def __init__(
        self,
        waiting_for: str,
        *,
        timeout_ms: int,
        elapsed_ms: int,
        cause: KafkaError | None = None,
        account: Account | None = None,
    ) -> None:
        self.waiting_for = waiting_for
        self.timeout_ms = timeout_ms
        self.elapsed_ms = elapsed_ms
        self.cause = cause
        self.account = account or Account()
        passed = f"timed out after {self._passed()} while {waiting_for}"
        why = "" if cause is None or str(cause) in waiting_for else f"; last error: {cause}"
        self.summary = passed + why
        spent = str(self.account)
        super().__init__(f"{passed} [{spent}]{why}" if spent else self.summary)

    def _passed(self) -> str:
        elapsed, timeout = duration_text(self.elapsed_ms), duration_text(self.timeout_ms)
        if self.timeout_ms >= FOREVER_MS:
            return elapsed
        return f"{elapsed} ({self.limit if elapsed == timeout else f'{self.limit} {timeout}'})"

    @property
    def time_breakdown(self) -> tuple[str, ...]:
        """Time by activity, one entry each."""
        return self.account.time_breakdown

    @property
    def phase(self) -> str:
        """Phase of the connection that blocked the call; empty without one."""
        return self.cause.phase if isinstance(self.cause, TransportError) else ""


class ApiTimeout(KafkaTimeoutError):
    """A call did not complete within its timeout, such as default.api.timeout.ms."""


class RequestTimeout(KafkaTimeoutError):
    """A broker did not respond to a request in time, and the client closed the connection.

    Attributes: is_rest: whether the call had less time left than request.timeout.ms.
    """

    kind = ErrorKind.REQUEST_TIMEOUT
    limit = "request.timeout.ms"

    def __init__(self, waiting_for: str, *, timeout_ms: int, elapsed_ms: int, is_rest: bool = False) -> None:
        self.is_rest = is_rest
        if is_rest:
            self.limit = "the rest of default.api.timeout.ms"
        super().__init__(waiting_for, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms)


class CloseTimeout(KafkaTimeoutError):
    """close() did not finish within its timeout."""

    kind = ErrorKind.CLOSE_TIMEOUT
    limit = "close(timeout)"


class DeliveryTimeout(KafkaTimeoutError):
    """A record was not acknowledged within delivery.timeout.ms after send()."""

    kind = ErrorKind.UNDELIVERED
    limit = "delivery.timeout.ms"


class MaxBlockTimeout(ApiTimeout):
    """A call of the producer got no metadata or no space in buffer.memory within max.block.ms.

    Attributes: `accepted`: rows of a `send_columns` that were accepted before, and are sent.
    """

    limit = "max.block.ms"
    accepted = 0


class ResultTimeout(KafkaTimeoutError):
    """A record was not delivered within the timeout of `result()`. The producer still sends the record."""

    limit = "result(timeout)"


class FlushTimeout(KafkaTimeoutError):
    """flush() timed out. `undelivered` is the number of records that are outstanding or have failed."""

    kind = ErrorKind.UNDELIVERED
    limit = "flush(timeout)"
    undelivered = 0
