"""Administration of a cluster: `Admin(config)`.

admin.py has the public class, call.py one bounded call, and every resource has a file. Names are imported on first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kctl.client.acls import SUPPORTED_OPERATIONS as SUPPORTED_OPERATIONS
    from kctl.client.acls import AclDecision as AclDecision
    from kctl.client.acls import AclFilter as AclFilter
    from kctl.client.acls import AclOperation as AclOperation
    from kctl.client.acls import AclPermission as AclPermission
    from kctl.client.acls import AclRequest as AclRequest
    from kctl.client.acls import AclResourceType as AclResourceType
    from kctl.client.acls import AclRule as AclRule
    from kctl.client.acls import PatternType as PatternType
    from kctl.client.acls import decide as decide
    from kctl.client.admin.admin import Admin as Admin
    from kctl.client.admin.api_request import ApiDescription as ApiDescription
    from kctl.client.admin.api_request import ApiResponse as ApiResponse
    from kctl.client.admin.api_request import declared_apis as declared_apis
    from kctl.client.admin.call import Results as Results
    from kctl.client.admin.cluster import ClusterDescription as ClusterDescription
    from kctl.client.admin.cluster import Feature as Feature
    from kctl.client.admin.cluster import MetadataView as MetadataView
    from kctl.client.admin.cluster import QuorumDescription as QuorumDescription
    from kctl.client.admin.cluster import QuorumReplica as QuorumReplica
    from kctl.client.admin.cluster_values import FeatureUpdate as FeatureUpdate
    from kctl.client.admin.cluster_values import Replica as Replica
    from kctl.client.admin.cluster_values import ReplicaLogDir as ReplicaLogDir
    from kctl.client.admin.cluster_values import UpgradeType as UpgradeType
    from kctl.client.admin.cluster_values import VoterEndpoint as VoterEndpoint
    from kctl.client.admin.configs import CONFIG_SOURCES as CONFIG_SOURCES
    from kctl.client.admin.configs import CONFIG_TYPES as CONFIG_TYPES
    from kctl.client.admin.configs import ConfigEntry as ConfigEntry
    from kctl.client.admin.configs import ConfigResource as ConfigResource
    from kctl.client.admin.configs import ListChange as ListChange
    from kctl.client.admin.configs import ResourceType as ResourceType
    from kctl.client.admin.elections import ElectionType as ElectionType
    from kctl.client.admin.elections import EligibleLeaders as EligibleLeaders
    from kctl.client.admin.group_values import GroupDescription as GroupDescription
    from kctl.client.admin.group_values import GroupList as GroupList
    from kctl.client.admin.group_values import GroupListing as GroupListing
    from kctl.client.admin.group_values import MemberDescription as MemberDescription
    from kctl.client.admin.group_values import MemberToRemove as MemberToRemove
    from kctl.client.admin.hanging import OpenTransaction as OpenTransaction
    from kctl.client.admin.hanging import OpenTransactions as OpenTransactions
    from kctl.client.admin.hanging import Verdict as Verdict
    from kctl.client.admin.log_dirs import LogDir as LogDir
    from kctl.client.admin.offsets import EARLIEST as EARLIEST
    from kctl.client.admin.offsets import LATEST as LATEST
    from kctl.client.admin.offsets import MAX_TIMESTAMP as MAX_TIMESTAMP
    from kctl.client.admin.offsets import EpochEnd as EpochEnd
    from kctl.client.admin.producers import ActiveProducer as ActiveProducer
    from kctl.client.admin.reassignments import Reassignment as Reassignment
    from kctl.client.admin.records import KeyRange as KeyRange
    from kctl.client.admin.records import KeySample as KeySample
    from kctl.client.admin.records import RecordShape as RecordShape
    from kctl.client.admin.records import RecordTime as RecordTime
    from kctl.client.admin.scram_values import SCRAM_NUMBERS as SCRAM_NUMBERS
    from kctl.client.admin.scram_values import Credential as Credential
    from kctl.client.admin.scram_values import ScramChange as ScramChange
    from kctl.client.admin.scram_values import ScramPassword as ScramPassword
    from kctl.client.admin.scram_values import ScramRemoval as ScramRemoval
    from kctl.client.admin.share_groups import ShareOffset as ShareOffset
    from kctl.client.admin.topics import BROKER_DEFAULT as BROKER_DEFAULT
    from kctl.client.admin.topics import CreatedTopic as CreatedTopic
    from kctl.client.admin.topics import NewTopic as NewTopic
    from kctl.client.admin.topics import TopicListing as TopicListing
    from kctl.client.admin.transactions import TransactionDescription as TransactionDescription
    from kctl.client.admin.transactions import TransactionList as TransactionList
    from kctl.client.admin.transactions import TransactionListing as TransactionListing
    from kctl.client.loop.close import CloseResult as CloseResult
    from kctl.client.protocol.api import api_key_of as api_key_of
    from kctl.client.protocol.api import api_name as api_name
    from kctl.client.quotas import DEFAULT_TEXT as DEFAULT_TEXT
    from kctl.client.quotas import EffectiveQuota as EffectiveQuota
    from kctl.client.quotas import QuotaEntity as QuotaEntity
    from kctl.client.quotas import effective_quotas as effective_quotas
    from kctl.client.requests.group_offsets import OffsetAndMetadata as OffsetAndMetadata
    from kctl.client.requests.list_offsets import OffsetAndTimestamp as OffsetAndTimestamp

_NAMES = {
    "kctl.client.acls": (
        "SUPPORTED_OPERATIONS AclDecision AclFilter AclOperation AclPermission AclRequest AclResourceType AclRule "
        "PatternType decide"
    ),
    "kctl.client.admin.admin": "Admin",
    "kctl.client.admin.api_request": "ApiDescription ApiResponse declared_apis",
    "kctl.client.admin.call": "Results",
    "kctl.client.admin.cluster": "ClusterDescription Feature MetadataView QuorumDescription QuorumReplica",
    "kctl.client.admin.cluster_values": "FeatureUpdate Replica ReplicaLogDir UpgradeType VoterEndpoint",
    "kctl.client.admin.configs": "CONFIG_SOURCES CONFIG_TYPES ConfigEntry ConfigResource ListChange ResourceType",
    "kctl.client.admin.elections": "ElectionType EligibleLeaders",
    "kctl.client.admin.group_values": "GroupDescription GroupList GroupListing MemberDescription MemberToRemove",
    "kctl.client.admin.hanging": "OpenTransaction OpenTransactions Verdict",
    "kctl.client.admin.log_dirs": "LogDir",
    "kctl.client.admin.offsets": "EARLIEST LATEST MAX_TIMESTAMP EpochEnd",
    "kctl.client.admin.producers": "ActiveProducer",
    "kctl.client.admin.reassignments": "Reassignment",
    "kctl.client.admin.records": "KeyRange KeySample RecordShape RecordTime",
    "kctl.client.admin.scram_values": "SCRAM_NUMBERS Credential ScramChange ScramPassword ScramRemoval",
    "kctl.client.admin.share_groups": "ShareOffset",
    "kctl.client.admin.topics": "BROKER_DEFAULT CreatedTopic NewTopic TopicListing",
    "kctl.client.admin.transactions": "TransactionDescription TransactionList TransactionListing",
    "kctl.client.loop.close": "CloseResult",
    "kctl.client.protocol.api": "api_key_of api_name",
    "kctl.client.quotas": "DEFAULT_TEXT EffectiveQuota QuotaEntity effective_quotas",
    "kctl.client.requests.group_offsets": "OffsetAndMetadata",
    "kctl.client.requests.list_offsets": "OffsetAndTimestamp",
}
"""The names of each module."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted({*_HOMES, *globals()})
