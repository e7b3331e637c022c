# Lasso and elastic net by glmnet.    Rscript tests/golden/elastic_net.R    writes elastic_net.json.
#
# mtcars: mpg on the ten other columns. lambda is alpha / sum of weights here. glmnet divides y by its standard deviation
# (divisor n) before it applies the penalty of squares, so y is standardised beforehand where l1_ratio < 1.
suppressPackageStartupMessages(library(glmnet))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
x <- as.matrix(mtcars[, -1]); n <- nrow(x)
sdn <- function(v) sqrt(mean((v - mean(v))^2))
y <- mtcars$mpg; ys <- (y - mean(y)) / sdn(y)
w <- 0.5 + (seq_len(n) * 7) %% 13 / 4
cases <- list(
  list(name = "lasso", y = y, alpha = 20, l1_ratio = 1, standardize = FALSE, w = rep(1, n), intercept = TRUE),
  list(name = "lasso, standardized", y = y, alpha = 20, l1_ratio = 1, standardize = TRUE, w = rep(1, n), intercept = TRUE),
  list(name = "elastic net, standardized", y = ys, alpha = 5, l1_ratio = 0.4, standardize = TRUE, w = rep(1, n), intercept = TRUE),
  list(name = "elastic net", y = ys, alpha = 3, l1_ratio = 0.7, standardize = FALSE, w = rep(1, n), intercept = TRUE),
  list(name = "lasso, weights", y = y, alpha = 40, l1_ratio = 1, standardize = FALSE, w = w, intercept = TRUE),
  list(name = "lasso, weights, standardized", y = y, alpha = 40, l1_ratio = 1, standardize = TRUE, w = w, intercept = TRUE),
  list(name = "lasso, no intercept", y = y, alpha = 20, l1_ratio = 1, standardize = FALSE, w = rep(1, n), intercept = FALSE))
out <- lapply(cases, function(k) {
  fit <- glmnet(x, k$y, alpha = k$l1_ratio, lambda = k$alpha / sum(k$w), standardize = k$standardize, weights = k$w,
                intercept = k$intercept, thresh = 1e-30, maxit = 1e8)
  c(k, list(coef = as.numeric(coef(fit))[-1], constant = as.numeric(coef(fit))[1]))
})
writeLines(jsonlite::toJSON(list(x = unname(x), cases = out), digits = NA, auto_unbox = TRUE), file.path(here, "elastic_net.json"))
