"""Features computed from raw data.

In reading order:
    polynomial   powers of one column, in double-double
    digits       density, symmetry and curvature of images of digits
    spam         counts of words, style and links of e-mails
"""
