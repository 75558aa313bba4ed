"""What an application may ask, before anything is sent."""

import pytest

from kctl.client.clock import ManualClock
from kctl.client.cluster import TopicPartition
from kctl.client.errors import IllegalStateError, MaxBlockTimeout
from kctl.client.producer.transactions.calls import TransactionCall, TransactionClient
from kctl.client.producer.transactions.states import Step
from kctl.client.requests.group_offsets import OffsetAndMetadata
from tests.unit.producer.records import NoDriver, mailbox
from tests.unit.producer.transactions.fakes import CALLS, PARTITION, Member


class Application:
    """An application whose network loop never answers."""

    def __init__(self, name: str | None = "copier") -> None:
        self.clock = ManualClock()
        self.mailbox = mailbox(self.clock)
        self.client = TransactionClient(name, self.clock, NoDriver(self.clock), self.mailbox)

    def posted(self) -> TransactionCall:
        (event,) = self.mailbox.pop_some(1)
        assert isinstance(event, TransactionCall)
        return event


@pytest.mark.parametrize("step", CALLS)
def test_without_a_transactional_id_nothing_is_possible(step: Step) -> None:
    with pytest.raises(IllegalStateError, match=rf"cannot call {step.value}\(\): transactional.id is not set"):
        Application(None).client.ask(step, 10)


def test_offsets_may_be_numbers() -> None:
    application = Application()
    with pytest.raises(MaxBlockTimeout):
        application.client.ask(
            Step.OFFSETS, 10, {PARTITION: 5, TopicPartition("t", 1): OffsetAndMetadata(6, "note")}, Member()
        )
    assert application.posted().offsets == {
        PARTITION: OffsetAndMetadata(5),
        TopicPartition("t", 1): OffsetAndMetadata(6, "note"),
    }


@pytest.mark.parametrize("offset", [-1, True, 1.5, None])
def test_an_offset_that_cannot_be_is_named(offset: object) -> None:
    with pytest.raises((TypeError, ValueError), match="t-0"):
        Application().client.ask(Step.OFFSETS, 10, {PARTITION: offset}, Member())  # type: ignore[dict-item]  # what is refused


def test_a_member_that_cannot_be_is_refused() -> None:
    nameless, nobody = Member(), Member()
    nameless.group_id, nobody.member_id = "", ""
    for member, words in ((nameless, "group_id is empty"), (nobody, "generation 3 needs a member_id")):
        with pytest.raises(ValueError, match=words):
            Application().client.ask(Step.OFFSETS, 10, {PARTITION: 1}, member)
