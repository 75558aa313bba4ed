"""Incidents of groups on the sandbox, each with its healthy twin."""

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story


def commit_all(*members: Consumer, rounds: int = 3) -> None:
    for _ in range(rounds):
        for member in members:
            member.poll(timeout=0.2)
            member.commit_sync(timeout=5)


def test_group_without_members_has_lag() -> None:
    def body(story: Story) -> None:
        story.produce(12, partition=1)
        story.produce(3, partition=2)
        story.sim.commit("g", {("t", 0): 0, ("t", 1): 2, ("t", 2): 0})
        found = story.group()
        assert found["group-no-members"].sentence == (
            "g has no active members, but 13 unread records (10 on t-1, 3 on t-2)"
        )
        assert found.keys() == {"group-no-members"}

    run_story(body, topics={"t": 3})


def test_group_without_members_and_without_lag_is_no_finding() -> None:
    def body(story: Story) -> None:
        story.produce(12)
        story.sim.commit("g", {("t", 0): 12})
        assert story.group() == {}

    run_story(body, topics={"t": 1})


def test_member_that_stops_committing_is_stuck() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", client_id="app-7", enable_auto_commit=False))
        other = story.enter(story.sim.classic_member("g", client_id="app-8", enable_auto_commit=False))
        settle(member, other)
        for partition in range(4):
            story.produce(5, partition=partition)
        commit_all(member, other)
        for partition in range(4):
            story.produce(2, partition=partition)

        def meanwhile() -> None:
            for partition in range(4):
                story.produce(5, partition=partition)
            commit_all(other)

        found = story.group(meanwhile=meanwhile)
        stuck = found["group-stuck"]
        assert found.keys() == {"group-stuck"}
        first = min(tp.partition for tp in member.assignment)
        assert f"g has been at offset 5 of t-{first} for 10s, with 14 unread records" in stuck.sentence
        assert "Member app-7 (" in stuck.sentence
        assert "2 partitions with unread records. Other members of the group are not stuck" in stuck.sentence
        assert stuck.show == "kctl groups members g"

    run_story(body, topics={"t": 4})


def test_members_that_read_are_not_stuck() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False))
        settle(member)
        story.produce(5)
        commit_all(member)
        story.produce(2)

        def meanwhile() -> None:
            story.produce(5)
            commit_all(member)

        assert story.group(meanwhile=meanwhile) == {}

    run_story(body, topics={"t": 1})


def test_offset_before_the_log_start_is_lost_data() -> None:
    def body(story: Story) -> None:
        story.produce(20)
        story.sim.commit("g", {("t", 0): 5})
        assert "lost-data" not in story.group()
        story.sim.sandbox.delete_records("t", 0, 12)
        lost = story.group()["lost-data"]
        assert lost.sentence == "g missed 7 records of t-0: its next offset is 5, but the log starts at offset 12"
        assert lost.cure == "kctl groups reset-offsets g --topic t:0 --to-earliest --execute"

    run_story(body, topics={"t": 1})


def test_deleted_records_do_not_wait_for_a_group() -> None:
    def body(story: Story) -> None:
        story.produce(20)
        story.sim.commit("g", {("t", 0): 5})
        story.sim.sandbox.delete_records("t", 0, 12)
        assert story.group()["group-no-members"].sentence == "g has no active members, but 8 unread records (8 on t-0)"
        story.sim.sandbox.delete_records("t", 0, 20)
        assert story.group().keys() == {"lost-data"}

    run_story(body, topics={"t": 1})


def test_offset_beyond_the_log_end_is_a_truncated_log() -> None:
    def body(story: Story) -> None:
        story.produce(8)
        story.produce(12)
        story.sim.commit("g", {("t", 0): 20})
        leader = story.sim.leader(0)
        story.sim.sandbox.move_leader("t", 0, leader, end_offset=8)
        found = story.group()["log-truncated"]
        assert (
            "g committed offset 20 of t-0, but the log ends at offset 8. 12 records that the group read are gone"
            in found.sentence
        )

    run_story(body, topics={"t": 1})


def test_old_unread_records_will_be_lost() -> None:
    def body(story: Story) -> None:
        story.admin.alter_configs(retention("1000000")).raise_first()
        story.produce(5)
        story.sim.commit("g", {("t", 0): 2})
        assert "will-lose-data" not in story.group()
        story.sim.runtime.driver.wait(story.sim.runtime.driver.waiter(), story.sim.clock.now_ms() + 950_000)
        found = story.group()["will-lose-data"]
        assert "g is about to lose records of t-0: its next record (offset 2) is 15m50s old" in found.sentence
        assert found.cure == "kctl configs set topic t retention.ms=2000000"

    run_story(body, topics={"t": 1})


def retention(value: str) -> dict:  # type: ignore[type-arg]
    from kctl.client.admin import ConfigResource, ResourceType

    return {ConfigResource(ResourceType.TOPIC, "t"): {"retention.ms": value}}


@pytest.mark.parametrize("back_to", [0, 3, 5])
def test_member_that_goes_back_reads_records_again(back_to: int) -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
        settle(member)
        story.produce(5)
        commit_all(member)

        def meanwhile() -> None:
            story.produce(2)
            member.commit_sync({TopicPartition("t", 0): back_to}, timeout=5)

        found = story.group(meanwhile=meanwhile)
        if back_to == 5:
            assert "offset-moved-backward" not in found
            return
        assert found.keys() == {"offset-moved-backward"}
        assert found["offset-moved-backward"].sentence == (
            f"the committed offset of g for t-0 moved back from 5 to {back_to} within 10s. The group rereads "
            f"{5 - back_to} records. The log starts at offset 0"
        )

    run_story(body, topics={"t": 1})


def test_member_that_reads_on_does_not_go_back() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False))
        settle(member)
        story.produce(5)
        commit_all(member)

        def meanwhile() -> None:
            story.produce(2)
            commit_all(member)

        assert story.group(meanwhile=meanwhile) == {}

    run_story(body, topics={"t": 1})


def test_topic_that_was_recreated_is_no_way_back() -> None:
    def body(story: Story) -> None:
        story.produce(5)
        story.sim.commit("g", {("t", 0): 5})

        def meanwhile() -> None:
            story.admin.delete_topics(["t"]).raise_first()
            story.sim.sandbox.cluster.create_topic("t", 1, 1, {})
            story.sim.commit("g", {("t", 0): 0})

        assert "offset-moved-backward" not in story.group(meanwhile=meanwhile)

    run_story(body, topics={"t": 1})


def test_members_that_never_commit_are_found() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
        settle(member)
        story.produce(5)

        def meanwhile() -> None:
            story.produce(7)
            member.poll(timeout=1)

        found = story.group(meanwhile=meanwhile)
        assert found.keys() == {"no-committed-offsets"}
        assert "although 7 records arrived in 10s" in found["no-committed-offsets"].sentence

    run_story(body, topics={"t": 1})


def test_partition_without_commit_beside_others_is_found() -> None:
    def body(story: Story) -> None:
        story.produce(5, partition=0)
        story.produce(6, partition=1)
        story.sim.commit("g", {("t", 0): 5})
        found = story.group()
        assert found["uncommitted-partition"].sentence == (
            "g has committed offsets for t, but not for t-1, which has 6 records"
        )
        story.sim.commit("g", {("t", 0): 5, ("t", 1): 6})
        assert story.group() == {}

    run_story(body, topics={"t": 2})


def test_more_members_than_partitions_is_a_note() -> None:
    def body(story: Story) -> None:
        members = [story.enter(story.sim.classic_member("g", topic="u")) for _ in range(3)]
        for _ in range(60):
            for member in members:
                member.poll(timeout=0.2)
        found = story.group()
        assert (
            found["members-idle"].sentence
            == "1 of 3 members of g have no partitions, because the topics have only 2 partitions"
        )

    run_story(body)


def test_group_that_subscribes_to_no_topic_is_found() -> None:
    def body(story: Story) -> None:
        member = story.enter(story.sim.consumer(group_id="g", allow_auto_create_topics=False))
        member.subscribe(["gone", "t"])
        for _ in range(20):
            member.poll(timeout=0.2)
        found = story.group()
        assert (
            found["topic-missing"].sentence
            == "g reads topic gone, but the topic does not exist or kctl has no Describe permission on it"
        )
        assert found.keys() == {"topic-missing"}

    run_story(body)


@pytest.mark.slow
def test_idle_topic_is_a_note() -> None:
    def body(story: Story) -> None:
        story.produce(5)
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False, fetch_max_wait_ms=20_000))
        settle(member)
        commit_all(member)
        assert story.group() == {}
        driver = story.sim.runtime.driver
        for _ in range(40):
            driver.wait(driver.waiter(), story.sim.clock.now_ms() + 100_000)
            member.poll(timeout=0.1)
        found = story.group()
        assert found["idle-topic"].sentence.startswith("g has read all records of t. The newest record is 1h")

    run_story(body, topics={"t": 1})


def test_unknown_group_is_an_error() -> None:

    from kctl.client.broker_errors import ErrorCode
    from kctl.client.errors import BrokerError

    def body(story: Story) -> None:
        with pytest.raises(BrokerError) as raised:
            story.group("nobody")
        assert raised.value.code == ErrorCode.GROUP_ID_NOT_FOUND

    run_story(body)
