"""Features computed from raw data.

digits   density, symmetry and curvature of images of digits
spam     counts of words, style and links of e-mails
"""
