"""`kctl schemas` as whole command lines, on a registry of the test."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, kctl
from tests.support.registry.server import FakeRegistry, running

OLD = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]})
NEW = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]}
)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with running(FakeRegistry()) as served:
        yield served


def schemas(registry: FakeRegistry, *words: str, stdin: bytes = b"") -> Ended:
    return kctl("schemas", *words, stdin=stdin, environ={"KCTL_SCHEMA_REGISTRY_URL": registry.url})


def rows(ended: Ended) -> list[dict[str, object]]:
    assert ended.code == 0, ended.stderr
    found: list[dict[str, object]] = json.loads(ended.stdout)["rows"]
    return found


def test_schema_is_registered_listed_shown_and_deleted(registry: FakeRegistry, tmp_path: Path) -> None:
    file = tmp_path / "old.avsc"
    file.write_text(OLD + "\n")
    [registered] = rows(schemas(registry, "register", "o-value", str(file), "--json"))
    assert registered == {"subject": "o-value", "version": 1, "schema_id": 1, "result": "registered"}
    [again] = rows(schemas(registry, "register", "o-value", "-", "--json", stdin=OLD.encode()))
    assert again == registered
    assert rows(schemas(registry, "list", "--json")) == [{"subject": "o-value", "versions": [1], "latest_version": 1}]
    assert schemas(registry, "list", "x").stdout == b""
    for name in ("o-value", "1"):
        [shown] = rows(schemas(registry, "show", name, "--json"))
        assert (shown["schema_id"], shown["schema_type"], shown["schema"]) == (1, "AVRO", OLD)
    [dry] = rows(schemas(registry, "delete", "o-value", "--json"))
    assert dry["result"] == "would be deleted"
    [deleted] = rows(schemas(registry, "delete", "o-value", "--yes", "--json"))
    assert deleted["result"] == "deleted"
    assert schemas(registry, "show", "o-value").code == ExitCode.UNKNOWN_RESOURCE


def test_incompatible_schema_is_refused_before_and_at_registration(registry: FakeRegistry) -> None:
    registry.add("s", OLD)
    checked = schemas(registry, "check", "s", "-", stdin=NEW.encode())
    assert checked.code == ExitCode.DATA
    assert b"a field has no default" in checked.stdout
    assert schemas(registry, "check", "s", "-", stdin=OLD.encode()).code == 0
    dry = schemas(registry, "register", "s", "-", "--dry-run", stdin=NEW.encode())
    assert (dry.code, b"would be refused" in dry.stdout) == (ExitCode.DATA, True)
    refused = schemas(registry, "register", "s", "-", stdin=NEW.encode())
    assert refused.code == ExitCode.DATA
    assert "incompatible with an earlier schema" in refused.stderr


def test_compatibility_level_is_shown_and_set(registry: FakeRegistry) -> None:
    registry.add("s", OLD)
    [shown] = rows(schemas(registry, "config", "s", "--json"))
    assert shown == {"subject": "s", "compatibility": "BACKWARD", "result": "unchanged"}
    [dry] = rows(schemas(registry, "config", "s", "--set", "NONE", "--dry-run", "--json"))
    assert dry["result"] == "would be set"
    assert registry.levels == {}
    [done] = rows(schemas(registry, "config", "s", "--set", "NONE", "--json"))
    assert (done["result"], registry.levels) == ("set", {"s": "NONE"})


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("show", "nothing"), ExitCode.UNKNOWN_RESOURCE, "Subject 'nothing' not found"),
        (("show", "s", "--version", "x"), ExitCode.USAGE, "'x' is not an integer"),
        (("register", "s", "/nonexistent"), ExitCode.USAGE, "/nonexistent: No such file"),
        (("register", "s", "-"), ExitCode.DATA, "-: not JSON"),
        (("register", "s", "-", "--reference", "x"), ExitCode.USAGE, "is not in the form NAME=SUBJECT@VERSION"),
        (("config", "--set", "SOME"), ExitCode.USAGE, "'SOME' is not one of BACKWARD"),
    ],
)
def test_mistake_is_one_clear_line(
    registry: FakeRegistry, words: tuple[str, ...], code: ExitCode, problem: str
) -> None:
    ended = schemas(registry, *words, stdin=b"{")
    assert (ended.code, ended.stdout) == (code, b"")
    assert problem in ended.stderr


def test_registry_that_is_not_named_or_not_there() -> None:
    unnamed = kctl("schemas", "list")
    assert unnamed.code == ExitCode.USAGE
    assert "schema.registry.url is not set" in unnamed.stderr
    refused = kctl("schemas", "list", "-X", "schema.registry.url=http://127.0.0.1:1")
    assert (refused.code, refused.stderr.splitlines()[0]) == (
        ExitCode.REFUSED,
        "kctl schemas: 127.0.0.1:1: connection refused",
    )


@pytest.mark.parametrize(("content", "says"), [(b"\xff", "not UTF-8"), (b" " * 10_000_001, "larger than")])
def test_schema_of_stdin_is_refused_as_that_of_a_file(registry: FakeRegistry, content: bytes, says: str) -> None:
    ended = schemas(registry, "register", "s", "-", "--type", "avro", stdin=content)
    assert (ended.code, says in ended.stderr) == (ExitCode.USAGE, True)
