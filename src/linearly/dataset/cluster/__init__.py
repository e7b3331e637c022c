"""Rows on Dask and Spark, reduced where they are stored.

In reading order:
    partitions    what Dask and Spark share: partitions, their offsets and their errors
    dask          arrays, data frames and bags of blocks on Dask
    spark         data frames on Spark
    collections   entry points: `from_dask`, `from_spark`, predictions with the same partitions
"""
