"""Perceptrons: online passes over rows, the log of their mistakes, and what is read from it.

In reading order:
    online_pass        one pass over the rows in order, which corrects the weights at each mistake
    training           passes over rows, with a record of the mistakes
    mistake_log        the log that is the model: its final, averaged, best and voted weights
    error_counts       errors of many candidate weights in one reduction
    pocket_search      the weights after each update, scored on all rows
    parameter_mixing   training on the partitions of a cluster
"""
