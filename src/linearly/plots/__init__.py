"""Plots: every `plot_*` function, in one style.

In reading order:
    style             colours, sizes, titles and legends of all plots
    regions           two features as a plane, with the predictions of a classifier
    classifier_plots  regions, class densities, probabilities, evaluations, coefficients
    perceptron_plots  mistakes per pass, errors of the pocket
    regression_plots  residuals, normal quantiles, spread, leverage

Functions named draw_* draw from numbers on given axes; a report uses them too.
"""
