"""Rows in blocks, and their reduction to a summary.

In reading order:
    block             Block, Rows and rows in memory: what every algorithm sees
    column_matrix     separate columns, those of categories as codes
    frame_columns     numeric columns of data frames as arrays
    reduce            apply a function to blocks on threads and add the results
    views             rows passed through a function; a counter of passes
    sparse            rows of a CSR matrix, in blocks by stored entries
    safe_scaling      rows of extreme magnitude, scaled by a power of two
    polynomial        powers of a column in double-double
    tables            named columns as users have them
    array_checks      arrays and lists as real numbers, or an error that names the place
    label_checks      missing and distinct labels
    object_columns    pandas columns of Python objects
    level_codes       codes of the values of text and categorical columns
    level_spelling    one spelling for each level of a category
    row_hash          a hash of each row's values
"""
