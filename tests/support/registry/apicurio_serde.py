"""Apicurio's serializers and deserializers of Java, in one process for all calls: tests/broker/java/ApicurioSerde.java.

Their parent POM of 3.0.9, the version of the registry that the tests run, is not in every repository: 3.1.7 it is.
"""

import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.kafka.toolchain import compiled_class_path, java_command, maven_jars

VERSION = "3.1.7"
SOURCE = Path(__file__).parents[2] / "broker" / "java" / "ApicurioSerde.java"


class ApicurioSerde:
    """Calls of the Java program."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def write(self, topic: str, form: str, *values: bytes) -> bytes:
        """Return a serialized value; form and values as the program's text says."""
        return self._call("write", topic, form, *values)

    def read(self, topic: str, form: str, *values: bytes) -> bytes:
        """Return a deserialized value."""
        return self._call("read", topic, form, *values)

    def _call(self, verb: str, topic: str, form: str, *values: bytes) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(
            " ".join([verb, topic, form, *(b64encode(value).decode() for value in values)]) + "\n"
        )
        self._process.stdin.flush()
        response = self._process.stdout.readline()
        assert response, "the Java program has ended"
        assert not response.startswith("error "), response
        return b64decode(response)


@contextmanager
def running_apicurio_serde(url: str) -> Iterator[ApicurioSerde]:
    """Run the program while the block lasts. Args: url: of the registry's own interface."""
    artifacts = [
        f"io.apicurio:apicurio-registry-{form}-serde-kafka:{VERSION}" for form in ("avro", "protobuf", "jsonschema")
    ]
    jars = maven_jars(f"apicurio-serde-{VERSION}", *artifacts, "org.slf4j:slf4j-simple:2.0.17")
    class_path = compiled_class_path(SOURCE, f"apicurio-{VERSION}", f"{jars}/*")
    command = java_command(class_path, "ApicurioSerde", url)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield ApicurioSerde(process)
        finally:
            process.kill()
