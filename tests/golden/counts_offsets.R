# Counts, offsets and intervals in formulas.    Rscript tests/golden/counts_offsets.R    writes counts_offsets.json.
#
# 120 rows by a congruential generator: numbers x and z > 0, categories a (three levels, unequal) and b (two), a numeric
# target y, labels `label`, and binomial counts s of n trials, some of them 0.
#   lm      offset(log(z)) and cut()
#   glm     binomial, of labels with an offset; of cbind(s, f) with and without; of proportions with weights
# Of each fit: coefficients, standard errors, deviances, log likelihood, AIC, residual degrees of freedom, fitted values
# (response), residuals, leverages, predictions for `new` rows with standard errors (link), type II tests,
# sandwich's HC0 and HC3, and the average effect of x with its delta-method standard error.
suppressPackageStartupMessages({ library(car); library(sandwich); library(emmeans) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
n <- 120; state <- 4242
draw <- function() { state <<- (state * 1103 + 12345) %% 65536; state / 65536 }
u <- matrix(replicate(7 * n, draw()), n)
a <- c("p", "q", "r")[1 + (u[, 1] > 0.5) + (u[, 1] > 0.8)]
b <- c("m", "w")[1 + (u[, 2] > 0.35)]
x <- round(4 * u[, 3] - 2, 3)
z <- round(0.5 + 4 * u[, 4], 3)
noise <- u[, 5] + u[, 6] - 1
y <- round(1 + 0.7 * x + log(z) + 0.5 * (a == "q") - 0.3 * (b == "w") + noise, 3)
label <- ifelse(0.8 * x + log(z) - 0.5 + 3 * noise + 0.4 * (a == "r") > 0, "yes", "no")
trials <- floor(9 * u[, 7])
s <- pmin(trials, round(trials * plogis(0.9 * x + 0.5 * (a == "q") + 0.6 * log(z) - 0.5 + noise)))
f <- trials - s
share <- ifelse(trials > 0, s / pmax(trials, 1), 0)
d <- data.frame(a, b, x, z, y, label, s, f, n = trials, share)
new <- data.frame(a = c("p", "q", "r"), b = c("m", "w", "m"), x = c(-1.5, 0, 1.25), z = c(0.7, 2, 4))
tight <- glm.control(epsilon = 1e-15, maxit = 100)
polished <- function(formula, data, w = rep(1, nrow(data))) {  # one more step: the covariance is that of the solution
  data$w <- w
  once <- do.call(glm, list(formula, binomial, data, weights = quote(w), control = tight))
  do.call(glm, list(formula, binomial, data, weights = quote(w), control = tight, start = coef(once)))
}

effect_of_x <- function(fit) {  # of a linear predictor b0 + … + bx x: the slope is bx p (1 - p)
  X <- model.matrix(fit); p <- fitted(fit); w <- weights(fit, "prior")
  w <- if (is.null(w)) rep(1, nrow(X)) else as.numeric(w > 0)  # a row with trials counts once
  bx <- coef(fit)["x"]; v <- p * (1 - p)
  value <- sum(w * bx * v) / sum(w)
  J <- colSums(w * bx * v * (1 - 2 * p) * X) / sum(w)
  J["x"] <- J["x"] + sum(w * v) / sum(w)
  c(value, sqrt(drop(t(J) %*% vcov(fit) %*% J)))
}
of_glm <- function(formula, fit) {
  link <- predict(fit, new, se.fit = TRUE)
  list(formula = one(formula), coef = coef(fit), std_error = sqrt(diag(vcov(fit))), deviance = one(deviance(fit)),
       null_deviance = one(fit$null.deviance), log_likelihood = one(as.numeric(logLik(fit))), aic = one(AIC(fit)),
       bic = one(BIC(fit)), df_residual = one(fit$df.residual), fitted = fitted(fit), deviance_residual = residuals(fit),
       pearson_residual = residuals(fit, "pearson"), leverage = hatvalues(fit), new = plogis(link$fit),
       new_error = link$se.fit, anova = Anova(fit, type = 2)[, "LR Chisq"], effect = effect_of_x(fit),
       HC0 = sqrt(diag(vcovHC(fit, type = "HC0"))), HC3 = sqrt(diag(vcovHC(fit, type = "HC3"))))
}
of_lm <- function(formula, fit) {
  at <- predict(fit, new, interval = "confidence")
  table <- Anova(fit, type = 2)
  list(formula = one(formula), coef = coef(fit), std_error = sqrt(diag(vcov(fit))), sigma = one(summary(fit)$sigma),
       log_likelihood = one(as.numeric(logLik(fit))), fitted = fitted(fit),
       leverage = hatvalues(fit), new = at[, "fit"], low = at[, "lwr"], high = at[, "upr"],
       anova = head(table[, "Sum Sq"], -1))
}
d$label01 <- as.integer(d$label == "yes")
used <- d[d$n > 0, ]
# predict() would cut the new rows by their own range: give lm the breaks that cut(x, 4) has for the rows of the fit.
four <- seq(min(d$x), max(d$x), length.out = 5) + c(-1, 0, 0, 0, 1) * diff(range(d$x)) / 1000
stopifnot(identical(levels(cut(d$x, 4)), levels(cut(d$x, four))))
linear <- list(
  of_lm("y ~ x + a + offset(log(z))", lm(y ~ x + a + offset(log(z)), d)),
  of_lm("y ~ a*b + offset(z) + offset(0.5 * x)", lm(y ~ a * b + offset(z) + offset(0.5 * x), d)),
  of_lm("y ~ cut(x, c(-Inf, -1, 0.5, Inf)) + b", lm(y ~ cut(x, c(-Inf, -1, 0.5, Inf)) + b, d)),
  of_lm("y ~ cut(x, 4) + z", lm(y ~ cut(x, four) + z, d)),
  of_lm("y ~ b + cut(z, c(0, 2, 5), right=FALSE):x", lm(y ~ b + cut(z, c(0, 2, 5), right = FALSE):x, d)),
  of_lm("y ~ 0 + cut(z, breaks=c(0.5, 1, 3, 5), include.lowest=T)",
        lm(y ~ 0 + cut(z, breaks = c(0.5, 1, 3, 5), include.lowest = T), d)))
binomial_fits <- list(
  of_glm("label ~ x + a + offset(log(z))", polished(label01 ~ x + a + offset(log(z)), data = d)),
  of_glm("label ~ 0 + x + b + offset(z / 2)", polished(label01 ~ 0 + x + b + offset(z / 2), data = d)),
  of_glm("cbind(s, f) ~ x + a + b", polished(cbind(s, f) ~ x + a + b, data = used)),
  of_glm("cbind(s, n - s) ~ x + a + offset(log(z))", polished(cbind(s, n - s) ~ x + a + offset(log(z)), data = used)),
  of_glm("share ~ x + a", polished(share ~ x + a, data = used, w = used$n)))
means <- as.data.frame(summary(emmeans(polished(label01 ~ x + a + offset(log(z)), data = d), "a", at = list(x = 0.5)),
                               type = "response"))
writeLines(json(list(
  provenance = list(R = one(as.character(getRversion())), car = version("car"), sandwich = version("sandwich"),
                    emmeans = version("emmeans")),
  data = as.list(d[, names(d) != "label01"]), new = as.list(new), linear = linear, binomial = binomial_fits,
  means = list(a = as.character(means$a), estimate = means$prob, std_error = means$SE, conf_low = means$asymp.LCL,
               conf_high = means$asymp.UCL))), file.path(here, "counts_offsets.json"))
