"""APIs that KRaft brokers forward to the controller. Brokers cannot respond without a controller. Source: KIP-590."""

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
"""Kafka's names of the APIs."""
