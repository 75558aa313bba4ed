"""Public classes: values are copied, compared and pickled; what is one of its kind says that it cannot be."""

import copy
import importlib
import inspect
import pickle
import pydoc
import subprocess
import sys
from collections.abc import Callable
from enum import Enum
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from kctl.client.admin import Results
from kctl.client.cluster import NOTHING, PartitionInfo, TopicPartition
from kctl.client.consumer import Consumer, ConsumerRecord, OffsetLookup, OffsetTracker, RebalanceListener
from kctl.client.errors import KafkaError
from kctl.client.loop.close import CloseResult
from kctl.client.producer import ColumnsFuture, Producer, SettledRows
from kctl.client.records import BatchInfo, Record, SendFuture
from tests.sim.test_wrong_arguments import valid

MODULES = ("admin", "consumer", "producer", "cluster")
ONE_OF_ITS_KIND: dict[str, Callable[[], object]] = {
    "Admin": lambda: object.__new__(importlib.import_module("kctl.client.admin").Admin),
    "Consumer": lambda: object.__new__(Consumer),
    "Producer": lambda: object.__new__(Producer),
    "OffsetTracker": OffsetTracker,
    "OffsetLookup": lambda: OffsetLookup((), lambda: None),
    "SendFuture": lambda: SendFuture(None, "t", 0, None, b"v", (), 0, 0, 0, None),
    "ColumnsFuture": lambda: ColumnsFuture(None, "t", 1),  # type: ignore[arg-type]
    "SettledRows": lambda: SettledRows(TopicPartition("t", 0), None, 0, lambda: None, 0, 1),  # type: ignore[arg-type, return-value]
}
RECORD = ConsumerRecord.of("t", 3, 7, key=b"k", value=None, headers=[("a", b"1"), ("a", None)], timestamp_ms=5)
SAMPLES: dict[str, Any] = {
    "ConsumerRecord": RECORD,
    "RebalanceListener": None,
    "NoItems": NOTHING,
    "Results": Results({"a": 1}, {"b": KafkaError("why")}),
}


def public_classes() -> dict[str, type]:
    """Return the classes that the public modules promise."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"kctl.client.{name}")
        for each in getattr(module, "__all__", vars(module)):
            kind = getattr(module, each)
            if inspect.isclass(kind) and not issubclass(kind, KafkaError) and kind.__module__.startswith("kctl"):
                found[each] = kind
    return found


def sample(name: str, kind: type) -> Any:
    return SAMPLES[name] if name in SAMPLES else valid(kind)


def check_all() -> int:
    """Check every public class; return how many are values."""
    values = 0
    for name, kind in public_classes().items():
        assert pydoc.render_doc(kind)
        if name in ONE_OF_ITS_KIND:
            for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match=rf"{name}( objects)? cannot be copied or pickled"):
                    attempt(ONE_OF_ITS_KIND[name]())
        elif not (kind is RebalanceListener or getattr(kind, "_is_protocol", False)):
            check_value(sample(name, kind))
            values += 1
    return values


def check_value(value: object) -> None:
    for made in (
        copy.copy(value),
        copy.deepcopy(value),
        *(pickle.loads(pickle.dumps(value, each)) for each in range(6)),
    ):
        assert made == value
        assert type(made) is type(value)
        assert repr(made) == repr(value)
        if isinstance(value, Record | Enum):
            assert hash(made) == hash(value)


def test_every_public_class_is_a_value_or_says_that_it_cannot_be_copied() -> None:
    assert check_all() > 40


@pytest.mark.slow
def test_every_public_class_is_a_value_in_the_pure_build() -> None:
    code = """
import importlib.machinery as m, sys
loaders = (m.SourceFileLoader, m.SOURCE_SUFFIXES), (m.ExtensionFileLoader, m.EXTENSION_SUFFIXES)
sys.path_hooks[:] = [*sys.path_hooks[:1], m.FileFinder.path_hook(*loaders)]
sys.path_importer_cache.clear()
from kctl.client.records import is_compiled
from tests.unit.test_values import check_all, test_records_are_equal_by_their_contents
assert not is_compiled()
test_records_are_equal_by_their_contents()
print(check_all())
"""
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 40


def test_records_are_equal_by_their_contents() -> None:
    batch = BatchInfo("t", 3, 2, 0, 9, 10, 5, 5)
    consumed = Record(batch, 7, 5, b"k", None, b"\x04\x02a\x021\x02a\x01")
    assert consumed == RECORD
    assert hash(consumed) == hash(RECORD)
    assert len({consumed, RECORD}) == 1
    copies = pickle.loads(pickle.dumps([consumed, Record(batch, 8, 5, b"", b"v", b"")]))
    assert copies[0].batch is copies[1].batch
    assert copies[0].batch == batch
    assert copies[0].headers == (("a", b"1"), ("a", None))
    for other in (
        ConsumerRecord.of("t", 3, 8, key=b"k", headers=RECORD.headers, timestamp_ms=5),
        ConsumerRecord.of("u", 3, 7, key=b"k", headers=RECORD.headers, timestamp_ms=5),
        ConsumerRecord.of("t", 3, 7, key=b"", headers=RECORD.headers, timestamp_ms=5),
        ConsumerRecord.of("t", 3, 7, key=b"k", headers=RECORD.headers, timestamp_ms=6),
        ConsumerRecord.of("t", 3, 7, key=b"k", headers=(), timestamp_ms=5),
        ConsumerRecord.of("t", 3, 7, key=b"k", value=b"", headers=RECORD.headers, timestamp_ms=5),
        "record",
    ):
        assert other != RECORD


def test_records_with_damaged_headers_are_copied_and_compared_by_their_bytes() -> None:
    batch = BatchInfo("t", 3, 2, 0, 9, 10, 5, 5)
    damaged = Record(batch, 7, 5, b"k", None, b"\x7f")
    assert pickle.loads(pickle.dumps(damaged)) == damaged


@pytest.mark.slow
def test_records_travel_through_a_pool_of_processes() -> None:
    records = [ConsumerRecord.of("t", 0, at, value=b"%d" % at) for at in range(3)]
    with get_context("spawn").Pool(1) as pool:
        assert pool.map_async(copy.copy, records).get(120) == records


def test_close_result_and_metadata_with_defaults_can_be_pickled() -> None:
    for value in (CloseResult(), CloseResult(partitions={TopicPartition("t", 0): PartitionInfo("t", 0, 1)})):  # type: ignore[dict-item]
        check_value(value)
    assert CloseResult().partitions == {}
