"""Quotas of other clients: members of a group, observed from outside."""

from collections.abc import Mapping

from kctl.client.admin import QuotaEntity
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story


def lag_behind(story: Story) -> None:
    """Leave a member of g, with the client id app, that has records to read."""
    member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
    settle(member)
    story.produce(4)
    for _ in range(3):
        member.poll(timeout=0.2)
    member.commit_sync(timeout=5)
    story.produce(4)


def limit(story: Story, names: Mapping[str, str | None], **values: float | None) -> None:
    story.admin.alter_client_quotas({QuotaEntity.of(names): values}).raise_first()


def test_quota_near_zero_of_a_members_client_id_is_found_until_it_is_removed() -> None:
    def body(story: Story) -> None:
        lag_behind(story)
        limit(story, {"client-id": "another"}, consumer_byte_rate=1)
        limit(story, {"client-id": "app"}, consumer_byte_rate=5_000_000)
        assert "group-throttled" not in story.group()
        limit(story, {"client-id": "app"}, consumer_byte_rate=100)
        found = story.group()["group-throttled"]
        assert found.sentence.startswith("a quota limits app (")
        assert found.sentence.endswith(
            ") of g to 100 bytes/s (consumer_byte_rate, set for client-id app). 4 records of 1 partition are unread"
        )
        assert (
            found.cure
            == "raise the quota, or remove the quota with: kctl quotas unset consumer_byte_rate --client-id app"
        )
        limit(story, {"client-id": "app"}, consumer_byte_rate=None)
        assert "group-throttled" not in story.group()

    run_story(body, topics={"t": 1})


def test_default_of_all_clients_binds_members_and_one_of_their_own_comes_first() -> None:
    def body(story: Story) -> None:
        lag_behind(story)
        limit(story, {"client-id": None}, request_percentage=0.5)
        found = story.group()["group-throttled"]
        assert "to 0.5% of a request thread (request_percentage, set for client-id <default>)" in found.sentence
        assert found.cure.endswith("kctl quotas unset request_percentage --client-id-default")
        limit(story, {"client-id": "app"}, request_percentage=200)
        assert "group-throttled" not in story.group()

    run_story(body, topics={"t": 1})


def test_quota_is_evidence_where_a_member_is_stuck() -> None:
    def body(story: Story) -> None:
        lag_behind(story)
        limit(story, {"client-id": "app"}, consumer_byte_rate=50_000)
        stuck = story.group(meanwhile=lambda: story.produce(4))["group-stuck"]
        [evidence] = [each for each in stuck.evidence if each.request == "DescribeClientQuotas"]
        assert (evidence.of, evidence.values) == (
            "client-id app",
            {"consumer_byte_rate": "50000 (client-id app)"},
        )

    run_story(body, topics={"t": 1})
