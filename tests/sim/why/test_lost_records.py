"""Records that an election loses: seen by the leader epoch of a commit, and between two looks; with healthy twins."""

from kctl.why import Finding
from tests.sim.kit import drain, settle
from tests.sim.why.story import Story, run_story


def lose_end(story: Story, keep: int) -> None:
    """Let another broker lead t-0 whose log ends at `keep`, and append more records than were lost."""
    leader = story.sim.leader(0)
    story.sim.sandbox.move_leader("t", 0, next(each for each in (1, 2, 3) if each != leader), end_offset=keep)
    story.produce(30)


def committed_and_elected(keep: int) -> dict[str, Finding]:
    """Return the findings about a group that has read 8 records, after an election that keeps the first of them."""
    found: dict[str, Finding] = {}

    def body(story: Story) -> None:
        story.sim.sandbox.cluster.create_topic("t", 1, 3, {})
        story.produce(5)
        story.produce(3)
        with story.sim.classic_member("g") as member:
            settle(member)
            member.seek_to_beginning()
            drain(member, 8)
            member.commit_sync(timeout=5)
        lose_end(story, keep)
        found.update(story.group())

    run_story(body, topics={})
    return found


def test_group_that_has_read_lost_records_has_a_truncated_log() -> None:
    found = committed_and_elected(5)["log-truncated"]
    assert found.sentence == (
        "g committed offset 8 of t-0, but leader epoch 0 ends at offset 5 in the log. 3 records that the group read "
        "are gone, due to an unclean leader election or because the topic was recreated"
    )
    assert found.cure == "kctl groups reset-offsets g --topic t:0 --to-offset 5 --execute"
    assert [each.request for each in found.evidence] == ["OffsetFetch", "OffsetForLeaderEpoch"]


def test_group_whose_records_every_replica_has_has_no_truncated_log() -> None:
    assert committed_and_elected(8).keys() == {"group-no-members"}


def test_acknowledged_records_that_an_election_loses_are_found() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.cluster.create_topic("t", 1, 3, {})
        story.produce(5)
        story.produce(3)
        old = story.sim.leader(0)
        found = story.topic(meanwhile=lambda: lose_end(story, 5))["records-lost"]
        assert found.sentence == (
            f"t-0 lost 3 acknowledged records within 10s. The log ended at offset 8 on broker {old} (epoch 0). "
            f"Broker {story.sim.leader(0)} was elected leader from the in-sync replicas. The new leader has records "
            "of epoch 0 only up to offset 5"
        )

    run_story(body, topics={})


def test_election_that_loses_nothing_is_no_finding() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.cluster.create_topic("t", 1, 3, {})
        story.produce(8)
        assert "records-lost" not in story.topic(meanwhile=lambda: lose_end(story, 8))

    run_story(body, topics={})
