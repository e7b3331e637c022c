"""Plots: every `plot_*` function, in one style.

In reading order:
    style              colours, sizes, titles and legends of all plots
    regions            two features as a plane, with the predictions of a classifier
    classifier_plots   regions, class densities and probabilities in two features
    evaluation_plots   confusion matrix, ROC curve, precision against recall, calibration
    coefficient_plots  coefficients with their intervals
    perceptron_plots   mistakes per pass, errors of the pocket
    outliers           axes cut at the other rows, with the rows beyond marked
    regression_plots   residuals, normal quantiles, spread, leverage
    projection_plots   rows along the directions of a discriminant analysis
    effect_plots       the rows, the fitted line and its band against one column

Functions named draw_* draw from numbers on given axes; a report uses them too.
"""
