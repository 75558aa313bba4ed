"""Topics by pattern, with and without a group; new ones appear while it runs."""

from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import kctl, running
from tests.cli.records import send


@pytest.fixture
def shop() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"orders-1": 2, "orders-2": 1, "bills": 1}).serve() as served:
        for topic in ("orders-1", "orders-2", "bills"):
            send(served.bootstrap, topic, 0, [topic])
        yield served


@pytest.mark.parametrize("group", [(), ("-g", "g"), ("-g", "g", "-X", "group.protocol=consumer")], ids=" ".join)
def test_a_pattern_reads_what_matches(shop: ServedSandbox, group: tuple[str, ...]) -> None:
    ended = kctl("consume", "/orders-.*/", "-b", shop.bootstrap, "-n", "2", *group)
    assert (ended.code, sorted(ended.stdout.split())) == (0, [b"orders-1", b"orders-2"])
    mixed = kctl("consume", "/orders-2/", "bills", "-b", shop.bootstrap, "-e")
    assert sorted(mixed.stdout.split()) == [b"bills", b"orders-2"]


def test_a_pattern_that_matches_nothing(shop: ServedSandbox) -> None:
    ended = kctl("consume", "/nope-.*/", "-b", shop.bootstrap, "-e")
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert "no topic matches /nope-.*/" in ended.stderr


@pytest.mark.parametrize("group", [(), ("-g", "g")], ids=["alone", "group"])
def test_a_new_topic_is_read_from_its_start(shop: ServedSandbox, group: tuple[str, ...]) -> None:
    often = ("-X", "metadata.max.age.ms=200", "-X", "heartbeat.interval.ms=200")
    with running("consume", "/orders-.*/", "-b", shop.bootstrap, *often, *group) as process:
        assert process.stdout is not None
        assert {process.stdout.readline(), process.stdout.readline()} == {b"orders-1\n", b"orders-2\n"}
        shop.sandbox.create_topic("orders-new", partitions=2)
        send(shop.bootstrap, "orders-new", 1, ["new"])
        assert process.stdout.readline() == b"new\n"
