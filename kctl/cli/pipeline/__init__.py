"""`kctl pipeline`: Spark jobs. Modules have the options of commands, and import kctl.pipeline for execution only."""
