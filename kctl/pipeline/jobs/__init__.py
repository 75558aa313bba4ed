"""Pipeline jobs: the driver's part and the tasks of each, called by `kctl pipeline`.

Jobs plan without Spark first, so errors of brokers and directories are reported immediately.
"""
