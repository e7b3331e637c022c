"""How models learn: summaries of rows, objectives and optimizers.

    least_squares/   Gram and QR summaries, their solution, ridge, robust covariances
    elastic_net/     lasso and elastic net from a summary, with proofs of optimality
    logistic/        the logistic likelihood and its optimizers, Firth's bias reduction
    perceptron/      online passes, the log of mistakes, the pocket
    separability/    proofs that classes can or cannot be separated

The packages do not import each other, with three exceptions: logistic/ and elastic_net/ use least_squares/, logistic/
uses the minimizer of elastic_net/, and the proofs of elastic_net/ use the integer algebra of separability/.
"""
