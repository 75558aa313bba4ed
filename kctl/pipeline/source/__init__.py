"""The data source `kctl`: Spark's classes around ranges, readers and writers.

data_source.py is what Spark registers, options.py the options of users, failures.py the errors they see; one file each
reads and writes, batch and stream. What has classes or types of Spark needs pyspark: data_source, decoded_table, the
readers and the writers. The others are imported without it, as jobs and tests do.
"""
