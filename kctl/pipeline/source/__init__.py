"""The data source `kctl`: Spark's classes around ranges, readers and writers.

data_source.py has the class that Spark registers, options.py the options and failures.py the errors. The data source,
the decoded table, the readers and the writers need pyspark. Jobs and tests import the other modules without pyspark.
"""
