"""Decide whether linear classifiers can separate classes, and prove it.

In reading order:
    halfspaces        the inequalities that a separating hyperplane must satisfy, with exact signs
    budget            count and limit the work of a search
    integer_algebra   null spaces in integers
    min_norm_point    Wolfe's algorithm: the point of a convex hull nearest to the origin
    float_search      find a candidate in floating point
    exact_search      prove the candidate, or search on in integers
    certificate       the verdict with its proof, and the proof's check in rational arithmetic
    decide            `separability` and `mistake_bound`: the public functions
    error_floor       a proven lower bound on the training errors of any hyperplane
    float_overlap     a quick proof of overlap without a certificate
"""
