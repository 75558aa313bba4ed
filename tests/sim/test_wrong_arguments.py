"""Arguments of wrong types in every parameter of every public method: an error with its name, and a working client."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Callable as Function
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from inspect import iscoroutinefunction, isfunction, signature
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType, ScramPassword
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.errors import IllegalStateError, KafkaError, LocalProtocolError
from kctl.client.producer import Producer, ProducerRecord
from kctl.client.producer.transaction_methods import TransactionalReader
from tests.sim.kit import SimCluster, run, run_with_admin

TP = TopicPartition("t", 0)
NAIVE = datetime(2020, 1, 1)
WRONG: tuple[Any, ...] = (
    "ab",
    "",
    "\ud800",
    "x" * 40_000,
    b"ab",
    bytearray(b"ab"),
    1,
    -9,
    2**20,
    2**40,
    2**70,
    1.5,
    float("nan"),
    True,
    None,
    object(),
    [1],
    [b"ab"],
    [None],
    [["t", 0]],
    {"t": 1},
    {1: 1},
    ("t", 0, 1),
    TopicPartition("t", "0"),  # type: ignore[arg-type]
    TopicPartition("t", 2**40),
    TopicPartition(b"t", 0),  # type: ignore[arg-type]
    NAIVE,
    timedelta(seconds=1),
    lambda *_: None,
)


def public_methods(kind: type) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the public methods of a client that take arguments, with the annotations; coroutines need real threads."""
    for name in dir(kind):
        method = getattr(kind, name)
        if isfunction(method) and not iscoroutinefunction(method) and not name.startswith("_") and name != "close":
            hints = {each.name: each.annotation for each in list(signature(method).parameters.values())[1:]}
            if hints:
                yield name, hints


def valid(hint: Any) -> Any:
    """Return a value that a parameter with this annotation takes."""
    origin, args = get_origin(hint), get_args(hint)
    if hint == TransactionalReader | None:
        return None
    if origin in (Union, UnionType):
        return valid(args[0])
    if origin is Literal:
        return args[0]
    if origin is tuple:
        return tuple(valid(each) for each in args if each is not Ellipsis)
    if origin is Function:
        return lambda *_: None
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {valid(args[0]): valid(args[1])}
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return [valid(args[0])]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    if isinstance(hint, type) and issubclass(hint, tuple):
        return hint(*(valid(each) for each in get_type_hints(hint).values()))
    if isinstance(hint, type) and issubclass(hint, KafkaError):
        return hint("why")
    plain = {str: "t", int: 0, float: 0.1, bool: False, bytes: b"x", NoneType: None, object: "x", datetime: NAIVE}
    return plain[hint] if hint in plain else GroupMetadata("g") if hint.__name__ == "GroupMember" else hint()


def is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def wrong(hint: Any) -> Iterator[Any]:
    """Yield wrong values for an annotation, as a whole and at each place inside."""
    yield from WRONG
    for each in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, args = get_origin(each), get_args(each)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            yield from ({key: valid(args[1])} for key in wrong(args[0]) if is_hashable(key))
            yield from ({valid(args[0]): value} for value in wrong(args[1]))
        elif isinstance(origin, type) and issubclass(origin, Iterable):
            yield from ([item] for item in wrong(args[0]))
        elif isinstance(each, type) and issubclass(each, tuple) and each is not TopicPartition:
            for field, inner in get_type_hints(each).items():
                yield from (valid(each)._replace(**{field: value}) for value in wrong(inner))


def outcome(call: Callable[..., object], arguments: dict[str, Any]) -> Exception | None:
    """Call a method. Return its exception, or None."""
    try:
        call(**arguments)
    except Exception as error:  # noqa: BLE001 - which they are is the question
        return error
    return None


def try_all(call: Callable[..., object], name: str, hints: dict[str, Any]) -> int:
    """Call a method with each wrong value of each parameter; return how many the method refused."""
    refused = 0
    needed = {each: valid(hint) for each, hint in hints.items() if not each.endswith("timeout")}
    bound = {"timeout": 0.05} if "timeout" in hints else {}
    for parameter, hint in hints.items():
        for value in wrong(hint):
            error = outcome(call, {**needed, **bound, parameter: value})
            at = f"{name}({parameter}={value!r}): {error!r}"
            assert error is None or isinstance(error, TypeError | ValueError | KafkaError), at
            assert not isinstance(error, LocalProtocolError), at
            assert "which is a bug" not in str(error), at
            if isinstance(error, TypeError) and not isinstance(value, ProducerRecord):
                assert parameter.split("_")[0].rstrip("s") in str(error), at
            refused += isinstance(error, TypeError | ValueError)
    return refused


@pytest.mark.slow
def test_admin_refuses_wrong_types_in_every_parameter() -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        methods = sorted(public_methods(Admin), key=lambda method: method[0] != "wait_for_topics")
        for name, hints in methods:  # wait_for_topics first: it waits for long timeouts once delete_topics has run
            if name not in ("request_budget", "within"):
                assert try_all(getattr(admin, name), name, hints) > 5, name
        admin.create_topics([NewTopic("after", 1, 1)]).raise_first()
        assert admin.describe_topics(["after"], timeout=5).done["after"].partitions

    run_with_admin(app)


@pytest.mark.slow
def test_consumer_refuses_wrong_types_in_every_parameter() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            producer.send("t", b"v", partition=0)
        consumer = cluster.enter(cluster.consumer(group_id="g", enable_auto_offset_store=False))
        for name, hints in public_methods(Consumer):

            def call(name: str = name, **arguments: Any) -> None:
                consumer.unsubscribe()
                if name != "subscribe":
                    consumer.assign([TP])
                getattr(consumer, name)(**arguments)

            assert try_all(call, name, hints) > 5, name
        consumer.unsubscribe()
        consumer.assign([TP])
        consumer.seek(TP, 0)
        assert [record.value for record in consumer.poll(5)] == [b"v"]

    run(app)


@pytest.mark.slow
def test_producer_refuses_wrong_types_in_every_parameter() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(
            cluster.producer(
                {"max.block.ms": "50", "delivery.timeout.ms": "1000", "linger.ms": "0", "request.timeout.ms": "500"}
            )
        )
        for name, hints in public_methods(Producer):
            if name != "send_offsets_to_transaction":
                assert try_all(getattr(producer, name), name, hints) > 2, name
        with cluster.producer({"transactional.id": "tx"}) as transactional:
            transactional.init_transactions(timeout=5)
            transactional.begin_transaction()
            hints = dict(public_methods(Producer))["send_offsets_to_transaction"]
            assert try_all(transactional.send_offsets_to_transaction, "send_offsets_to_transaction", hints) > 20
            transactional.abort_transaction(timeout=5)
        assert producer.send("t", b"x", partition=0).result(5).topic == "t"

    run(app)


NAME_CALLS: tuple[Callable[[Admin, Any], object], ...] = (
    lambda admin, names: admin.delete_topics(names),
    lambda admin, names: admin.describe_topics(names),
    lambda admin, names: admin.delete_groups(names),
    lambda admin, names: admin.describe_groups(names),
    lambda admin, names: admin.list_groups(states=names),
    lambda admin, names: admin.list_groups(types=names),
    lambda admin, names: admin.list_offsets_of_groups(names),
    lambda admin, names: admin.describe_user_scram_credentials(names),
    lambda admin, names: admin.eligible_leaders(names),
    lambda admin, names: admin.describe_client_quotas(names),
    lambda admin, names: admin.delete_share_group_offsets("g", names),
    lambda admin, names: admin.describe_transactions(names),
    lambda admin, names: admin.list_transactions(states=names),
    lambda admin, names: admin.metadata_views([1], names),
)


@pytest.mark.parametrize("names", ["ab", b"ab", bytearray(b"ab"), ["a", 1], ["a", b"b"], [None], 7])
def test_names_are_a_list_of_strings_or_a_type_error_before_any_request(names: object) -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        for call in NAME_CALLS:
            with pytest.raises(
                TypeError, match=r"^(names|group_ids|states|types|users|topics|entity_types|transactional_ids)"
            ):
                call(admin, names)
        assert admin.requests_sent == 0
        assert set(admin.list_topics()) == {"a", "b", "ab"}

    run_with_admin(app, topics={"a": 1, "b": 1, "ab": 1})


def test_iterables_of_names_are_taken_whole() -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        for names in ({"a": 1}, ("a",), {"a"}, iter(["a"]), (each for each in "a")):
            assert set(admin.describe_topics(names).done) == {"a"}  # type: ignore[arg-type]

    run_with_admin(app, topics={"a": 1})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda admin: admin.delete_topics("ab"), r"names must be a list of strings, not 'ab': use \['ab'\]"),
        (
            lambda admin: admin.create_topics([NewTopic("n", configs={"retention.ms": 1000})]),  # type: ignore[dict-item]
            r"new_topics\[0\].configs\[retention.ms\] must be a string or None, not 1000",
        ),
        (
            lambda admin: admin.create_topics([NewTopic("n", "3")]),  # type: ignore[arg-type]
            r"new_topics\[0\].num_partitions must be an integer, not '3'",
        ),
        (
            lambda admin: admin.alter_configs({ConfigResource(ResourceType.TOPIC, "t"): {"retention.ms": 1}}),
            r"changes\[topic t\]\[retention.ms\] must be a string or a ListChange or None, not 1",
        ),
        (
            lambda admin: admin.list_offsets({TP: NAIVE}),
            r"specs\[t-0\] must be a datetime with a time zone, not datetime",
        ),
        (lambda admin: admin.list_offsets({"t": 1}), r"a key of specs must be a TopicPartition, not 't'"),
        (
            lambda admin: admin.alter_user_scram_credentials([ScramPassword("u", "SCRAM-SHA-256", b"hidden")]),  # type: ignore[arg-type]
            r"changes\[0\].password must be a string, not bytes$",
        ),
    ],
)
def test_error_names_the_parameter_the_place_and_the_value(call: Callable[[Admin], object], said: str) -> None:
    def app(cluster: SimCluster, admin: Admin) -> None:
        with pytest.raises((TypeError, ValueError), match=said):
            call(admin)

    run_with_admin(app)


@pytest.mark.parametrize("client", [Admin, Consumer, Producer])
@pytest.mark.parametrize("config", ["topic", None, ["a"], 7])
def test_config_that_is_no_mapping_is_a_type_error(client: Callable[[object], object], config: object) -> None:
    with pytest.raises(TypeError, match="config must be"):
        client(config)


@pytest.mark.parametrize("client", [Admin, Consumer, Producer])
def test_events_that_cannot_be_called_are_a_type_error(client: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="events must be a function"):
        client({"bootstrap.servers": "127.0.0.1:1"}, events=7)


def test_listener_that_is_a_function_is_refused_and_the_subscription_unchanged() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = cluster.enter(cluster.consumer(group_id="g"))
        with pytest.raises(TypeError, match="listener must be a RebalanceListener or None, not function"):
            consumer.subscribe(["t"], lambda: None)  # type: ignore[arg-type]
        assert consumer.subscription is None
        consumer.subscribe(["t"])
        while not consumer.assignment:
            consumer.poll(1)

    run(app)


def test_aware_datetime_is_taken_wherever_a_time_is() -> None:
    east = timezone(timedelta(hours=5))
    at = datetime(2020, 1, 1, 5, tzinfo=east)
    at_ms = int(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * 1000)

    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(cluster.producer())
        record = ProducerRecord("t", b"3", partition=0, timestamp_ms=at)  # type: ignore[arg-type]  # taken all the same
        sent = [producer.send("t", b"1", partition=0, timestamp_ms=at).result(5), producer.send(record).result(5)]
        assert [each.timestamp_ms for each in sent] == [at_ms, at_ms]
        producer.send_columns("t", [b"4", b"5"], partition=0, timestamps_ms=[at, None]).result(5)
        producer.send_columns("t", [b"6"], partition=0, timestamps_ms=at).result(5)
        with pytest.raises(ValueError, match="timestamp_ms must be a datetime with a time zone"):
            producer.send("t", b"x", timestamp_ms=NAIVE)
        with pytest.raises(ValueError, match="row 0: timestamp_ms must be a datetime with a time zone"):
            producer.send_columns("t", [b"x"], timestamps_ms=[NAIVE])
        consumer = cluster.enter(cluster.consumer())
        consumer.assign([TP])
        found = consumer.offsets_for_times({TP: at})[TP]
        assert found is not None
        assert (found.offset, found.timestamp_ms) == (0, at_ms)
        lookup = consumer.look_up_offsets({TP: at})
        while lookup.pending:
            consumer.poll(1)
        assert lookup.found[TP] == found
        admin = cluster.enter(cluster.admin())
        assert admin.list_offsets({TP: at}).done[TP].offset == 0

    run(app)


def test_buffers_are_copied_and_lists_are_header_pairs() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.enter(cluster.producer({"linger.ms": "100"}))
        buffer = bytearray(b"key")
        header = ["name", bytearray(b"h")]
        producer.send("t", memoryview(b"value"), key=buffer, headers=[header], partition=0)
        producer.send_columns("t", [bytearray(b"second")], [memoryview(b"k")], headers=[[["n", None]]], partition=0)
        buffer[:] = b"XXX"
        header[1] = b"changed"
        producer.flush()
        consumer = cluster.enter(cluster.consumer())
        consumer.assign([TP])
        found = [(each.key, each.value, each.headers) for each in consumer.poll(5)]
        assert found == [(b"key", b"value", (("name", b"h"),)), (b"k", b"second", (("n", None),))]

    run(app)


def test_integers_of_other_libraries_are_taken() -> None:
    class Index:
        def __index__(self) -> int:
            return 1

    def app(cluster: SimCluster) -> None:
        consumer = cluster.enter(cluster.consumer())
        consumer.assign([TopicPartition("t", Index())])  # type: ignore[arg-type]
        consumer.seek(TopicPartition("t", 1), Index())  # type: ignore[arg-type]
        assert consumer.position(TopicPartition("t", 1)) == 1
        assert type(consumer.assignment[0].partition) is int

    run(app)


def test_closed_client_is_an_illegal_state_for_right_arguments() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = cluster.consumer()
        consumer.close()
        with pytest.raises(IllegalStateError):
            consumer.seek(TP, 0)

    run(app)
