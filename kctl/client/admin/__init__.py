"""Administration of a cluster: `Admin(config)`.

admin.py is the face, call.py one bounded call; then one file a resource.
"""

from kctl.client.admin.admin import Admin
from kctl.client.admin.cluster_description import ClusterDescription
from kctl.client.admin.group_values import (
    GroupDescription,
    GroupList,
    GroupListing,
    MemberDescription,
    MemberToRemove,
)
from kctl.client.admin.offsets import EARLIEST, LATEST, MAX_TIMESTAMP
from kctl.client.admin.results import Results
from kctl.client.admin.topics import BROKER_DEFAULT, CreatedTopic, NewTopic, TopicListing
from kctl.client.requests.group_offsets import OffsetAndMetadata
from kctl.client.requests.list_offsets import OffsetAndTimestamp

__all__ = [
    "BROKER_DEFAULT",
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "Admin",
    "ClusterDescription",
    "CreatedTopic",
    "GroupDescription",
    "GroupList",
    "GroupListing",
    "MemberDescription",
    "MemberToRemove",
    "NewTopic",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "Results",
    "TopicListing",
]
