"""Plans in files: what is written is read, and each mistake is named with its place."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.failures import CommandError
from kctl.cli.partitions.plan_file import plan_lines, read_plan, write_plan
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition

ENTRY = {"topic": "t", "partition": 0, "replicas": [1, 2]}


def read(path: Path) -> dict[TopicPartition, tuple[int, ...]]:
    return read_plan(path, SystemClock(), 60_000)


def test_plan_that_is_written_is_read(tmp_path: Path) -> None:
    plan = {TopicPartition("t", 0): (1, 2), TopicPartition('q"', 7): (3,)}
    write_plan(tmp_path / "plan", plan)
    assert read(tmp_path / "plan") == plan
    first = json.loads("".join(plan_lines(plan)))["partitions"][0]
    assert first == {**ENTRY, "log_dirs": ["any", "any"]}
    write_plan(tmp_path / "plan", {})
    assert read(tmp_path / "plan") == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("[" * 100_000, "not JSON"),
        (b"\xff{}", "not JSON"),
        ("[]", 'the list "partitions" is missing'),
        ('{"partitions": 3}', 'the list "partitions" is missing'),
        ('{"version": 2, "partitions": []}', "invalid version 2: use 1"),
        ('{"partitions": [1]}', "partitions[0]: expected an object"),
        ({"topic": 1}, "partitions[0]: invalid topic 1"),
        ({"topic": "x" * 250}, "invalid topic "),
        ({"partition": -1}, "invalid partition -1"),
        ({"partition": True}, "invalid partition True"),
        ({"partition": "0"}, "invalid partition '0'"),
        ({"partition": 2**31}, "invalid partition "),
        ({"replicas": []}, "invalid replicas []"),
        ({"replicas": [1, None]}, "invalid replicas [1, None]"),
        ({"replicas": [1, 1]}, "invalid replicas [1, 1] of t-0"),
        ({"log_dirs": ["/d", "any"]}, "cannot move t-0 between log directories"),
        ({"log_dirs": 5}, "partitions[0]: invalid log_dirs 5"),
        ({"topic": "\ud800"}, "partitions[0]: invalid topic '\\ud800'"),
        ({"topic": "a\x1b[31m"}, "partitions[0]: invalid topic 'a\\x1b[31m'"),
        (f'{{"version": "{"x" * 100}", "partitions": []}}', f"invalid version '{'x' * 79}: use 1"),
    ],
)
def test_mistake_is_named_with_its_place(text: object, says: str, tmp_path: Path) -> None:
    path = tmp_path / "plan"
    if isinstance(text, dict):
        text = json.dumps({"partitions": [{**ENTRY, **text}]})
    path.write_bytes(text if isinstance(text, bytes) else str(text).encode())
    with pytest.raises(CommandError) as raised:
        read(path)
    assert (raised.value.code, says in str(raised.value), str(path) in str(raised.value)) == (2, True, True)


def test_partition_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan").write_text(json.dumps({"partitions": [ENTRY, {**ENTRY, "replicas": [3]}]}))
    with pytest.raises(CommandError, match="t-0 appears twice"):
        read(tmp_path / "plan")


def test_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read .*nope: No such file"):
        read(tmp_path / "nope")
    with pytest.raises(CommandError, match=r"cannot write .*Is a directory"):
        write_plan(tmp_path, {})


@pytest.mark.slow
@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each))
)
def test_any_json_is_a_plan_or_an_error(document: object) -> None:
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile("w") as file:
        file.write(json.dumps({"partitions": [document]}))
        file.flush()
        with pytest.raises(CommandError):
            read(Path(file.name))
