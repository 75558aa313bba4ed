import math
from threading import Thread

from kctl.client.producer.metrics import ProducerCounters, ProducerMetrics, TopicMetrics


def snapshot(counters: ProducerCounters) -> ProducerMetrics:
    return counters.snapshot(outstanding=3, buffer_used_bytes=10, buffer_total_bytes=100)


def test_before_anything_is_sent() -> None:
    metrics = snapshot(ProducerCounters())
    assert metrics[:7] == TopicMetrics()
    assert (metrics.compression_ratio, metrics.queue_time_avg_ms, metrics.topics) == (1.0, 0.0, {})
    assert (metrics.records_outstanding, metrics.buffer_used_bytes, metrics.buffer_total_bytes) == (3, 10, 100)


def test_topics_are_summed_up() -> None:
    counters = ProducerCounters()
    one, two = counters.of_topic("one"), counters.of_topic("two")
    counters.first_sending(one, records=3, size_bytes=50, plain_bytes=100, waited_ms=4)
    counters.first_sending(two, records=2, size_bytes=25, plain_bytes=50, waited_ms=8)
    two.batches_retried += 1
    one.delivered, two.failed, two.unknown = 3, 1, 1
    metrics = snapshot(counters)
    assert metrics.topics == {"one": TopicMetrics(3, 50, 1, 0, 3, 0, 0), "two": TopicMetrics(2, 25, 1, 1, 0, 1, 1)}
    assert metrics[:7] == (5, 75, 2, 1, 3, 1, 1)
    assert (metrics.compression_ratio, metrics.queue_time_avg_ms, metrics.queue_time_max_ms) == (0.5, 6.0, 8)


def test_a_snapshot_can_be_taken_while_topics_come_up() -> None:
    counters = ProducerCounters()

    def grow() -> None:
        for number in range(20_000):
            counters.of_topic(f"t{number}")

    growing = Thread(target=grow)
    growing.start()
    sizes = []
    while growing.is_alive():
        sizes.append(len(snapshot(counters).topics))
    growing.join()
    assert sizes == sorted(sizes)


def test_metrics_have_the_names_of_kafka() -> None:
    nothing = snapshot(ProducerCounters()).by_kafka_name()
    assert {name for name, value in nothing.items() if math.isnan(value)} == {
        "batch-size-avg",
        "compression-rate-avg",
        "produce-throttle-time-avg",
        "record-queue-time-avg",
        "record-queue-time-max",
        "records-per-request-avg",
    }
    counters = ProducerCounters()
    topic = counters.of_topic("t")
    counters.first_sending(topic, 4, 100, 200, 3)
    counters.first_sending(topic, 2, 50, 100, 6)
    counters.requests_sent, counters.throttle_time_ms, counters.batches_split = 3, 30, 1
    topic.failed, topic.unknown = 2, 1
    assert snapshot(counters).by_kafka_name() == {
        "record-send-total": 6,
        "record-error-total": 3,
        "batch-split-total": 1,
        "batch-size-avg": 75,
        "compression-rate-avg": 0.5,
        "records-per-request-avg": 2,
        "record-queue-time-avg": 4.5,
        "record-queue-time-max": 6,
        "produce-throttle-time-avg": 10,
        "buffer-total-bytes": 100,
        "buffer-available-bytes": 90,
    }
