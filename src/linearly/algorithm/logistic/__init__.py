"""Logistic and softmax regression: from blocks of rows to maximum-likelihood coefficients.

In reading order:
    objective        loss, gradient and Hessian of a block at given coefficients
    optimizers       Newton, preconditioned L-BFGS and gradient descent
    proximal_newton  absolute values in the penalty: each step is a lasso
    solver           which optimizer to use, and where to start
    firth            bias-reduced estimates, finite for separated classes
    aliasing         columns that are combinations of others
    information      information matrix by QR, for accurate standard errors
    cluster_roots    the correction CR2 for two classes
    sandwich         robust and clustered covariances
"""
