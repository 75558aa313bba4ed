"""Node for tests of the network: scripted responses to ApiVersions and Metadata, with the faults of the sandbox."""

from collections.abc import Callable

from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.framing import FrameReader, RequestFrame, decode_request, encode_response
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.faults import NodeFaults, OnConnect, OnRequest
from kctl.sandbox.runtime import Wire

SPOKEN: tuple[type[Request], ...] = (ApiVersionsRequest, MetadataRequest)


class ScriptedNode:
    """Node that records its requests. `answer` can be replaced, and may return None for no response."""

    def __init__(self) -> None:
        self.faults = NodeFaults()
        self.asked: list[str] = []
        self.wires: list[Wire] = []
        self.answer: Callable[[RequestFrame], Response | None] = answer_well

    def on_connect(self) -> OnConnect:
        return self.faults.on_connect

    def accept(self, wire: Wire) -> "ScriptedEnd":
        self.wires.append(wire)
        return ScriptedEnd(self, wire)


class ScriptedEnd:
    """The node's end of one connection."""

    def __init__(self, node: ScriptedNode, wire: Wire) -> None:
        self._node = node
        self._wire = wire
        self._frames = FrameReader(1 << 20)

    def receive(self, data: bytes) -> None:
        if self._node.faults.on_request is OnRequest.RESET:
            self._wire.reset()
        if self._node.faults.on_request is not OnRequest.ANSWER:
            return
        for frame in self._frames.feed(data):
            request = decode_request(frame)
            self._node.asked.append(request.message.NAME)
            response = self._node.answer(request)
            if response is not None:
                self._wire.write(encode_response(response, request.version, request.correlation_id))

    def writable(self) -> None:
        """Nothing waits."""

    def disconnected(self) -> None:
        self._node.asked.append("disconnected")


def answer_well(request: RequestFrame) -> Response:
    """Answer as a healthy node does."""
    if request.api_key == ApiVersionsRequest.API_KEY:
        keys = [ApiVersion(api_key=cls.API_KEY, min_version=0, max_version=cls.VALID_VERSIONS[1]) for cls in SPOKEN]
        return ApiVersionsResponse(api_keys=keys)
    return MetadataResponse(cluster_id="scripted")
