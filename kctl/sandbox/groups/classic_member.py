"""Member of a classic group."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupResponse
from kctl.sandbox.groups.offset_records import MemberMetadata
from kctl.sandbox.groups.outbox import Asker, Refused
from kctl.sandbox.groups.surroundings import CLIENT_HOST


class ClassicMember:
    __slots__ = (
        "assignment",
        "client_id",
        "generation",
        "instance_id",
        "is_new",
        "join",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
    )

    def __init__(self, member_id: str, instance_id: str | None, client_id: str) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.session_timeout_ms = 0
        self.rebalance_timeout_ms = 0
        self.protocols: dict[str, bytes] = {}
        """Metadata by protocol, the preferred protocol first."""
        self.assignment = b""
        self.is_new = True
        """True until the member's first generation begins."""
        self.generation = -1
        """Last generation that the member joined. Static members stay in the group without joining."""
        self.join: Asker | None = None
        """Waiting JoinGroup request."""
        self.sync: Asker | None = None
        """Waiting SyncGroup request."""

    def has_offered(self, request: JoinGroupRequest) -> bool:
        return list(self.protocols.items()) == [(offer.name, offer.metadata) for offer in request.protocols]

    def adopt(self, request: JoinGroupRequest) -> None:
        self.session_timeout_ms = request.session_timeout_ms
        wanted_ms = request.rebalance_timeout_ms
        self.rebalance_timeout_ms = wanted_ms if wanted_ms >= 0 else request.session_timeout_ms
        self.protocols = {offer.name: offer.metadata for offer in request.protocols}

    def renamed(self, member_id: str) -> "ClassicMember":
        """Return a copy with another ID and without waiting requests (KIP-345)."""
        copy = ClassicMember(member_id, self.instance_id, self.client_id)
        copy.session_timeout_ms = self.session_timeout_ms
        copy.rebalance_timeout_ms = self.rebalance_timeout_ms
        copy.protocols = self.protocols
        copy.assignment = self.assignment
        copy.is_new = self.is_new
        copy.generation = self.generation
        return copy

    def metadata(self, protocol: str) -> MemberMetadata:
        return MemberMetadata(
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=CLIENT_HOST,
            rebalance_timeout=self.rebalance_timeout_ms,
            session_timeout=self.session_timeout_ms,
            subscription=self.protocols.get(protocol, b""),
            assignment=self.assignment,
        )


class ClassicMembers(dict[str, ClassicMember]):
    """Members by ID, in the order of joining."""

    def static(self, instance_id: str | None) -> ClassicMember | None:
        if instance_id is None:
            return None
        return next((member for member in self.values() if member.instance_id == instance_id), None)

    def known(self, member_id: str, instance_id: str | None) -> ClassicMember:
        """Return the member of a request. Raise Refused if it is unknown or was replaced (KIP-345)."""
        if instance_id is not None:
            holder = self.static(instance_id)
            if holder is None:
                raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
            if holder.member_id != member_id:
                raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self[member_id]

    def common_protocols(self) -> list[str]:
        offers = [member.protocols for member in self.values()]
        return [name for name in offers[0] if all(name in offer for offer in offers)] if offers else []

    def chosen_protocol(self) -> str:
        """Return the common protocol that most members prefer. On a tie, the first member's order decides."""
        common = self.common_protocols()
        votes = dict.fromkeys(common, 0)
        for member in self.values():
            votes[next(name for name in member.protocols if name in votes)] += 1
        return max(votes, key=lambda name: votes[name])


_NULL_PROTOCOL_FROM = 7


def refused_join(code: ErrorCode, member_id: str, version: int) -> JoinGroupResponse:
    protocol = None if version >= _NULL_PROTOCOL_FROM else ""
    return JoinGroupResponse(error_code=code, member_id=member_id, protocol_name=protocol)
