"""Assignors of the application: functions as assignors, and checks of their results."""

from collections.abc import Callable, Iterable, Mapping

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors.assignor import Assignment, Assignor, MemberSubscription
from kctl.client.errors import IllegalStateError

Assign = Callable[[Mapping[str, MemberSubscription], Mapping[str, int]], Assignment]
"""Function with the arguments of `Assignor.assign`; its name becomes the name of the assignor."""


class FunctionAssignor:
    """Assignor that calls a function of the application. Members revoke their partitions before they join."""

    supports_cooperative = False

    def __init__(self, function: Assign, name: str) -> None:
        self.name = name
        self._function = function

    def subscription_user_data(self, owned: Iterable[TopicPartition], generation: int) -> bytes:  # noqa: ARG002
        return b""

    def assign(self, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]) -> Assignment:
        return self._function(members, partitions_of)


def assignment_of(
    assignor: Assignor, members: Mapping[str, MemberSubscription], partitions_of: Mapping[str, int]
) -> Assignment:
    """Return a list of partitions for each member.

    Raises: IllegalStateError: the assignor raised, or its result is invalid.
    """
    try:
        found = assignor.assign(dict(members), dict(partitions_of))  # copies, because the application may change them
        shares = {member_id: list(found.get(member_id, ())) for member_id in members}
        _check(found, shares, members, partitions_of)
    except BaseException as error:  # including sys.exit(), which would end the network thread
        raise _failed(assignor, "assign the partitions", error) from error
    return shares


def user_data_of(assignor: Assignor, owned: Iterable[TopicPartition], generation: int) -> bytes:
    """Return the user data of the assignor. Raises: IllegalStateError: the assignor raised, or did not return bytes."""
    try:
        found = assignor.subscription_user_data(owned, generation)
        if not isinstance(found, bytes):
            raise TypeError(f"subscription_user_data() must return bytes, not {type(found).__name__}")
    except BaseException as error:  # as in assignment_of
        raise _failed(assignor, "return the user data of the subscription", error) from error
    return found


def _failed(assignor: Assignor, action: str, error: BaseException) -> IllegalStateError:
    return IllegalStateError(f"assignor {assignor.name} cannot {action}: {str(error) or type(error).__name__}")


def _check(
    found: Mapping[str, object],
    shares: Assignment,
    members: Mapping[str, MemberSubscription],
    partitions_of: Mapping[str, int],
) -> None:
    strangers = [member_id for member_id in found if member_id not in members]
    if strangers:
        raise ValueError(f"{strangers[0]!r} is not a member of the group")
    assigned: set[tuple[str, int]] = set()
    for member_id, share in shares.items():
        wanted = set(members[member_id].topics)
        for tp in share:
            topic, partition = tp
            if type(partition) is not int:
                raise TypeError(f"partition {partition!r} of {topic} is not an integer")
            if not 0 <= partition < partitions_of.get(topic, 0):
                raise ValueError(f"{topic}-{partition} does not exist")
            if topic not in wanted:
                raise ValueError(f"member {member_id} gets {topic}-{partition} but is not subscribed to {topic}")
            if (topic, partition) in assigned:
                raise ValueError(f"{topic}-{partition} is assigned twice")
            assigned.add((topic, partition))
