"""The data source `kctl`: Spark's classes around ranges, readers and writers.

data_source.py is what Spark registers, options.py the options of users, failures.py the errors they see; one file each
reads and writes, batch and stream. Every module here needs pyspark.
"""
