"""The estimators: each a choice of summary, objective and optimizer, with the interface of scikit-learn.

In reading order:
    sklearn_bases                    scikit-learn's base classes, without loading scikit-learn before they are needed
    base                             rows of a fit and of a prediction, refitting, merging, names, scores
    parameter_checks                 checks of constructor parameters
    label_encoding                   labels to codes 0 … K − 1
    estimability                     warn of predictions that the fitted rows do not determine
    least_squares_base               predictions, intervals and covariance of a least-squares solution
    linear_regression                LinearRegression: least squares and ridge
    ridge_cv                         RidgeCV: ridge with its penalty chosen by cross-validation
    elastic_net_base                 penalties, predictions and proof of a sparse linear model
    elastic_net                      ElasticNet: lasso and elastic net
    elastic_net_cv                   ElasticNetCV: the penalty chosen by cross-validation
    score_classifier                 scores of classes to labels and probabilities
    overflow_safe_scores             scores of rows so large that they exceed float64
    class_gram_classifier            classifiers that are solved from one Gram per class
    discriminant_base                priors, shrinkage and correct digits of normal classes
    linear_discriminant_analysis     LinearDiscriminantAnalysis: one covariance
    quadratic_discriminant_analysis  QuadraticDiscriminantAnalysis: one covariance per class
    least_squares_classifier         LeastSquaresClassifier: least squares on class indicators
    class_survey                     first pass of an iterative classifier
    separation                       proof of separation, and terms without a finite estimate
    logistic_regression              LogisticRegression
    perceptron_base                  scores and explanation of perceptrons
    uncentered_columns               warn of columns from which a perceptron learns little
    online_perceptron                training of the three perceptrons that update row by row
    perceptron                       Perceptron: weights after the last row
    averaged_perceptron              AveragedPerceptron: mean of all weights
    voted_perceptron                 VotedPerceptron: vote of all weights
    pocket_perceptron                PocketPerceptron: weights with the fewest errors
    batch_perceptron                 BatchPerceptron: one update per pass
    registry                         the models by the names that `fit` and the command line use
    kind_checks                      whether a model is logistic, or a lasso, without loading those estimators
    from_inference                   functions of `linearly.inference` that methods call
"""
