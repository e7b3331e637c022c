"""The names of the covariances of coefficients, which the parameter `covariance` accepts."""

CLUSTERED = ("cluster", "CR0", "CR1", "CR2", "CR3")  # need groups
CORRECTED = ("CR2", "CR3")  # for few groups
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3", "HAC", *CLUSTERED)
