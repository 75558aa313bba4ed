"""Brokers that are missing, behind the metadata, or have trouble with a disk, each with its healthy twin."""

from kctl.why import Finding
from tests.sim.why.story import Story, run_story

BEHIND_MS = 40_000
MEGABYTE = 1_000_000


def create(story: Story, partitions: int = 6, **configs: str) -> None:
    dotted = {name.replace("_", "."): value for name, value in configs.items()}
    story.sim.sandbox.cluster.create_topic("r", partitions, 3, dotted)


def wait(story: Story, ms: int) -> None:
    driver = story.sim.runtime.driver
    driver.wait(driver.waiter(), story.sim.clock.now_ms() + ms)


def found_now(story: Story) -> dict[str, Finding]:
    """Return what is wrong with the cluster, without leaders that the story has moved."""
    return {name: finding for name, finding in story.cluster().items() if name != "preferred-leader-not-leading"}


def test_broker_that_has_replicas_and_is_not_registered_is_found() -> None:
    def body(story: Story) -> None:
        create(story)
        assert found_now(story) == {}
        for number in range(6):
            if story.sim.leader(number, "r") == 2:
                story.sim.sandbox.move_leader("r", number, 1)
        for topic in list(story.sim.sandbox.cluster.topics):
            if topic != "r":
                story.admin.delete_topics([topic]).raise_first()
        story.sim.sandbox.register(2, is_registered=False)
        finding = found_now(story)["broker-missing"]
        assert finding.sentence == "broker 2 is not registered but has replicas of 6 partitions, for example r-0"
        assert finding.cure.startswith(
            "start broker 2. If the broker is permanently lost, run: kctl partitions plan --exclude-brokers 2 > "
        )
        story.sim.sandbox.register(2)
        assert "broker-missing" not in story.cluster()

    run_story(body)


def test_fenced_broker_is_found_as_fenced_and_not_as_unregistered() -> None:
    def body(story: Story) -> None:
        create(story)
        for number in range(6):
            if story.sim.leader(number, "r") == 2:
                story.sim.sandbox.move_leader("r", number, 1)
        story.sim.sandbox.fence(2)
        for found in (found_now(story), story.topic("r")):
            assert "is fenced: the controller receives no heartbeats" in found["broker-fenced"].sentence
            assert found["broker-fenced"].subject == "broker 2"
            assert "broker-missing" not in found
        story.sim.sandbox.fence(2, is_fenced=False)
        assert "broker-fenced" not in story.cluster()

    run_story(body)


def test_broker_that_no_longer_follows_the_metadata_is_found() -> None:
    def body(story: Story) -> None:
        create(story)
        follower = next(node_id for node_id in (1, 2, 3) if node_id != story.sim.sandbox.cluster.quorum.leader_id)
        story.sim.sandbox.hold_metadata(follower)
        moved = next(number for number in range(6) if story.sim.leader(number, "r") != follower)
        was, epoch = story.sim.leader(moved, "r"), story.sim.partition(moved, "r").leader_epoch
        to = next(node_id for node_id in (1, 2, 3) if node_id not in (was, follower))
        story.sim.sandbox.move_leader("r", moved, to)
        started_ms = story.sim.clock.now_ms()
        found = story.cluster(meanwhile=lambda: None)
        assert story.sim.clock.now_ms() - started_ms < 15_000, "no request waits for a broker that answers"
        sentence = found["stale-metadata"].sentence
        assert sentence.startswith(f"broker {follower} (")
        reported = (
            f"has stale metadata for 1 partition. It reports broker {was} as the leader of r-{moved} (epoch {epoch})"
        )
        assert reported in sentence
        assert f"but broker {to} became the leader at least 10s ago (epoch {epoch + 1})" in sentence
        assert "quorum-lag" not in found
        wait(story, BEHIND_MS)
        lag = found_now(story)["quorum-lag"].sentence
        assert lag.startswith(f"controller {follower} is 100 records behind the metadata log, and last caught up 5")
        story.sim.sandbox.release_metadata(follower)
        after = story.cluster(meanwhile=lambda: None)
        assert after.keys() & {"stale-metadata", "quorum-lag"} == set()

    run_story(body)


def test_disk_that_fills_is_found_until_it_is_larger() -> None:
    def body(story: Story) -> None:
        create(story, partitions=1, segment_bytes="100000")
        story.produce(95, "r", size=10_000)
        assert found_now(story) == {}
        story.sim.sandbox.set_disk(2, MEGABYTE)
        found = found_now(story)
        assert found.keys() == {"disk-filling"}
        assert found["disk-filling"].subject == "broker 2"
        assert " has 4% free space in /sandbox (" in found["disk-filling"].sentence
        assert "). The largest topic is r (100% of the used space)" in found["disk-filling"].sentence
        assert found["disk-filling"].cure.startswith("kctl configs set topic r retention.bytes=4")
        story.sim.sandbox.set_disk(2, 10 * MEGABYTE)
        assert found_now(story) == {}

    run_story(body)


def test_directory_that_is_offline_is_found_until_its_disk_is_repaired() -> None:
    def body(story: Story) -> None:
        create(story, partitions=1)
        story.sim.sandbox.set_disk(3, None)
        found = found_now(story)
        assert found.keys() == {"log-dir-offline"}
        assert found["log-dir-offline"].sentence.startswith("log directory /sandbox of broker 3 is offline: ")
        story.sim.sandbox.heal(3)
        assert found_now(story) == {}

    run_story(body)
