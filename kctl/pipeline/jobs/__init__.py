"""Pipeline jobs, each with its driver and its tasks. `kctl pipeline` calls them.

Jobs plan without Spark first, so errors of brokers and directories are reported immediately.
"""
