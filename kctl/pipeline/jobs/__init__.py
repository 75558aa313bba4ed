"""The jobs, each a function and a `kctl pipeline` command (kctl/cli/pipeline): the driver's side and what its tasks do.

A job plans first, without Spark, so that what is wrong with brokers or folders is reported at once; then it runs tasks
through `kctl.pipeline.running`. The data never leaves the Python tasks.
"""
