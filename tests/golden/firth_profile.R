# Writes firth_profile.json: profile intervals of the penalised likelihood (Firth 1993; Heinze & Schemper 2002).
#   Rscript firth_profile.R > firth_profile.json
# {<set>: {features, X, y, coefficients, low, high}}: endometrial (HG ~ NV + PI + EH) of brglm2, where NV separates, and
# mtcars (am ~ wt + gear), which is separated. The penalised log likelihood l + log|I|/2 is maximised by optim with one
# coefficient held, and uniroot finds where it is qchisq(0.95, 1)/2 below its maximum.
suppressMessages(library(brglm2))
source("json.R")

profiled <- function(data, response, features) {
  X <- cbind(1, as.matrix(data[features]))
  y <- data[[response]]
  penalised <- function(b) {
    eta <- drop(X %*% b)
    p <- plogis(eta)
    sum(y * plogis(eta, log.p = TRUE) + (1 - y) * plogis(-eta, log.p = TRUE)) +
      as.numeric(determinant(crossprod(X, X * (p * (1 - p))))$modulus) / 2
  }
  scale <- c(1, apply(X[, -1, drop = FALSE], 2, sd))
  score <- function(b) {  # of the penalised likelihood
    p <- plogis(drop(X %*% b))
    h <- rowSums((X %*% solve(crossprod(X, X * (p * (1 - p))))) * X) * p * (1 - p)
    drop(crossprod(X, y - p + h * (0.5 - p)))
  }
  start <- NULL  # where the search for the last value ended
  free <- function(held, value) {
    others <- setdiff(seq_along(start), held)
    whole <- function(u) { b <- start; b[others] <- u / scale[others]; b[held] <- value; b }
    f <- function(u) { found <- -penalised(whole(u)); if (is.finite(found)) found else 1e10 }
    g <- function(u) -score(whole(u))[others] / scale[others]
    u <- start[others] * scale[others]
    for (i in 1:3) u <- optim(u, f, g, method = "BFGS", control = list(reltol = 1e-16, maxit = 1000))$par
    start <<- whole(u)
    -f(u)
  }
  fit <- glm(reformulate(features, response), binomial, data, method = "brglmFit", type = "AS_mean", epsilon = 1e-14,
             maxit = 1000)
  b <- unname(coef(fit))
  target <- penalised(b) - qchisq(0.95, 1) / 2
  end <- function(j, sign) {
    error <- sqrt(diag(vcov(fit)))[[j]]
    start <<- b
    g <- function(t) free(j, b[j] + sign * t * error) - target
    far <- 0.25
    while (g(far) > 0) far <- far + 0.25
    b[j] + sign * error * uniroot(g, c(far - 0.25, far), tol = 1e-12)$root
  }
  j <- seq_along(b)
  list(features = I(features), X = unname(X[, -1, drop = FALSE]), y = as.integer(y), coefficients = b,
       low = sapply(j, end, -1), high = sapply(j, end, 1))
}

data(endometrial, package = "brglm2")
cat(json(list(endometrial = profiled(endometrial, "HG", c("NV", "PI", "EH")),
              mtcars = profiled(mtcars, "am", c("wt", "gear")))), "\n")
