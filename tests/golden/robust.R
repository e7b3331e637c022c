# Robust and clustered covariances of linear and logistic fits.    Rscript tests/golden/robust.R    writes robust.json.
#
# 240 rows in 48 groups of 5 (the clusters), numbers by a congruential generator so that no package's stream matters.
# lm and glm (binomial, epsilon 1e-15), unweighted and with weights w (sampling weights: 0.5 to 3.5).
#   HC0, HC1   sandwich::vcovHC
#   cluster    sandwich::vcovCL, type "HC1" with cadjust; coeftest and coefci of lmtest with df = G - 1
#   wald       the F test that both slopes are 0, with the clustered covariance and G - 1 degrees of freedom (lm only)
#   new        two rows, and confidence intervals of the mean there with the clustered covariance (lm only)

suppressPackageStartupMessages({ library(sandwich); library(lmtest) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

n <- 240; G <- 48
state <- 12345
draw <- function() { state <<- (state * 1103 + 12345) %% 65536; state / 65536 }
unif <- replicate(4 * n, draw())
x1 <- round(4 * unif[1:n] - 2, 3)
x2 <- round(3 * unif[n + 1:n], 3)
group <- rep(seq_len(G), each = n / G)
shared <- rep(unif[3 * n + 1:G], each = n / G) - 0.5
noise <- unif[2 * n + 1:n] - 0.5
y <- round(1 + 0.7 * x1 - 0.4 * x2 + 2 * shared + 1.5 * noise * (1 + abs(x1)), 3)
label <- as.integer(0.4 + 0.8 * x1 - 0.3 * x2 + 3 * shared + 4 * noise > 0)
w <- 0.5 + (seq_len(n) * 7) %% 13 / 4

clustered <- function(fit) {
  V <- vcovCL(fit, cluster = group, type = "HC1", cadjust = TRUE)
  found <- coeftest(fit, vcov. = V, df = G - 1)
  ends <- coefci(fit, vcov. = V, df = G - 1)
  list(covariance = V, estimate = found[, 1], std_error = found[, 2], statistic = found[, 3], p_value = found[, 4],
       low = ends[, 1], high = ends[, 2])
}
robust <- function(fit) {
  list(HC0 = vcovHC(fit, type = "HC0"), HC1 = vcovHC(fit, type = "HC1"), cluster = clustered(fit))
}
wald <- function(fit) {
  V <- vcovCL(fit, cluster = group, type = "HC1", cadjust = TRUE)
  b <- coef(fit)[-1]
  f <- drop(b %*% solve(V[-1, -1], b)) / length(b)
  list(f = one(f), p_value = one(pf(f, length(b), G - 1, lower.tail = FALSE)))
}
data <- data.frame(x1, x2, y, label, w)
tight <- glm.control(epsilon = 1e-15, maxit = 100)
plain <- lm(y ~ x1 + x2, data); weighted <- lm(y ~ x1 + x2, data, weights = w)
suppressWarnings({  # weights that are no counts
  logit <- glm(label ~ x1 + x2, binomial, data, control = tight)
  logit_w <- glm(label ~ x1 + x2, binomial, data, weights = w, control = tight)
})
new <- data.frame(x1 = c(0, 1.5), x2 = c(1, 2))
X <- cbind(1, new$x1, new$x2)
V <- vcovCL(plain, cluster = group, type = "HC1", cadjust = TRUE)
reach <- qt(0.975, G - 1) * sqrt(rowSums((X %*% V) * X))
fitted <- drop(X %*% coef(plain))
writeLines(json(list(
  provenance = list(R = one(as.character(getRversion())), sandwich = version("sandwich"), lmtest = version("lmtest")),
  data = list(x1 = x1, x2 = x2, y = y, label = label, w = w, group = group),
  lm = list(plain = c(robust(plain), wald = list(wald(plain))), weighted = c(robust(weighted), wald = list(wald(weighted))),
            new = list(x1 = new$x1, x2 = new$x2, fit = fitted, low = fitted - reach, high = fitted + reach)),
  glm = list(plain = robust(logit), weighted = robust(logit_w)))), file.path(here, "robust.json"))
