"""The data source `kctl`: Spark's classes around ranges, readers and writers.

The data source, the decoded table, the readers and the writers need pyspark; the other modules do not.
"""
