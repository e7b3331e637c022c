"""Rows on a cluster.

In reading order:
    partitions    what Dask and Spark share: partitions, their offsets and their errors
    dask          arrays, data frames and bags of blocks on Dask
    spark         data frames on Spark
    collections   entry points: `from_dask`, `from_spark`, and predictions beside their rows
"""
