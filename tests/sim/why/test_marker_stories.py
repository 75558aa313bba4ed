"""Groups behind which only markers of transactions are left: these are no records, and nobody waits for them."""

from collections.abc import Callable

import pytest

from kctl.client.cluster import TopicPartition
from kctl.why import Finding, Looks, Scope, Selection, diagnose
from kctl.why.look import Look
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story

T0 = TopicPartition("t", 0)
HOUR_MS = 3_600_000


def transact(story: Story, count: int = 1, *, commit: bool = True) -> None:
    """Append transactions of one record, each with its marker."""
    with story.sim.producer({"transactional.id": "copier"}) as producer:
        producer.init_transactions()
        for _ in range(count):
            producer.begin_transaction()
            producer.send("t", b"x", partition=0)
            producer.flush()
            (producer.commit_transaction if commit else producer.abort_transaction)(timeout=10)


def wait(story: Story, ms: int) -> None:
    driver = story.sim.runtime.driver
    driver.wait(driver.waiter(), story.sim.clock.now_ms() + ms)


def found_of_member(meanwhile: Callable[[Story], None] = lambda _story: None) -> dict[str, Finding]:
    """Return what two looks find of a member that has committed the offset behind the last record it has read."""
    found: dict[str, Finding] = {}

    def body(story: Story) -> None:
        transact(story, 3)
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False))
        settle(member)
        member.commit_sync({T0: 5}, timeout=5)
        found.update(story.group(meanwhile=lambda: meanwhile(story)))

    run_story(body)
    return found


def test_member_behind_which_only_a_marker_is_left_is_not_stuck() -> None:
    assert found_of_member() == {}


def test_member_that_leaves_a_record_behind_a_marker_alone_is_stuck() -> None:
    def body(story: Story) -> None:
        transact(story, 3)
        member = story.enter(story.sim.classic_member("g", enable_auto_commit=False))
        settle(member)
        member.commit_sync({T0: 3}, timeout=5)
        [finding] = story.group(meanwhile=lambda: None).values()
        assert (finding.id, "3 unread records" in finding.sentence) == ("group-stuck", True)

    run_story(body)


def looks_of(committed: dict[str, int], after_ms: int = 0, count: int = 3) -> Looks:
    """Return a look at groups without members at a partition that transactions of one record have filled."""
    looks: list[Looks] = []

    def body(story: Story) -> None:
        transact(story, count)
        for name, offset in committed.items():
            story.sim.commit(name, {("t", 0): offset})
        wait(story, after_ms)
        looks.append(story.looks(Selection(groups=tuple(committed))))

    run_story(body)
    return looks[0]


def lags(looks: Looks) -> dict[str, int | None]:
    return {name: looks.lag(group, T0) for name, group in looks.now.groups.items()}


def test_groups_at_several_offsets_have_their_own_lag() -> None:
    """Six offsets: the records are at 0, 2 and 4, the markers behind each."""
    assert lags(looks_of({"all": 6, "marker": 5, "one": 4, "two": 3, "none": 0})) == {
        "all": 0, "marker": 0, "one": 2, "two": 3, "none": 6,
    }  # fmt: skip


@pytest.mark.parametrize("committed", [5, 3])
def test_marker_that_retention_deletes_is_no_loss(committed: int) -> None:
    looks = looks_of({"g": committed}, after_ms=160 * HOUR_MS)
    found = {each.id for each in diagnose(looks, (Scope.GROUP,)).findings}
    assert ("will-lose-data" in found, "group-no-members" in found) == (committed == 3, committed == 3)


def test_group_without_members_behind_an_aborted_record_waits_for_it() -> None:
    """Readers of uncommitted records read it, and which of the two the group was cannot be seen."""

    def body(story: Story) -> None:
        transact(story, commit=False)
        story.sim.commit("g", {("t", 0): 0})
        assert story.group().keys() == {"group-no-members"}

    run_story(body)


@pytest.mark.parametrize("is_read", [True, False])
def test_partition_without_commit_is_found_if_it_has_not_only_markers(is_read: bool) -> None:
    """The records are deleted, as by retention. The last marker is left, or also the last record."""

    def body(story: Story) -> None:
        transact(story, 3)
        story.produce(1, partition=1)
        story.sim.commit("g", {("t", 1): 1})
        story.admin.delete_records({T0: 5 if is_read else 4}).raise_first()
        assert story.group().keys() == (set() if is_read else {"uncommitted-partition"})

    run_story(body, topics={"t": 2})


def test_records_are_read_only_where_few_offsets_are_left() -> None:
    def body(story: Story) -> None:
        story.produce(300)
        story.sim.commit("g", {("t", 0): 100})
        look: Look = story.looks(Selection(groups=("g",))).now
        assert look.markers_from == {}
        assert story.sim.sent("Fetch") == []

    run_story(body)
