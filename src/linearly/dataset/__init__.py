"""Rows, wherever they are stored, and their conversion to numbers.

In reading order:
    rows/       blocks of numbers and their reduction to a summary
    formula/    the formula language
    design/     columns to numbers: terms, levels, transforms, missing values
    files/      CSV, Parquet and Arrow files, larger than memory
    cluster/    Dask and Spark
    features/   features of images and texts
    sources     any of these from what a user passes
"""
