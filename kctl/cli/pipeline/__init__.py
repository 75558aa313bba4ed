"""`kctl pipeline`: jobs on Spark. Each command's module has its options; kctl.pipeline is imported when one runs."""
