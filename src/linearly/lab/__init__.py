"""The lab: points on a plane, a model, and its training frame by frame, all computed by the library.

In reading order:
    catalogue              the algorithms and their parameters (data in catalogue.toml)
    lifts                  a third feature of the two columns
    state                  points, algorithm and parameters, checked
    presets                example points
    generators             points drawn from a known distribution
    lessons                scenes with a question each (words in lessons.toml)
    point_import           points from files and data frames
    animation              frames of a training and the details of a frame
    separability_text      separability in words
    perceptron_animations  the five perceptrons
    loss_surface           the logistic loss over both weights
    classifier_animations  least squares on labels, LDA, QDA, logistic regression
    curve_animations       least squares, ridge, lasso, gradient descent, bias and variance
    split                  training and test points
    thresholds             classification at any probability, ROC curve
    code_snippet           Python that reproduces a frame
    session                messages in, replies out; no web
    server                 the page on this machine (files in web/)
    bundle_js              the page's modules as one, for notebooks
    widget                 the page in a notebook
    export_site            the page as a static site, with Python inside the browser
    in_browser             what that site needs: start, worker, NumPy stand-ins for other libraries
"""
