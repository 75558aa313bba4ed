"""Avro decode beside fastavro's own: CPU time a record, for schemas that need conversions and those that need none.

    python benchmarks/bench_decode.py

fastavro reads the schema as it is written, with its own logical types. Rounds of both alternate, the fastest of each
counts, so that other work on the machine changes both. What is to be reached: 1.3 times fastavro's time.
"""

import json
import time
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro

from kctl.serdes.avro import AvroCodec

ROUNDS, CALLS = 15, 5_000
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
HEAD: list[dict[str, Any]] = [{"name": "id", "type": "string"}, {"name": "at", "type": "long"}]
AT = 1_700_000_000_000


def record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


WIDE = [
    "null",
    "int",
    "string",
    "double",
    record({"name": "x", "type": "int"}, name="A"),
    record(*HEAD, name="B"),
]
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one int": (record({"name": "a", "type": "int"}), {"a": 1}),
    "no bytes": (
        record(
            *HEAD,
            {"name": "note", "type": ["null", "string"]},
            {"name": "total", "type": "double"},
            {"name": "items", "type": {"type": "array", "items": "long"}},
        ),
        {"id": "4711-0815", "at": AT, "note": "x", "total": 1.5, "items": [1, 2, 3]},
    ),
    "timestamps": (
        record({"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}),
        {"at": AT},
    ),
    "bytes": (
        record(*HEAD, {"name": "raw", "type": "bytes"}, {"name": "more", "type": ["null", "bytes"]}),
        {"id": "4711-0815", "at": AT, "raw": b"hello", "more": b"x"},
    ),
    "decimals": (
        record(*HEAD, {"name": "price", "type": DECIMAL}, {"name": "tax", "type": DECIMAL}),
        {"id": "4711-0815", "at": AT, "price": Decimal("12.50"), "tax": Decimal("1.25")},
    ),
    "wide union": (
        record(*HEAD, {"name": "one", "type": WIDE}, {"name": "other", "type": ["null", "int", "string", "B"]}),
        {"id": "4711-0815", "at": AT, "one": ("A", {"x": 7}), "other": "text"},
    ),
    "four unions": (
        record(*({"name": name, "type": WIDE if name == "a" else [*WIDE[:4], "A", "B"]} for name in "abcd")),
        {"a": 1, "b": "text", "c": 1.5, "d": 2},
    ),
    "with bytes": (
        record(*({"name": name, "type": ["null", "int", "string", "bytes"]} for name in "abcd")),
        {"a": b"a", "b": b"b", "c": b"x", "d": 5},
    ),
}


def seconds(call: Callable[[bytes], object], data: bytes) -> float:
    begin = time.process_time()
    for _ in range(CALLS):
        call(data)
    return time.process_time() - begin


def fastavro_reader(schema: Any) -> Callable[[bytes], object]:
    read = fastavro.schemaless_reader
    return lambda data: read(BytesIO(data), schema, None)


def main() -> None:
    """Print a line a case."""
    print(f"{'schema':<12}{'fastavro':>10}{'kctl':>10}{'ratio':>8}")
    for name, (schema, value) in CASES.items():
        parsed = fastavro.parse_schema(json.loads(json.dumps(schema)))
        out = BytesIO()
        fastavro.schemaless_writer(out, parsed, value)
        readers = fastavro_reader(parsed), AvroCodec(json.dumps(schema)).decode
        rounds = [[seconds(read, out.getvalue()) for read in readers] for _ in range(ROUNDS)]
        theirs, ours = (min(each) / CALLS * 1e6 for each in zip(*rounds, strict=True))
        print(f"{name:<12}{theirs:>7.2f} µs{ours:>7.2f} µs{ours / theirs:>8.2f}")


if __name__ == "__main__":
    main()
