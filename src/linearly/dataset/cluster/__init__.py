"""Rows on a cluster.

In reading order:
    partitions   what Dask and Spark share: partitions, their offsets, errors, and the entry points
    dask         arrays, data frames and bags of blocks on Dask
    spark        data frames on Spark
"""
