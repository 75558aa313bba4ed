"""One error of every class that derives from KafkaError, each with all of its arguments, for tests of all of them."""

import inspect
import pkgutil
from importlib import import_module

import kctl.client
import kctl.pipeline
import kctl.serdes
from kctl.client.cluster import TopicPartition
from kctl.client.errors import Account, ApiTimeout, ConnectionRefused, ErrorKind, KafkaError
from kctl.client.loop.close import CloseResult, PartitionResult

OPTIONAL = ("pyspark", "pyarrow")
"""What modules of kctl.pipeline may need and an environment may lack."""


BY_TYPE: dict[object, object] = {int: 17, str: "some text", bytes: b"bytes", bool: True}
"""Values of parameters that only one class has; a parameter of another type needs an entry in `sample`."""


def every_error() -> list[KafkaError]:
    """Return an error of every class, by name of the class."""
    return [sample(kind) for kind in error_classes()]


def error_classes() -> list[type[KafkaError]]:
    """Return KafkaError and all its descendants in kctl, by name."""
    for package in (kctl.client, kctl.pipeline, kctl.serdes):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            try:
                import_module(module.name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] not in OPTIONAL:
                    raise
    found, unseen = {KafkaError}, [KafkaError]
    while unseen:
        children = [kind for kind in unseen.pop().__subclasses__() if kind.__module__.startswith("kctl.")]
        unseen += [kind for kind in children if kind not in found]
        found.update(children)
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def sample(kind: type[KafkaError]) -> KafkaError:
    """Return an error of that class whose every argument is given and says something."""
    refused = ConnectionRefused("nothing listens", hint="start a broker")
    refused.phase, refused.host, refused.port, refused.address = "tcp", "h", 9092, "10.0.0.1:9092"
    timeout = ApiTimeout("waiting", timeout_ms=5, elapsed_ms=6, cause=refused, account=Account(("dns 5 ms",), 2))
    part = PartitionResult(1, 2, 3)
    result = CloseResult(1, 2, 3, {TopicPartition("t", 0): part})
    values: dict[str, object] = {
        "message": "what failed", "text": "the broker's words", "key": "acks", "partitions": (("t", 0), ("t", 1)),
        "topic": "t", "partition": 3, "offset": 17, "divergent_offset": 12, "divergent_epoch": 4, "code": 4711,
        "cause": refused if kind.__name__ == "AdvertisedAddressError" else timeout, "api": "Fetch", "version": 12,
        "field": "responses[0]", "first_bytes": b"HTTP/1.1", "base_offset": 10, "resume_offset": 20, "undelivered": 7,
        "hint": "try this", "limit_ms": 1, "elapsed_ms": 2, "timeout_ms": 3, "presented": ("CN=a", "CN=b"),
        "alert": "bad_certificate", "node_id": 2, "waiting_for": "the leader is unknown", "result": result,
        "kind": ErrorKind.CONNECTION, "status": 404,
        "account": Account(("connecting 4 ms",), 3, (refused, timeout)),
    }  # fmt: skip
    parameters = inspect.signature(kind.__init__).parameters.values()
    wanted = [each for each in parameters if each.name not in ("self", "args", "kwargs")]
    given = {each.name: values[each.name] if each.name in values else BY_TYPE[each.annotation] for each in wanted}
    error = kind(**given) if given else kind("what failed")
    error.__cause__ = OSError(111, "Connection refused")
    error.add_note("row 3")
    return error
