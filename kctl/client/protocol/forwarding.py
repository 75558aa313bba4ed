"""Requests that KRaft brokers forward to the controller, and cannot answer without one. Source: KIP-590."""

FORWARDED = frozenset(
    {
        "AlterClientQuotas",
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterUserScramCredentials",
        "CreateAcls",
        "CreatePartitions",
        "CreateTopics",
        "DeleteAcls",
        "DeleteTopics",
        "DescribeQuorum",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "ListPartitionReassignments",
        "UnregisterBroker",
        "UpdateFeatures",
    }
)
"""By Kafka's names of the APIs."""
