# Logistic regression with a lasso or elastic net penalty by glmnet.    Rscript tests/golden/logistic_lasso.R
#
# mtcars: transmission (am) or engine shape (vs) on six columns. lambda is alpha / sum of
# weights here. Columns are not standardised.
suppressPackageStartupMessages(library(glmnet))
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
x <- as.matrix(mtcars[, c("mpg", "disp", "hp", "drat", "wt", "qsec")]); n <- nrow(x)
w <- 0.5 + (seq_len(n) * 7) %% 13 / 4
cases <- list(
  list(name = "lasso", y = mtcars$am, alpha = 0.5, l1_ratio = 1, w = rep(1, n), intercept = TRUE),
  list(name = "lasso, small penalty", y = mtcars$vs, alpha = 0.02, l1_ratio = 1, w = rep(1, n), intercept = TRUE),
  list(name = "elastic net", y = mtcars$am, alpha = 0.3, l1_ratio = 0.4, w = rep(1, n), intercept = TRUE),
  list(name = "lasso, weights", y = mtcars$am, alpha = 1, l1_ratio = 1, w = w, intercept = TRUE),
  list(name = "lasso, no intercept", y = mtcars$vs, alpha = 1, l1_ratio = 1, w = rep(1, n), intercept = FALSE),
  list(name = "all zero", y = mtcars$am, alpha = 1e4, l1_ratio = 1, w = rep(1, n), intercept = TRUE))
out <- lapply(cases, function(k) {
  fit <- glmnet(x, k$y, family = "binomial", alpha = k$l1_ratio, lambda = k$alpha / sum(k$w), standardize = FALSE,
                weights = k$w, intercept = k$intercept, thresh = 1e-20, maxit = 1e8)
  c(k, list(coef = as.numeric(coef(fit))[-1], constant = as.numeric(coef(fit))[1]))
})
writeLines(jsonlite::toJSON(list(x = unname(x), cases = out), digits = NA, auto_unbox = TRUE),
           file.path(here, "logistic_lasso.json"))
