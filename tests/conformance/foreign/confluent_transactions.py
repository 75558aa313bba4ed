"""confluent-kafka's transactional producers, step by step: what TransactionSteps.java does, with librdkafka.

`confluent_transactions key=value...`; each line of standard input is a step, `NAME VERB WORD...`, and is answered with
a line, `ok` or the name of the error's code. The caller bounds the time.
"""

import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.conformance.foreign.login import librdkafka_settings

WAIT_S = 30.0


def send(producer: Producer, topic: str, partition: int, value: str) -> None:
    """Return when the record is acknowledged."""
    errors: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            errors.append(error)

    producer.produce(topic, value.encode(), partition=partition, on_delivery=on_delivery)
    producer.flush(WAIT_S)
    if errors:
        raise KafkaException(errors[0])


def step(producer: Producer, settings: dict[str, str], words: list[str]) -> None:
    """Do one step."""
    match words:
        case ["init"]:
            producer.init_transactions(WAIT_S)
        case ["begin"]:
            producer.begin_transaction()
        case ["send", topic, partition, value]:
            send(producer, topic, int(partition), value)
        case ["offsets", group, topic, partition, offset]:
            consumer = Consumer({"bootstrap.servers": settings["bootstrap.servers"], "group.id": group})
            offsets = [TopicPartition(topic, int(partition), int(offset))]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
            consumer.close()
        case ["commit"]:
            producer.commit_transaction(WAIT_S)
        case ["abort"]:
            producer.abort_transaction(WAIT_S)
        case _:
            sys.exit(f"no step {words}")


def main(arguments: list[str]) -> None:
    """Do all steps of standard input."""
    settings = librdkafka_settings(dict(argument.split("=", 1) for argument in arguments))
    producers: dict[str, Producer] = {}
    for line in sys.stdin:
        name, *words = line.split()
        if name not in producers:
            producers[name] = Producer(settings | {"transactional.id": name.split("/")[0]})
        try:
            step(producers[name], settings, words)
        except KafkaException as error:
            outcome = str(error.args[0].name()).lstrip("_")
        else:
            outcome = "ok"
        sys.stdout.write(outcome + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
