"""Options as users write them: values, defaults, and an error for each mistake that names option and value."""

import pickle
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kctl.client.admin import EARLIEST, LATEST
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.pipeline.ranges import Cut, RangeBound, Selection
from kctl.pipeline.source.option_table import OPTIONS, READ, OptionRow, Verdict
from kctl.pipeline.source.options import has_headers, read_options, write_options

BASE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}


def test_defaults_of_batch_and_stream() -> None:
    batch, stream = (read_options(BASE, is_stream=is_stream) for is_stream in (False, True))
    assert batch.properties == (("bootstrap.servers", "localhost:9092"),)
    assert batch.selection == Selection(topics=("t",))
    assert (batch.start.anywhere, stream.start.anywhere) == (EARLIEST, LATEST)
    assert batch.end == RangeBound(LATEST, option="endingOffsets")
    assert (batch.cut, batch.max_offsets_per_trigger) == (Cut(), 0)
    assert batch.fail_on_data_loss


def test_commit_to_group_is_for_streams_and_not_empty() -> None:
    assert read_options(BASE | {"committogroup": "g"}, is_stream=True).commit_to_group == "g"
    with pytest.raises(ConfigError, match="option commitToGroup is only for streaming reads"):
        read_options(BASE | {"commitToGroup": "g"}, is_stream=False)
    with pytest.raises(ConfigError, match="option commitToGroup is empty"):
        read_options(BASE | {"commitToGroup": " "}, is_stream=True)


def test_every_option_in_any_case() -> None:
    options = read_options(
        BASE
        | {
            "MINPARTITIONS": "4",
            "maxrecordsperpartition": "1000",
            "maxOffsetsPerTrigger": "7",
            "failOnDataLoss": "FALSE",
            "includeheaders": "true",
            "startingOffsets": '{"t":{"0":-2,"1":-1,"2":7}}',
            "apiTimeout": "1m30s",
            "requestTimeout": "5s",
            "connectTimeout": "300ms",
            "kafka.isolation.level": "read_committed",
        },
        is_stream=True,
    )
    assert options.cut == Cut(4, 1000)
    assert (options.max_offsets_per_trigger, options.fail_on_data_loss) == (7, False)
    assert options.start.partitions == tuple((TopicPartition("t", n), at) for n, at in enumerate((-2, -1, 7)))
    assert dict(options.properties) == {
        "bootstrap.servers": "localhost:9092",
        "isolation.level": "read_committed",
        "default.api.timeout.ms": "90000",
        "max.block.ms": "90000",
        "request.timeout.ms": "5000",
        "socket.connection.setup.timeout.ms": "300",
    }
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("given", "expected"), [({}, False), ({"INCLUDEHEADERS": " True "}, True), ({"includeHeaders": "false"}, False)]
)
def test_headers_are_a_column_only_where_the_option_is_true(given: dict[str, str], expected: bool) -> None:
    assert has_headers(given) is expected


def test_times_go_before_offsets() -> None:
    given = BASE | {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"t":{"0":5}}'}
    assert read_options(given, is_stream=False).start.partitions == ((TopicPartition("t", 0), 5),)
    options = read_options(given | {"startingTimestamp": "9"}, is_stream=False)
    assert (options.start.anywhere, options.start.is_time, options.start.latest_if_none) == (9, True, False)
    given |= {"startingTimestamp": "9", "startingOffsetsByTimestampStrategy": "latest"}
    assert read_options(given, is_stream=False).start.latest_if_none


def test_the_three_ways_to_select() -> None:
    base = {"kafka.bootstrap.servers": "localhost:9092"}
    several = read_options(base | {"subscribe": " a, b ,a"}, is_stream=False)
    assert several.selection == Selection(topics=("a", "b"))
    assert read_options(base | {"subscribePattern": "a.*"}, is_stream=False).selection == Selection(pattern="a.*")
    assigned = read_options(base | {"assign": '{"b":[1,0],"a":[2]}'}, is_stream=False)
    assert assigned.selection.partitions == tuple(TopicPartition(*tp) for tp in (("a", 2), ("b", 0), ("b", 1)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"subscribe": ""}, "invalid option subscribe '': use one or more topics"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is not set"),
        ({"assign": '{"t":[0]}'}, "Options found: subscribe and assign"),
        ({"subscribe": None}, "Options found: none"),
        ({"subscribe": None, "assign": '{"t":[-1]}'}, "invalid option assign .*: use JSON"),
        ({"subscribe": None, "assign": "[]"}, "invalid option assign .*: use JSON"),
        ({"subscribe": None, "subscribePattern": "("}, "option subscribePattern"),
        ({"minPartitions": "0"}, "invalid option minPartitions '0': use an integer of 1 or more"),
        ({"minPartitions": "9" * 5000}, "invalid option minPartitions"),
        ({"failOnDataLoss": "yes"}, "invalid option failOnDataLoss 'yes': use true or false"),
        ({"includeHeaders": "yes"}, "invalid option includeHeaders 'yes': use true or false"),
        ({"startingOffsets": "latest"}, "invalid option startingOffsets .*: use earliest or JSON"),
        ({"startingOffsets": "{"}, "invalid option startingOffsets .*: use JSON"),
        ({"startingOffsets": '{"t":5}'}, "invalid option startingOffsets .*: use JSON"),
        ({"startingOffsets": '{"t":{"x":5}}'}, "invalid option startingOffsets .*: use JSON"),
        ({"startingOffsets": '{"t":{"0":-3}}'}, "invalid option startingOffsets .*: use JSON"),
        ({"startingOffsets": '{"t":{"0":true}}'}, "invalid option startingOffsets .*: use JSON"),
        ({"startingOffsets": "[" * 100_000}, "invalid option startingOffsets .*: use earliest or JSON"),
        ({"startingOffsets": '{"t":' * 100_000}, "invalid option startingOffsets .*: use JSON"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "invalid option endingOffsets .*: use JSON"),
        ({"endingOffsets": "earliest"}, "invalid option endingOffsets .*: use latest or JSON"),
        ({"startingTimestamp": "-1"}, "invalid option startingTimestamp '-1': use milliseconds since the epoch"),
        ({"startingOffsetsByTimestampStrategy": "earliest"}, "use error or latest"),
        ({"maxOffsetsPerTrigger": "5"}, "is only for streaming reads"),
        ({"minOffsetsPerTrigger": "5"}, "is only for streaming reads"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "with offsets of 0 or more, -2 for earliest"),
        ({"kafka.auto.offset.reset": "earliest"}, "option kafka.auto.offset.reset is not supported: set the start"),
        ({"kafka.enable.auto.commit": "true"}, "option kafka.enable.auto.commit is not supported"),
        ({"kafka.value.deserializer": "x"}, "option kafka.value.deserializer is not supported: values are binary"),
        ({"subscribe": None, "subscribePattern": "[a-c&&[a]]"}, "intersection of classes"),
        ({"apiTimeout": "5"}, "invalid option apiTimeout '5': use a duration.*has no unit"),
        ({"apiTimeout": "5s", "kafka.max.block.ms": "4000"}, "apiTimeout and kafka.max.block.ms set the same timeout"),
        ({"kafka.no.such": "1"}, "unknown property 'no.such'"),
        ({"startingOffset": "earliest"}, "unknown option 'startingoffset': did you mean startingOffsets"),
        ({"topic": "t"}, "unknown option 'topic' for reads"),
        ({"kafka.sasl.jaas.config": "x password=hush;"}, "sasl.jaas.config is a secret, which would be sent"),
    ],
)
def test_mistakes(changed: dict[str, str | None], said: str) -> None:
    given = {name: value for name, value in {**BASE, **changed}.items() if value is not None}
    with pytest.raises(ConfigError, match=said) as caught:
        read_options(given, is_stream=False)
    assert "hush" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fetchOffset.numRetries", "kctl retries offset requests until apiTimeout"),
        ("groupIdPrefix", "kctl does not use a consumer group to read"),
        ("kafka.group.id", "kctl does not use a consumer group to read"),
        ("kafka.metric.reporters", "the property configures metrics of Java clients"),
    ],
)
def test_option_without_effect_is_noted(caplog: pytest.LogCaptureFixture, name: str, said: str) -> None:
    read_options(BASE | {name: "x"}, is_stream=False)
    assert f"has no effect: {said}" in caplog.text


def test_options_of_triggers() -> None:
    plain = read_options(BASE, is_stream=True)
    assert (plain.min_offsets_per_trigger, plain.max_trigger_delay_ms) == (0, 900_000)
    for delay, ms in (("15m", 900_000), ("250", 250), ("3s", 3_000)):
        given = BASE | {"minOffsetsPerTrigger": "9", "maxTriggerDelay": delay}
        options = read_options(given, is_stream=True)
        assert (options.min_offsets_per_trigger, options.max_trigger_delay_ms) == (9, ms)


def test_poll_timeout_of_the_connector_is_the_api_timeout() -> None:
    given = BASE | {"kafkaConsumer.pollTimeoutMs": "5000"}
    assert dict(read_options(given, is_stream=False).properties)["default.api.timeout.ms"] == "5000"
    given |= {"apiTimeout": "7s"}
    assert dict(read_options(given, is_stream=False).properties)["default.api.timeout.ms"] == "7000"


def test_transactional_id_of_a_write_is_refused_at_planning() -> None:
    with pytest.raises(ConfigError, match=r"transactional\.id is not supported: tasks write at least once"):
        write_options({"kafka.bootstrap.servers": "b:1", "kafka.transactional.id": "x"})


def test_options_that_end_a_batch_are_refused_for_a_stream() -> None:
    with pytest.raises(ConfigError, match="endingOffsets is only for batch reads"):
        read_options(BASE | {"endingOffsets": "latest"}, is_stream=True)


def test_options_of_a_write() -> None:
    options = write_options(
        {"kafka.bootstrap.servers": "b:1", "topic": "t", "keepTimestamps": "true", "kafka.acks": "1"}
    )
    assert (options.topic, options.keep_timestamps) == ("t", True)
    assert dict(options.properties) == {"bootstrap.servers": "b:1", "acks": "1"}
    with pytest.raises(ConfigError, match="unknown option 'subscribe' for writes"):
        write_options(BASE)


def test_references_are_looked_up_where_a_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    options = read_options(BASE | {"kafka.sasl.oauthbearer.token": "env:KCTL_TEST_TOKEN"}, is_stream=False)
    monkeypatch.setenv("KCTL_TEST_TOKEN", "hush")
    assert "hush" not in repr(options)
    assert options.client_properties()["sasl.oauthbearer.token"] == "hush"


VALUES = {
    "kafka.bootstrap.servers": "h:1",
    "subscribe": "t",
    "subscribepattern": "t.*",
    "assign": '{"t":[0]}',
    "startingoffsets": '{"t":{"0":3}}',
    "startingoffsetsbytimestamp": '{"t":{"0":3}}',
    "startingoffsetsbytimestampstrategy": "latest",
    "endingoffsets": '{"t":{"0":3}}',
    "endingoffsetsbytimestamp": '{"t":{"0":3}}',
    "failondataloss": "false",
    "includeheaders": "true",
    "keeptimestamps": "true",
    "apitimeout": "7s",
    "requesttimeout": "7s",
    "connecttimeout": "7s",
    "topic": "t",
    "decode": "avro",
    "decodeschema": "id:7",
    "decodemessage": "value=shop.Order",
}
"""Where a number is not a value."""


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: f"{row.use}-{row.name}")
def test_option_of_the_table_is_accepted_or_refused_as_documented(row: OptionRow) -> None:
    """An option that is refused is so by its own name, with its reason, which is what the page says."""
    name = row.name.lower()
    given = {"kafka.bootstrap.servers": "h:1", name: VALUES.get(name, "7000")}
    if name.startswith("decode"):
        given |= {"decode": "avro", "schema.registry.url": "http://h:2"}

    def read(*, is_stream: bool) -> None:
        selection = {} if name in ("subscribe", "subscribepattern", "assign") else {"subscribe": "t"}
        read_options({**given, **selection}, is_stream=is_stream)

    uses: dict[str, list[Callable[[], object]]] = {
        "read": [partial(read, is_stream=False), partial(read, is_stream=True)],
        "batch": [partial(read, is_stream=False)],
        "stream": [partial(read, is_stream=True)],
        "write": [partial(write_options, given)],
    }
    for use in uses[row.use]:
        if row.verdict is not Verdict.REFUSED:
            use()
            continue
        assert re.search(r"\. | with | or ", row.why), "no alternative"
        with pytest.raises(ConfigError, match=re.escape(f"option {row.name} is not supported: {row.why}")):
            use()
    if row.use in ("batch", "stream"):
        with pytest.raises(ConfigError, match=rf"option {row.name} is only for \w+ reads"):
            read(is_stream=row.use == "batch")


def test_tables_of_the_page_have_options_that_are_accepted_and_all_of_kctls_own() -> None:
    page = (Path(__file__).parents[4] / "docs" / "pipeline-source.md").read_text()
    section = page[page.index("## Options of a read") : page.index("## Options of a write")]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)} - {"kafka.*"}
    accepted = {row.name for row in READ.values() if row.verdict not in (Verdict.REFUSED, Verdict.NO_EFFECT)}
    assert named <= accepted
    assert accepted - named == {"kafka.bootstrap.servers", "kafkaConsumer.pollTimeoutMs"}
