"""Files and streams as tables, read in parallel in memory that does not grow with the number of rows.

In reading order:
    locations        which files a path, glob, directory or URL stands for, and how to open them
    read_units       TableFile, what every kind of file offers, and the units that one thread reads
    csv_text         split CSV text into rows and fields; delimiter, column names, decimal sign
    csv              parse CSV files
    arrow            Parquet files, Arrow files and streams of Arrow batches
    parquet_pages    decode float64 columns of Parquet files by the kernels
    hive_partitions  columns that the names of directories declare
    tables           FileTables: the rows of several files, one after another
    atomic_file      write a file completely or not at all; read a file of limited size
    writers          write Parquet and CSV files
"""
