"""Formulas as in R: from text to terms, without running any of it as Python.

In reading order:
    tokens      split the text into tokens; check its length, brackets and quotes
    expression  arithmetic of columns inside a term, such as log(price): parse, check, evaluate
    derivative  differentiate such an expression by one of its columns
    operators   expand + - : * / ^ %in% into terms, by R's precedence
"""
