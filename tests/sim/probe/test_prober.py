"""The prober in virtual time: every address to its end, the brokers behind them, who they are, and exact limits."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.verdict import verdict
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_NODE
from kctl.client.errors import ConnectionRefused, ConnectTimeout, DnsError, RequestTimeout, SaslRequired, WrongPeerError
from kctl.client.events import Closed, Expired, Failed, Phase, PhaseDone, Ready, RequestSent
from kctl.client.probe import diagnose, unusable_brokers
from kctl.client.probe import prober as prober_module
from kctl.client.probe.conversation import group_hash
from kctl.client.probe.prober import PAUSE
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.cluster import DescribeQuorumRequest, DescribeQuorumResponse
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kctl.client.protocol.api.sasl import SaslHandshakeRequest, SaslHandshakeResponse
from kctl.client.protocol.framing import RequestFrame
from kctl.client.protocol.schema import Response
from kctl.client.runtime import Address
from kctl.sandbox import Sandbox
from kctl.sandbox.faults import Fault
from tests.sim.kit.network import ProbedCluster
from tests.sim.kit.nodes import SimNodes
from tests.sim.kit.scripted_node import answer_well
from tests.sim.virtual import Hub, SimResolver


def test_every_address_has_its_own_outcome_and_none_waits_for_another() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1")
        cluster.listen("10.0.0.2", Fault.BLACKHOLE)
        cluster.listen("10.0.0.4", Fault.SILENCE)
        cluster.resolver.add("three.example", ["10.0.0.1", "10.0.0.2", "10.0.0.3"])
        prober = cluster.run("three.example", "10.0.0.4", "none.example")
        assert [(e.target.address, e.at_ms) for e in cluster.events if isinstance(e, Ready)] == [("10.0.0.1:9092", 4)]
        expired = [(e.target.address, e.phase, e.at_ms) for e in cluster.events if isinstance(e, Expired)]
        assert sorted(expired, key=str) == [
            ("10.0.0.2:9092", Phase.TCP, 2000),
            ("10.0.0.4:9092", Phase.APIVERSIONS, 2000),
        ]
        kinds = {str(report.target): type(report.error) for report in prober.reports if report.error}
        assert [report.target.address for report in prober.reports] == [
            "10.0.0.1:9092", "10.0.0.2:9092", "10.0.0.3:9092", "10.0.0.4:9092", "",
        ]  # fmt: skip
        assert kinds == {
            "three.example:9092 [10.0.0.2]": ConnectTimeout,
            "three.example:9092 [10.0.0.3]": ConnectionRefused,
            "10.0.0.4:9092": ConnectTimeout,
            "none.example:9092": DnsError,
        }
        assert all(report.is_done for report in prober.reports)


def test_the_limit_and_what_is_told_of_it_cover_the_look_up() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1", Fault.BLACKHOLE)
        cluster.listen("10.0.0.2")
        cluster.resolver.add("slow.example", ["10.0.0.1", "10.0.0.2"], delay_ms=300)
        cluster.run("slow.example")
        (expired,) = [event for event in cluster.events if isinstance(event, Expired)]
        assert (expired.at_ms, expired.elapsed_ms) == (2000, 2000)
        assert "within 2s (socket.connection.setup.timeout.ms)" in str(expired.error)
        (ready,) = [event for event in cluster.events if isinstance(event, Ready)]
        assert (ready.at_ms, ready.elapsed_ms) == (304, 304)


def test_attempt_under_way_at_the_deadline_is_reported() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1", Fault.BLACKHOLE)
        cluster.resolver.add("slow.example", ["10.0.0.1"], delay_ms=5000)
        cluster.run("10.0.0.1", "slow.example", until_ms=500)
        closed = {e.target.host: e.reason for e in cluster.events if isinstance(e, Closed)}
        assert closed == {"10.0.0.1": "the deadline passed", "slow.example": "the deadline passed"}


def test_a_node_that_stalls_after_the_handshake_is_a_request_timeout_on_its_millisecond() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen("10.0.0.1")
        answer = node.answer
        node.answer = lambda request: answer(request) if request.api_key == 18 else None
        (report,) = cluster.run("10.0.0.1").reports
        assert isinstance(report.error, RequestTimeout)
        assert (report.phase, report.is_ready) == (Phase.METADATA, False)
        failed = [e for e in cluster.events if isinstance(e, Failed)]
        assert [(e.phase, e.at_ms) for e in failed] == [(Phase.METADATA, 4 + 3000)]


def test_metadata_is_a_phase_and_its_answer_makes_an_address_ready() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1")
        (report,) = cluster.run("10.0.0.1").reports
        done = [(e.phase, e.at_ms, e.elapsed_ms) for e in cluster.events if isinstance(e, PhaseDone)]
        assert done[-1] == (Phase.METADATA, 6, 2)
        assert report.phases_ms == {Phase.DNS: 0, Phase.TCP: 2, Phase.APIVERSIONS: 2, Phase.METADATA: 2}
        assert report.is_ready


def test_a_look_up_under_way_is_in_the_reports() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.resolver.add("slow.example", ["10.0.0.1"], delay_ms=5000)
        (report,) = cluster.run("slow.example", until_ms=500).reports
        assert (report.target.address, report.phase, report.is_done) == ("", Phase.DNS, False)


def test_a_controller_is_no_broker() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen("10.0.0.1")
        node.answer = lambda _: ApiVersionsResponse(api_keys=[ApiVersion(api_key=18, max_version=4)])
        (report,) = cluster.run("10.0.0.1").reports
        assert isinstance(report.error, WrongPeerError)
        assert "KRaft controller" in str(report.error)


def test_a_node_that_hangs_up_on_the_first_request_wants_sasl() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen("10.0.0.1")
        answer = node.answer

        def hang_up(request: object) -> None:
            node.wires[-1].close()

        node.answer = lambda request: answer(request) if request.api_key == 18 else hang_up(request)
        (report,) = cluster.run("10.0.0.1").reports
        assert isinstance(report.error, SaslRequired)


@pytest.mark.parametrize("offered", [["PLAIN", "SCRAM-SHA-512"], [], None])
def test_a_listener_that_wants_sasl_is_asked_for_its_mechanisms(offered: list[str] | None) -> None:
    """With None it hangs up on that too, which is no second failure."""
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen("10.0.0.1")

        def answer(request: RequestFrame) -> Response | None:
            if request.api_key == ApiVersionsRequest.API_KEY:
                spoken = {MetadataRequest.API_KEY: 12, SaslHandshakeRequest.API_KEY: 1, 18: 3}
                return ApiVersionsResponse(api_keys=[ApiVersion(api_key=k, max_version=v) for k, v in spoken.items()])
            if request.api_key == SaslHandshakeRequest.API_KEY and offered is not None:
                return SaslHandshakeResponse(error_code=33, mechanisms=offered)
            node.wires[-1].close()
            return None

        node.answer = answer
        (report,) = cluster.run("10.0.0.1").reports
        assert isinstance(report.error, SaslRequired)
        assert report.is_done
        assert report.sasl_mechanisms == tuple(offered or ())
        assert report.works_with == ""
        assert report.phase is Phase.METADATA, "that of the first attempt, which failed"
        assert len([event for event in cluster.events if isinstance(event, Failed)]) == 1


def test_addresses_given_by_hand_replace_the_resolver() -> None:
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.5")
        resolve = {("broker.example", 9092): [Address("10.0.0.5", 9092)]}
        (report,) = cluster.run("broker.example", resolve=resolve).reports
        assert report.is_ready
        assert report.target.address == "10.0.0.5:9092"


def test_the_whole_cluster_is_followed_from_one_bootstrap_name() -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        prober = ProbedCluster(hub, network=nodes.network, resolver=resolver).run(nodes.bootstrap.split(",")[0])
        assert [report.advertised for report in prober.reports] == [False, True, True]
        assert {report.answers_as for report in prober.reports} == {1, 2, 3}
        views = {report.view.cluster_id for report in prober.reports if report.view is not None}
        assert views == {nodes.sandbox.cluster.settings.cluster_id}


def test_fenced_broker_is_dialed_and_found_from_another_bootstrap() -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        nodes.sandbox.create_topic("r", 1, 3)
        nodes.sandbox.fence(3)
        nodes.sandbox.start_fault(3, Fault.SILENCE)
        prober = ProbedCluster(hub, network=nodes.network, resolver=resolver).run(nodes.bootstrap.split(",")[0])
        [unusable] = unusable_brokers(prober.reports)
        assert unusable.node_id == 3
        findings = diagnose(prober.reports, wall_ms=0, replicas=prober.replicas)
        assert verdict(prober.reports, None, findings, strict=False) == ExitCode.PARTIAL_FAILURE


@pytest.mark.parametrize("is_registered", [True, False])
def test_broker_that_has_replicas_and_is_not_registered_is_found(is_registered: bool) -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        nodes.sandbox.create_topic("r", 1, 3)
        nodes.sandbox.register(3, is_registered=is_registered)
        prober = ProbedCluster(hub, network=nodes.network, resolver=resolver).run(nodes.bootstrap.split(",")[0])
        findings = diagnose(prober.reports, wall_ms=0, replicas=prober.replicas)
        code = verdict(prober.reports, None, findings, strict=False)
        assert code == (ExitCode.OK if is_registered else ExitCode.PARTIAL_FAILURE)


def test_controller_is_the_leader_of_the_quorum_and_not_the_broker_that_forwards() -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        assert nodes.sandbox.cluster.forwarding_id != nodes.sandbox.cluster.quorum.leader_id
        reports = ProbedCluster(hub, network=nodes.network, resolver=resolver).run(*nodes.bootstrap.split(",")).reports
        controllers = {report.view.controller_id for report in reports if report.view is not None}
        assert controllers == {nodes.sandbox.cluster.quorum.leader_id}


@pytest.mark.parametrize("until_ms", [100, 2000, 60_000])
def test_stopped_controllers_are_found_at_every_deadline(until_ms: int) -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        nodes.sandbox.cluster.quorum.stop()
        cluster = ProbedCluster(hub, network=nodes.network, resolver=resolver)
        reports = cluster.run(*nodes.bootstrap.split(","), until_ms=until_ms).reports
        findings = diagnose(reports, wall_ms=0)
        assert [finding.id for finding in findings] == ["no-controller"]
        assert verdict(reports, None, findings, strict=True) == ExitCode.PARTIAL_FAILURE


@pytest.mark.parametrize(
    ("code", "controller_id", "ended_at_ms"),
    [
        (None, NO_NODE, 8 + 3000),
        (ErrorCode.REQUEST_TIMED_OUT, NO_NODE, 10),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, 10),
    ],
)
def test_quorum_without_an_answer_leaves_the_address_usable(
    code: ErrorCode | None, controller_id: int | None, ended_at_ms: int
) -> None:
    spoken = {MetadataRequest.API_KEY: 12, DescribeQuorumRequest.API_KEY: 2, 18: 3}

    def answer(request: RequestFrame) -> Response | None:
        if request.api_key == DescribeQuorumRequest.API_KEY:
            return None if code is None else DescribeQuorumResponse(error_code=code)
        if request.api_key == MetadataRequest.API_KEY:
            return MetadataResponse(cluster_id="c", brokers=[], controller_id=7)
        return ApiVersionsResponse(api_keys=[ApiVersion(api_key=k, max_version=v) for k, v in spoken.items()])

    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1").answer = answer
        prober = cluster.begin("10.0.0.1")
        while not prober.is_done:
            prober.poll(60_000)
        (report,) = prober.reports
        assert (report.is_ready, report.view and report.view.controller_id) == (True, controller_id)
        assert hub.now_ms == ended_at_ms
        prober.close()


def test_a_dead_advertised_broker_is_found_behind_a_living_bootstrap() -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=2), resolver := SimResolver(hub))
        host = nodes.bootstrap.split(",")[0]
        nodes.sandbox.advertise(2, "no-such.example", 9092)
        reports = ProbedCluster(hub, network=nodes.network, resolver=resolver).run(host).reports
        assert isinstance(next(r.error for r in reports if r.target.host == "no-such.example"), DnsError)


def test_the_coordinator_of_a_group_is_named() -> None:
    with Hub() as hub:
        nodes = SimNodes(hub, Sandbox(nodes=3), resolver := SimResolver(hub))
        probed = ProbedCluster(hub, network=nodes.network, resolver=resolver)
        prober = probed.run(*nodes.bootstrap.split(","), group="g")
        assert prober.coordinator is not None
        assert prober.coordinator.error is None
        assert prober.coordinator.node is not None
        assert (prober.coordinator.partition, prober.coordinator.leader_id) == (3, prober.coordinator.node.node_id)


@pytest.mark.parametrize(("refusals", "ended_at_ms"), [(0, 8), (1, 8 + 252), (1000, 8 + 5000 + 2)])
def test_a_coordinator_that_is_not_there_yet_is_waited_for_a_while(refusals: int, ended_at_ms: int) -> None:
    """The first look-up of a cluster makes the topic; the pauses end on their milliseconds, the patience too."""
    with Hub() as hub:
        cluster = ProbedCluster(hub)
        node = cluster.listen("10.0.0.1")
        left = refusals

        def answer(request: RequestFrame) -> Response:
            nonlocal left
            if request.api_key == FindCoordinatorRequest.API_KEY:
                left -= 1
                return FindCoordinatorResponse(error_code=15 if left >= 0 else 0, node_id=1, host="10.0.0.1", port=9092)
            if request.api_key == MetadataRequest.API_KEY:
                return MetadataResponse(cluster_id="c", brokers=[])
            spoken = {MetadataRequest.API_KEY: 12, FindCoordinatorRequest.API_KEY: 3, 18: 3}
            return ApiVersionsResponse(api_keys=[ApiVersion(api_key=k, max_version=v) for k, v in spoken.items()])

        node.answer = answer
        prober = cluster.begin("10.0.0.1", group="g")
        names: dict[str, None] = {}
        while not prober.is_done:
            limit = prober.next_limit()
            assert limit is not None
            names[limit.name] = None
            prober.poll(60_000)
        prober.close()
        assert prober.coordinator is not None
        assert (PAUSE in names) is (refusals > 0)
        assert (prober.coordinator.error is None) is (refusals < 1000)
        asked = [event.at_ms for event in cluster.events if isinstance(event, RequestSent) and "Find" in event.api]
        assert asked[:2] == [6, 6 + 2 + 250][: len(asked)]
        assert hub.now_ms - 4 == ended_at_ms  # two more round trips, for the partition and for all replicas


def test_the_partition_of_a_group_is_found_as_brokers_find_it() -> None:
    """Hashes of Java strings: short ones by hand, a negative one, and the one that Integer.MIN_VALUE comes from."""
    assert [group_hash(text) for text in ("", "a", "g", "ab", "my-group", "polygenelubricants")] == [
        0, 97, 103, 97 * 31 + 98, 1_906_497_762, 0,
    ]  # fmt: skip


def test_advertised_brokers_are_tried_a_few_per_poll_and_at_most_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response can advertise any number: the deadline of the round is looked at between polls."""
    monkeypatch.setattr(prober_module, "MOST_NODES", 500)
    brokers = [
        MetadataResponseBroker(node_id=number, host=f"10.1.{number // 250}.{1 + number % 250}", port=9)
        for number in range(2000)
    ]

    def answer(request: RequestFrame) -> Response:
        if isinstance(request.message, MetadataRequest):
            return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=1)
        return answer_well(request)

    with Hub() as hub:
        cluster = ProbedCluster(hub)
        cluster.listen("10.0.0.1").answer = answer
        prober = cluster.begin("10.0.0.1")
        most_started = 0
        while not prober.is_done:
            started, had_waiting, before_ms = len(prober.reports), prober.waiting > 0, hub.now_ms
            prober.poll(60_000)
            most_started = max(most_started, len(prober.reports) - started)
            assert hub.now_ms == before_ms or not had_waiting, "no wait while look-ups can be started"
        assert most_started == 100
        assert (len(prober.reports), prober.left_out, prober.waiting) == (500, 1501, 0)
        prober.close()
