"""The network side of a consumer group: membership by either protocol, commits and committed offsets."""
