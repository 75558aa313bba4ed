"""Time of the compiled codec beside the reference walker, in the same process; one line a case.

Run it as `python -m benchmarks.bench_codec`. Each figure is the best of several rounds, in microseconds a message;
the last column is what compiling the two functions of a message and version took.
"""

import timeit
from time import perf_counter

from kctl.client.protocol import codec, walker
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsResponse
from kctl.client.protocol.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kctl.client.protocol.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kctl.client.protocol.schema import Message

TOPIC_ID = bytes(range(16))


def api_versions() -> ApiVersionsResponse:
    """What a broker says of 60 APIs."""
    return ApiVersionsResponse(api_keys=[ApiVersion(api_key=key, max_version=9) for key in range(60)])


def metadata() -> MetadataResponse:
    """3 brokers, 20 topics of 10 partitions."""
    partitions = [
        MetadataResponsePartition(partition_index=index, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3])
        for index in range(10)
    ]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=f"broker-{node}", port=9092) for node in range(3)],
        topics=[MetadataResponseTopic(name=f"topic-{n}", partitions=partitions) for n in range(20)],
    )


def fetch_request() -> FetchRequest:
    """100 partitions of one topic."""
    partitions = [FetchPartition(partition=index, fetch_offset=1_000_000) for index in range(100)]
    return FetchRequest(topics=[FetchTopic(topic="topic", topic_id=TOPIC_ID, partitions=partitions)])


def fetch_response(partitions: int, records: int) -> FetchResponse:
    """One topic, so many partitions, so many bytes of records in each."""
    data = [PartitionData(partition_index=index, records=bytes(records)) for index in range(partitions)]
    return FetchResponse(responses=[FetchableTopicResponse(topic="topic", topic_id=TOPIC_ID, partitions=data)])


def produce_request() -> ProduceRequest:
    """10 partitions of 16 KiB."""
    data = [PartitionProduceData(index=index, records=bytes(16384)) for index in range(10)]
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="topic", topic_id=TOPIC_ID, partition_data=data)])


CASES: list[tuple[str, Message, int]] = [
    ("ApiVersions response, 60 apis", api_versions(), 4),
    ("Metadata response, 200 partitions", metadata(), 13),
    ("Metadata response, 200 partitions", metadata(), 8),
    ("Fetch request, 100 partitions", fetch_request(), 17),
    ("Fetch request, 100 partitions", fetch_request(), 11),
    ("Fetch response, 100 partitions", fetch_response(100, 100), 17),
    ("Fetch response, 1 x 1 MiB", fetch_response(1, 1 << 20), 17),
    ("Produce request, 10 x 16 KiB", produce_request(), 13),
]


def best_us(code: str, names: dict[str, object], rounds: int = 7) -> float:
    """The best time of one call, in microseconds."""
    timer = timeit.Timer(code, globals=names)
    number = max(1, timer.autorange()[0] // 20)
    return min(timer.repeat(rounds, number)) / number * 1e6


def main() -> None:
    print(
        f"{'case':44} {'encode':>8} {'walker':>8} {'ratio':>6} {'decode':>8} {'walker':>8} {'ratio':>6} {'compile':>10}"
    )
    for title, message, version in CASES:
        cls = type(message)
        started = perf_counter()
        codec.encoder(cls, version)
        codec.decoder(cls, version)
        first_ms = (perf_counter() - started) * 1e3
        data = codec.encode(message, version)
        names = {"codec": codec, "walker": walker, "message": message, "cls": cls, "data": data, "version": version}
        encode = [best_us(f"{module}.encode(message, version)", names) for module in ("codec", "walker")]
        decode = [best_us(f"{module}.decode(cls, data, version)", names) for module in ("codec", "walker")]
        print(
            f"{title + f', v{version}':44} {encode[0]:8.1f} {encode[1]:8.1f} {encode[1] / encode[0]:5.1f}x "
            f"{decode[0]:8.1f} {decode[1]:8.1f} {decode[1] / decode[0]:5.1f}x {first_ms:7.2f} ms"
        )


if __name__ == "__main__":
    main()
