"""A round of the prober whose login needs a token: it comes late, fails, or does not come at all."""

from collections.abc import Callable

from kctl.client.cluster import Node
from kctl.client.config import AdminConfig
from kctl.client.errors import AuthenticationError, ConnectTimeout, RemoteProtocolError
from kctl.client.events import Phase
from kctl.client.probe.prober import Prober
from kctl.client.probe.report import AddressReport
from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsResponse
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslHandshakeRequest, SaslHandshakeResponse
from kctl.client.protocol.framing import RequestFrame, encode_response
from kctl.client.protocol.schema import Request, Response
from kctl.client.security.sasl.oauthbearer import unsecured_token
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.sim.kit import SimCluster
from tests.sim.kit.network import ScriptedCluster
from tests.sim.kit.scripted_node import SPOKEN
from tests.sim.virtual import Hub, SimResolver

LIMIT_MS = 2_000
CONFIG = {
    "bootstrap.servers": "unused:1",
    "connections.timeout.ms": LIMIT_MS,
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.callback": lambda: "",
}
_SASL: tuple[type[Request], ...] = (SaslHandshakeRequest, SaslAuthenticateRequest)


class Round(SimCluster):
    """One node that takes tokens, and one that never says anything."""

    def __init__(self, hub: Hub, callback: Callable[[], str] | None = None) -> None:
        super().__init__(hub, nodes=1, security=ListenerSecurity(users=SaslUsers({})))
        self.calls = 0
        config = {**CONFIG, "sasl.oauthbearer.token.callback": callback or self.token}
        assert isinstance(self.runtime.resolver, SimResolver)
        self.resolver = self.runtime.resolver
        self.resolver.hold_work()
        nodes = [Node(-1, "10.0.0.1", 9092)]
        self.prober = Prober(AdminConfig.parse(config), self.runtime, nodes, events=self.events.append)

    def token(self) -> str:
        self.calls += 1
        return unsecured_token({"unsecuredLoginStringClaim_sub": "alice"}, self.clock.wall_ms())

    def poll_until(self, until_ms: int) -> AddressReport:
        """Poll until an instant or the end, and return what the round says of the node."""
        while not self.prober.is_done and self.hub.now_ms < until_ms:
            self.prober.poll(until_ms)
        return self.prober.reports[0]


def test_connection_goes_on_once_its_token_is_there() -> None:
    with Hub() as hub:
        found = Round(hub)
        report = found.poll_until(500)
        assert (hub.now_ms, report.is_done, report.phase) == (500, False, Phase.SASL)
        found.resolver.end_work()
        report = found.poll_until(LIMIT_MS)
        assert (report.is_done, report.error, found.calls) == (True, None, 1)
        assert hub.now_ms < 600
        assert report.view is not None


def test_silent_endpoint_is_named_after_what_works() -> None:
    with Hub() as hub:
        report = Round(hub).poll_until(10 * LIMIT_MS)
        assert (hub.now_ms, report.is_done) == (LIMIT_MS, True)
        assert isinstance(report.error, ConnectTimeout)
        assert "no OAUTHBEARER token within 2s (socket.connection.setup.timeout.ms)" in str(report.error)
        assert {Phase.DNS, Phase.TCP, Phase.APIVERSIONS} <= set(report.phases_ms)


def test_node_that_does_not_stop_sending_ends_before_its_login_is_there() -> None:
    with Hub() as hub:
        cluster = ScriptedCluster(hub)
        node = cluster.listen("10.0.0.1")

        def flood(request: RequestFrame) -> Response | None:
            if request.api_key == SaslHandshakeRequest.API_KEY:
                response = SaslHandshakeResponse(mechanisms=["OAUTHBEARER"])
                node.wires[-1].write(encode_response(response, request.version, request.correlation_id))
                node.wires[-1].write(bytes(1 << 20))
                return None
            spoken = [ApiVersion(api_key=cls.API_KEY, min_version=0, max_version=1) for cls in (*SPOKEN, *_SASL)]
            return ApiVersionsResponse(api_keys=spoken)

        node.answer = flood
        cluster.resolver.hold_work()
        nodes = [Node(-1, "10.0.0.1", 9092)]
        prober = Prober(AdminConfig.parse(CONFIG), cluster.runtime, nodes, events=cluster.events.append)
        while not prober.is_done and hub.now_ms < 10 * LIMIT_MS:
            prober.poll(10 * LIMIT_MS)
        (report,) = prober.reports
        assert isinstance(report.error, RemoteProtocolError)
        assert str(report.error) == "10.0.0.1:9092: the server sent more than 65536 bytes in response to SaslHandshake"
        assert hub.now_ms < LIMIT_MS


def test_poll_ends_by_its_instant_whatever_the_endpoint_does() -> None:
    with Hub() as hub:
        found = Round(hub)
        found.poll_until(300)
        assert hub.now_ms == 300
        found.prober.close("the deadline passed")


def test_callback_that_fails_is_a_refusal() -> None:
    def fail() -> str:
        raise RuntimeError("no vault")

    with Hub() as hub:
        found = Round(hub, fail)
        found.poll_until(100)
        found.resolver.end_work()
        report = found.poll_until(LIMIT_MS)
        assert isinstance(report.error, AuthenticationError)
        assert "no vault" in str(report.error)
