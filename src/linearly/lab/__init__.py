"""The lab: points on a plane, a model, and its training frame by frame, all computed by the library.

In reading order:
    catalogue              the algorithms and their parameters (data in catalogue.toml)
    state                  points, algorithm and parameters, checked
    presets                example points
    point_import           points from files and data frames
    animation              frames of a training and the details of a frame
    separability_text      separability in words
    perceptron_animations  the five perceptrons
    classifier_animations  least squares on labels, LDA, QDA, logistic regression
    curve_animations       least squares, ridge, gradient descent, bias and variance
    code_snippet           Python that reproduces a frame
    session                messages in, replies out; no web
    server                 the page on this machine (files in web/)
    bundle_js              the page's modules as one, for notebooks
    widget                 the page in a notebook
"""
