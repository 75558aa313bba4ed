"""Time from starting `kctl consume --decode -n 1` to the first byte of the record, and CPU time of the whole command.

    python benchmarks/bench_first_decoded.py

Each format, and the same record without --decode. Sandbox and registry are a second process. Medians of interleaved
runs. What is to be reached: a decoded record within 0.5 s of the start.
"""

import json
import os
import statistics
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto

from benchmarks.bytecode import with_bytecode
from kctl.client import Producer
from kctl.sandbox import Sandbox
from kctl.serdes.avro import AvroCodec
from kctl.serdes.codecs import Codec
from kctl.serdes.json_schema import JsonSchemaCodec
from kctl.serdes.protobuf import ProtobufCodec
from kctl.serdes.wire import write_frame
from tests.support.registry.server import FakeRegistry, running

RUNS = 9
VALUE = {"id": "4711", "note": "first"}
AVRO_SCHEMA = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": name, "type": "string"} for name in VALUE]}
)
JSON_SCHEMA = json.dumps({"type": "object", "properties": {name: {"type": "string"} for name in VALUE}})


def protobuf_file() -> bytes:
    """Return a file with one message of two texts."""
    message = DescriptorProto(name="R")
    for number, name in enumerate(VALUE, 1):
        message.field.add(name=name, number=number, type="TYPE_STRING", label="LABEL_OPTIONAL")
    return FileDescriptorProto(name="r.proto", syntax="proto3", message_type=[message]).SerializeToString()


def fill(registry: FakeRegistry, bootstrap: str) -> None:
    """Send one record of each format, and one that is not encoded."""
    file = protobuf_file()
    codecs: dict[str, tuple[Codec, str]] = {
        "AVRO": (AvroCodec(AVRO_SCHEMA), AVRO_SCHEMA),
        "PROTOBUF": (ProtobufCodec([("", file)], is_framed=True), "message R {}"),
        "JSON": (JsonSchemaCodec(JSON_SCHEMA, {}), JSON_SCHEMA),
    }
    with Producer({"bootstrap.servers": bootstrap}) as producer:
        producer.send("plain", json.dumps(VALUE).encode())
        for kind, (codec, text) in codecs.items():
            number = registry.add(f"{kind.lower()}-value", text, kind)
            registry.serialized[number] = b64encode(file).decode()
            producer.send(kind.lower(), write_frame(number, codec.encode(VALUE)))


def serve() -> None:
    """Be the second process: print where the broker and the registry are, and stay until stdin ends."""
    topics = dict.fromkeys(("plain", "avro", "protobuf", "json"), 1)
    with Sandbox(nodes=1, topics=topics).serve() as served, running(FakeRegistry()) as registry:
        fill(registry, served.bootstrap)
        print(json.dumps([served.bootstrap, registry.url]), flush=True)
        sys.stdin.read()


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        bootstrap, url = json.loads(process.stdout.readline())
        yield bootstrap, url
        process.communicate("")


def first_byte(arguments: list[str]) -> tuple[float, float]:
    """Return wall time until the first byte and CPU time until the end, in ms."""
    began = perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "kctl", *arguments],
        stdout=subprocess.PIPE,
        env=with_bytecode(),
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    head = process.stdout.read(1)
    wall_ms = (perf_counter() - began) * 1000
    rest = process.stdout.read()
    process.stdout.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0 or json.loads(head + rest) != VALUE:
        raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}, {head + rest!r}")
    return wall_ms, (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Print a line a case."""
    with served() as (bootstrap, url):
        once = ["-n", "1", "-o", "beginning", "-b", bootstrap]
        decode = ["-X", f"schema.registry.url={url}", "--decode", "value=auto"]
        decoded = {topic: ["consume", topic, *once, *decode] for topic in ("avro", "protobuf", "json")}
        plain = ["consume", "plain", *once]
        taken: dict[str, list[tuple[float, float]]] = {}
        for command in (plain, *decoded.values()):
            first_byte(command)  # bytecode is written once, not measured
        for _ in range(RUNS):
            taken.setdefault("plain", []).append(first_byte(plain))
            for topic, command in decoded.items():
                taken.setdefault(topic, []).append(first_byte(command))
    print(f"{'':24}{'first byte':>12}{'worst':>10}{'CPU':>10}")
    for name, runs in taken.items():
        wall = [wall for wall, _ in runs]
        cpu = statistics.median(cpu for _, cpu in runs)
        print(f"{name:24}{statistics.median(wall):9.0f} ms{max(wall):7.0f} ms{cpu:7.0f} ms")


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
