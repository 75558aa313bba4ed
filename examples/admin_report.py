"""Create a topic that a principal may read, and print the lag of all groups.

python admin_report.py SERVERS TOPIC PRINCIPAL
"""

import sys

from kctl.client import AclRule, Admin, NewTopic, TopicPartition, errors
from kctl.client.admin import LATEST, AclOperation, AclPermission, AclResourceType, PatternType


def prepare(admin: Admin, topic: str, principal: str) -> None:
    """Create a topic and permit a principal to read it. Existing topics are no error."""
    created = admin.create_topics([NewTopic(topic, 3)])
    for error in created.failed.values():
        if not isinstance(error, errors.TopicAlreadyExistsError):
            raise error
    admin.wait_for_topics([topic], timeout=30)
    rule = AclRule(
        AclResourceType.TOPIC, topic, PatternType.LITERAL, principal, "*", AclOperation.READ, AclPermission.ALLOW
    )
    admin.create_acls([rule]).raise_first()


def lags(admin: Admin) -> dict[str, dict[TopicPartition, int]]:
    """Return the lag of each partition that a group has committed, by group."""
    with admin.within(30):  # one timeout for all requests
        committed = admin.list_offsets_of_groups(list(admin.list_groups().groups)).done
        partitions = {tp for group in committed.values() for tp in group.done}
        ends = admin.list_offsets(dict.fromkeys(partitions, LATEST)).done
    return {
        group: {tp: ends[tp].offset - offset.offset for tp, offset in found.done.items() if tp in ends}
        for group, found in committed.items()
    }


if __name__ == "__main__":
    with Admin({"bootstrap.servers": sys.argv[1]}) as client:
        prepare(client, sys.argv[2], sys.argv[3])
        for name, found in lags(client).items():
            print(name, sum(found.values()))
