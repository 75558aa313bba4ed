"""docs/formats.md is true: its examples are run, and everything there is to write is in it."""

import io
import json
import re
import shlex
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from kctl.cli.consume.command import app
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.formats.choice import choose_record_output
from kctl.cli.formats.numbers import NUMBER_FORMS
from kctl.cli.formats.template import Attribute, Verb
from kctl.cli.formats.texts import TEXT_FORMS
from kctl.cli.formats.times import DIRECTIVES
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock
from kctl.client.consumer.chunk import FetchedChunk
from tests.support.in_process import run_in_process
from tests.unit.cli.formats.running import Content, chunk_of

TEXT = (Path(__file__).parents[4] / "docs" / "formats.md").read_text()
PROMPT = "$ kctl consume orders "


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, str]]:
    for block in blocks("console"):
        for example in block.split("$ kctl consume orders ")[1:]:
            command, _, output = example.partition("\n")
            yield command, output


def data_of(value: Any) -> bytes | None:
    return b64decode(value["base64"]) if isinstance(value, dict) else None if value is None else value.encode()


def documented_chunk() -> FetchedChunk:
    lines = [json.loads(line) for line in blocks("jsonl")[0].splitlines()]
    records: list[Content] = [
        (data_of(line["key"]), data_of(line["value"]), [(name, data_of(value)) for name, value in line["headers"]])
        for line in lines
    ]
    chunk = chunk_of(*records, topic="orders", partition=1, timestamps=[line["timestamp"] for line in lines])
    return chunk._replace(high_watermark=43)


def run(command: str) -> bytes:
    """Return what the command writes of the documented records, its options read by the command line itself."""
    *words, last = command.rpartition(" | ")
    arguments = shlex.split(words[0] if words[0] else last)
    given = typer.main.get_command(app).make_context("consume", ["orders", *arguments]).params
    environment = Environment(
        io.BytesIO(), io.BytesIO(), io.StringIO(), {}, ManualClock(), closing_notice=ClosingNotice(), secrets=Secrets()
    )
    output = choose_record_output(
        Common(environment, Settings({}), 0, given["output"] and Output(given["output"]), False, False),
        template=given["template"],
        print_offsets=given["print_offsets"],
        null=given["null"],
        greps=given["grep"] or (),
    )
    chunk = documented_chunk()
    written = output.head + chunk.reader().output(output.plan_for(chunk), given["limit"] or 1000)
    return written.hex().encode() if words[0] and last == "xxd -p" else written


@pytest.mark.parametrize(("command", "shown"), [each for each in examples() if "Invalid value" not in each[1]])
def test_examples(command: str, shown: str) -> None:
    written = run(command).decode().replace("\r\n", "\n")
    assert written.removesuffix("\n") == shown.removesuffix("\n")


@pytest.mark.parametrize(("command", "shown"), [each for each in examples() if "Invalid value" in each[1]])
def test_mistakes(command: str, shown: str) -> None:
    ended = run_in_process("consume", "orders", *shlex.split(command), "-b", "127.0.0.1:1")
    assert (ended.code, ended.stdout, ended.stderr) == (2, b"", shown)


def test_the_records_are_their_own_example() -> None:
    assert run("--output jsonl").decode() == blocks("jsonl")[0]


def test_there_are_examples_of_both_kinds() -> None:
    mistakes = [shown for _, shown in examples() if "Invalid value" in shown]
    assert len(list(examples())) > 15
    assert mistakes


def test_everything_is_documented() -> None:
    words = set(re.findall(r"`([^`\n]+)`", TEXT.replace("\\|", "|")))
    spelled = " ".join(words)
    wanted = [
        *(f"%{verb.value}" for verb in Verb),
        *NUMBER_FORMS,
        *TEXT_FORMS,
        *(f"%a{{{attribute.value}}}" for attribute in Attribute),
        *(shape.value for shape in (Output.RAW, Output.HEX, Output.BASE64, Output.JSONL, Output.CSV)),
    ]
    assert [each for each in wanted if each not in spelled] == []
    times = TEXT[TEXT.index("### Times") : TEXT.index("### Attributes")]
    assert [letter for letter in DIRECTIVES if f"%{letter}" not in times] == []
