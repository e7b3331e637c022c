"""How models learn: summaries of rows, objectives and optimizers.

    least_squares/   Gram and QR summaries, their solution, ridge, robust covariances
    logistic/        the logistic likelihood and its optimizers, Firth's bias reduction
    perceptron/      online passes, the log of mistakes, the pocket
    separability/    proofs that classes can or cannot be separated

The four packages do not import each other, except that logistic/ uses least_squares/.
"""
