"""`kctl produce`: lines to a topic, a record each; says of every record that could not be delivered.

Owns the reading and the account at the end; the producer blocks when its memory is full, so nothing piles up here.
Shown by tests/cli/test_produce_consume.py.
"""

import math
from typing import Annotated

import click
import typer

from kctl.cli.delivery_account import account_code, tell_account
from kctl.cli.failures import CommandError, exit_code, explain
from kctl.cli.formats.escapes import parse_literal
from kctl.cli.lines import Line, read_files
from kctl.cli.options import Common, DurationType, with_common
from kctl.cli.settings import Setting
from kctl.client.cluster import TopicPartition
from kctl.client.config import ProducerConfig
from kctl.client.errors import FlushTimeout, KafkaError, RecordTooLargeError, UndeliveredError
from kctl.client.producer import Producer
from kctl.client.producer.future import SendFuture

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_common
def produce(
    common: Common,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Where to send.", show_default=False)],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE]...", help="What to send; - or none is stdin.")
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option(
            "--key-separator",
            "-K",
            metavar="TEXT",
            help="What stands between key and value; a line without it is a value.",
        ),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, metavar="N", help="Send to this partition.")
    ] = None,
    acks: Annotated[
        str | None, typer.Option("--acks", metavar="WHO", help="Who must have a record: all, 1 or 0. (all)")
    ] = None,
    compression: Annotated[
        str | None, typer.Option("--compression", metavar="NAME", help="none, gzip, snappy, lz4 or zstd. (none)")
    ] = None,
    delivery_timeout: Annotated[
        int | None,
        typer.Option(
            "--delivery-timeout",
            click_type=DurationType(),
            metavar="DURATION",
            help="Limit of one record from reading it to its ack (120s).",
        ),
    ] = None,
) -> int:
    """Send lines to a topic, a record each.

    Exits with 20 when any record was not delivered, after saying how many of which partition, and why.
    """
    common.refuse_output()
    separator = _read_separator(key_separator)
    flags = {
        "acks": None if acks is None else Setting(acks, "--acks"),
        "compression.type": None if compression is None else Setting(compression, "--compression"),
        "delivery.timeout.ms": (
            None if delivery_timeout is None else Setting(str(delivery_timeout), "--delivery-timeout")
        ),
    }
    config = common.settings.with_flags(flags).parse(ProducerConfig)
    common.note_ignored(config)
    producer = Producer(config.given, events=common.events)
    sending = _Sending(common, producer, topic, partition, separator)
    failure: KafkaError | None = None
    try:
        for line in read_files(files or (), common.environment.stdin, config.max_request_size):
            sending.send(line)
        producer.flush(math.inf)  # each record has its own limit, delivery.timeout.ms
    except (UndeliveredError, FlushTimeout):
        pass  # the account below says it by partition
    except KafkaError as e:
        failure = e
    finally:
        result = producer.close(common.close_timeout_s)
        tell_account(common, result)
        if failure is not None and sending.in_hand is not None:
            common.environment.say(f"kctl produce: {sending.in_hand.place} was NOT sent, and nothing after it was read")
    if failure is not None and result.undelivered == 0:
        raise failure
    return account_code(result)


def _read_separator(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        separator = parse_literal(text)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--key-separator' / '-K'") from None
    if not separator:
        raise click.BadParameter("an empty text separates nothing", param_hint="'--key-separator' / '-K'")
    return separator


class _Sending:
    """Makes records of lines, and tells the first failure of each partition when it happens."""

    def __init__(
        self, common: Common, producer: Producer, topic: str, partition: int | None, separator: bytes | None
    ) -> None:
        self._common = common
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._separator = separator
        self._told: set[TopicPartition] = set()
        self.in_hand: Line | None = None
        """The line that was read and not yet taken by the producer."""

    def send(self, line: Line) -> None:
        """Send one line; blocks while the producer's memory is full or the topic is not known yet."""
        self.in_hand = line
        key, value = None, line.content
        if self._separator is not None and self._separator in value:
            key, value = value.split(self._separator, 1)
        try:
            self._producer.send(self._topic, value=value, key=key, partition=self._partition, callback=self._on_done)
        except RecordTooLargeError as e:
            raise CommandError(exit_code(e), f"{line.place}: {e}", "nothing after that line was sent") from e
        self.in_hand = None

    def _on_done(self, future: SendFuture) -> None:
        error = None if future.outcome is None else future.outcome.error
        if error is None or future.topic_partition in self._told:
            return
        self._told.add(future.topic_partition)
        self._common.say(f"kctl produce: {future.topic_partition}: not delivered: {explain(error).message}")
