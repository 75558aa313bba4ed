"""`kctl pipeline`: Spark jobs. Modules import kctl.pipeline only for execution."""
