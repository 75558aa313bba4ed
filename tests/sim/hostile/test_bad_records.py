"""Records and batches that kctl cannot read, in whole commands: an error, or passed on request."""

import json
from collections.abc import Callable

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.protocol.api.fetch import FetchResponse
from tests.sim.hostile.edits import OneBody
from tests.sim.hostile.record_sets import with_records
from tests.sim.hostile.stage import Run, run_alone
from tests.unit.records.handmade import batch, record, varint

MANY = 25


def crc_of_the_second(offset: int) -> bytes:
    bad = batch(record(value=b"bad"), base_offset=offset + 1, crc=1)
    return batch(record(value=b"a"), base_offset=offset) + bad + batch(record(value=b"c"), base_offset=offset + 2)


def headers_of_the_second(offset: int) -> bytes:
    tail = varint(100_001) + b"\0\1" * 100_001
    return batch(record(0, value=b"a"), record(1, tail=tail), record(2, value=b"c"), base_offset=offset)


def many(offset: int) -> bytes:
    bad = b"".join(batch(record(), base_offset=offset + number, crc=1) for number in range(1, MANY + 1))
    return batch(record(value=b"a"), base_offset=offset) + bad + batch(record(), base_offset=offset + MANY + 1)


def run(records: Callable[[int], bytes], *options: str) -> Run:
    edit = OneBody(FetchResponse, lambda response, version: with_records(response, version, records))
    return run_alone(" ".join(("consume t --output jsonl", *options)), b"", edit)[0]


@pytest.mark.parametrize("records", [crc_of_the_second, headers_of_the_second], ids=lambda each: each.__name__)
@pytest.mark.parametrize("how", ["-p 0", "-g readers"], ids=["alone", "in a group"])
def test_bad_record_ends_the_command_unless_it_is_skipped(records: Callable[[int], bytes], how: str) -> None:
    ended = run(records, how, "-n 2").ended
    assert ended.code == ExitCode.DATA
    assert [json.loads(line)["value"] for line in ended.stdout.splitlines()] == ["a"]
    ended = run(records, "--on-bad-record skip", how, "-n 2").ended
    assert ended.code == ExitCode.OK, ended.stderr
    assert [json.loads(line)["value"] for line in ended.stdout.splitlines()] == ["a", "c"]
    assert ended.stderr.count("note: skipped records: ") == 1
    assert ". Continuing at offset 2" in ended.stderr
    assert "note: 1 bad record or batch skipped (--on-bad-record). First error: " in ended.stderr
    assert "t-0" in ended.stderr.rpartition("First error: ")[2]


def test_damaged_batch_among_the_newest_records_is_skipped_on_request() -> None:
    assert run(crc_of_the_second, "--tail 3").ended.code == ExitCode.DATA
    ended = run(crc_of_the_second, "--tail 3 --on-bad-record skip").ended
    assert ended.code == ExitCode.OK, ended.stderr
    assert next(json.loads(line)["value"] for line in ended.stdout.splitlines()) == "a"
    assert ended.stderr.count("note: skipped records: ") == 1
    assert "note: 1 bad record or batch skipped (--on-bad-record)" in ended.stderr


def test_number_of_skipped_records_is_reported_if_there_are_many() -> None:
    ended = run(many, "--on-bad-record skip", "-p 0", "-n 2").ended
    assert ended.code == ExitCode.OK, ended.stderr
    assert ended.stderr.count("note: skipped records: ") == 10
    first = next(line for line in ended.stderr.splitlines() if "note: skipped records: " in line)
    cause = first.partition("skipped records: ")[2].partition(". Continuing")[0]
    assert ended.stderr.splitlines()[-1].endswith(
        f"note: {MANY} bad records and batches skipped (--on-bad-record). First error: {cause}"
    )


def test_policy_that_does_not_exist_is_rejected() -> None:
    ended = run(many, "--on-bad-record null").ended
    assert ended.code == ExitCode.USAGE
    assert "error, skip" in ended.stderr
