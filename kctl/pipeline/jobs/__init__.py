"""Pipeline jobs: the driver's part and the tasks of each, called by `kctl pipeline` (kctl/cli/pipeline).

A job plans without Spark first, so errors of brokers and directories are reported immediately. Then it executes tasks
with `kctl.pipeline.running`. Records stay inside the Python tasks.
"""
