# Expected values for least squares, by R.    Rscript tests/golden/lm.R    writes lm.json beside this file.
#
# Layout.  {"provenance": {...}, "data": {<set>: {...}}, "normality": [...], "durbin_watson": [...]}
#
# data.<set> for swiss, longley, stackloss, mtcars:
#   response, features       names; the model is response ~ all features, in this order, intercept first
#   data                     column name -> values, rows in R's order
#   fit                      the core numbers below, for lm(response ~ .)
#   weighted, zero_weighted  the same with weights 1 + (i mod 3), and (i mod 4), i = 1..n; plus "weights"
#   no_intercept             the same for lm(response ~ . - 1): R^2 and F are about zero, not about the mean
#   rank_deficient           the same after appending the column "copy" = the first feature; R aliases "copy" (null)
#   tests                    shapiro_wilk, lilliefors, anderson_darling, breusch_pagan, durbin_watson -> statistic, p_value
#   vif                      in the order of features: 1 / (1 - R^2 of the feature on the other features)
#   multi_response           responses, features, terms, and per response coefficients, std_error
# core: terms, coefficients, std_error, statistic, p_value, conf_low, conf_high (95 %), covariance, sigma, rss,
#   r_squared, adj_r_squared, f_statistic, f_df_model, f_df_residual, f_p_value, df_residual, rank, n (rows of positive
#   weight), log_likelihood, aic, bic, fitted, residuals (y - fitted, not weighted), hatvalues, rstandard, rstudent,
#   cooks_distance.  Row quantities that R leaves out for rows of weight 0 are null.
# fit and weighted also hold
#   prediction               new: column -> values; intervals: list of {kind, level, fit, low, high}
#   hc                       HC0..HC3 -> covariance (list of rows), sandwich::vcovHC
#   cluster                  groups, covariance: sandwich::vcovCL with its defaults for lm, type "HC1" and cadjust, that is
#                            G/(G-1) * (n-1)/(n-rank) times the plain sandwich of group sums of scores
#
# normality: list of {name, x, shapiro_wilk, lilliefors (n > 4), anderson_darling (n > 7)}, one for each branch of the
#   p-value formulas
# durbin_watson: list of {name, y, X (column -> values, without the constant), statistic, exact, normal}: p-values of
#   dwtest(alternative = "greater") with exact = TRUE (Pan's algorithm, 15 nodes) and exact = FALSE (normal)
#
# All numbers are printed with 17 significant digits, which name one double.  null is R's NA or NaN.

suppressPackageStartupMessages({ library(lmtest); library(nortest); library(sandwich) })

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

core <- function(fit) {
  s <- summary(fit)
  b <- coef(fit)
  known <- !is.na(b)
  spread <- function(v) { out <- rep(NA_real_, length(b)); out[known] <- v; out }
  ci <- suppressWarnings(confint(fit, level = 0.95))
  n <- length(fitted(fit))
  rows <- function(v) { out <- rep(NA_real_, n); names(out) <- names(fitted(fit)); out[names(v)] <- v; unname(out) }
  list(
    terms = names(b), coefficients = unname(b),
    std_error = spread(s$coefficients[, 2]), statistic = spread(s$coefficients[, 3]),
    p_value = spread(s$coefficients[, 4]), conf_low = unname(ci[, 1]), conf_high = unname(ci[, 2]),
    covariance = unname(vcov(fit, complete = FALSE)),
    sigma = one(s$sigma), rss = one(deviance(fit)), r_squared = one(s$r.squared), adj_r_squared = one(s$adj.r.squared),
    f_statistic = one(s$fstatistic[1]), f_df_model = one(s$fstatistic[2]), f_df_residual = one(s$fstatistic[3]),
    f_p_value = one(pf(s$fstatistic[1], s$fstatistic[2], s$fstatistic[3], lower.tail = FALSE)),
    df_residual = one(df.residual(fit)), rank = one(fit$rank), n = one(nobs(fit)),
    log_likelihood = one(as.numeric(logLik(fit))), aic = one(AIC(fit)), bic = one(BIC(fit)),
    fitted = unname(fitted(fit)), residuals = unname(residuals(fit)),
    hatvalues = rows(hatvalues(fit)), rstandard = rows(rstandard(fit)), rstudent = rows(rstudent(fit)),
    cooks_distance = rows(cooks.distance(fit))
  )
}

# A sandwich from raw columns loses digits where they are far from zero: on longley sandwich's own figures (HC0, HC3,
# clustered) are off by 7e-9 to 7e-7 against 50-digit arithmetic.  So it is taken on standardised columns, the same
# model, and mapped back to the raw terms; those three are then right to 1e-12.
on_raw_terms <- function(covariance, data) {
  m <- vapply(data, mean, 0)
  s <- vapply(data, sd, 0)
  back <- rbind(c(1, -m / s), cbind(0, diag(1 / s)))
  unname(back %*% covariance %*% t(back))
}

beyond_core <- function(fit, standardised, data, groups) {
  # Inside the cloud, at its edge, and outside it.
  new <- as.data.frame(lapply(data, function(v) c(mean(v), 1.1 * v[1], 2 * max(v) - min(v))))
  intervals <- list()
  for (kind in c("confidence", "prediction")) for (level in c(0.95, 0.8)) {
    p <- suppressWarnings(predict(fit, new, interval = kind, level = level))
    intervals[[length(intervals) + 1]] <-
      list(kind = one(kind), level = one(level), fit = unname(p[, 1]), low = unname(p[, 2]), high = unname(p[, 3]))
  }
  hc <- lapply(c(HC0 = "HC0", HC1 = "HC1", HC2 = "HC2", HC3 = "HC3"), function(type)
    on_raw_terms(vcovHC(standardised, type = type), data))
  list(prediction = list(new = as.list(new), intervals = intervals), hc = hc,
       cluster = list(groups = groups, covariance = on_raw_terms(vcovCL(standardised, cluster = groups), data)))
}

outcome <- function(test) list(statistic = one(as.numeric(test$statistic)), p_value = one(as.numeric(test$p.value)))

one_set <- function(data, response) {
  data <- data.frame(lapply(data, as.numeric))           # integer columns print and compute as doubles
  features <- setdiff(names(data), response)
  data <- data[c(response, features)]
  i <- seq_len(nrow(data))
  model <- reformulate(features, response)
  w <- 1 + i %% 3
  w0 <- i %% 4
  environment(model) <- environment()
  fit <- lm(model, data)
  weighted <- lm(model, data, weights = w)
  groups <- i %% 5
  scaled <- data
  scaled[features] <- scale(data[features])
  copied <- cbind(data, copy = data[[features[1]]])
  Y <- as.matrix(data[c(response, features[1])])
  multi <- lm(reformulate(features[-1], "Y"), data)
  list(
    response = one(response), features = features, data = as.list(data),
    fit = c(core(fit), beyond_core(fit, lm(model, scaled), data[features], groups)),
    weighted = c(list(weights = w), core(weighted),
                 beyond_core(weighted, lm(model, scaled, weights = w), data[features], groups)),
    zero_weighted = c(list(weights = w0), core(lm(model, data, weights = w0))),
    no_intercept = core(lm(reformulate(features, response, intercept = FALSE), data)),
    rank_deficient = core(lm(reformulate(c(features, "copy"), response), copied)),
    tests = list(
      shapiro_wilk = outcome(shapiro.test(residuals(fit))), lilliefors = outcome(lillie.test(residuals(fit))),
      anderson_darling = outcome(ad.test(residuals(fit))), breusch_pagan = outcome(bptest(fit, studentize = TRUE)),
      durbin_watson = outcome(dwtest(fit))),
    vif = vapply(features, function(f)
      1 / (1 - summary(lm(reformulate(setdiff(features, f), f), data))$r.squared), 0, USE.NAMES = FALSE),
    multi_response = list(
      responses = colnames(Y), features = features[-1], terms = rownames(coef(multi)),
      coefficients = lapply(as.data.frame(coef(multi)), unname),
      std_error = setNames(lapply(summary(multi), function(s) unname(s$coefficients[, 2])), colnames(Y)))
  )
}

normality <- function(name, x) c(
  list(name = one(name), x = x, shapiro_wilk = outcome(shapiro.test(x))),
  if (length(x) > 4) list(lilliefors = outcome(lillie.test(x))),
  if (length(x) > 7) list(anderson_darling = outcome(ad.test(x))))
quantiles <- function(n, q, ...) q((seq_len(n) - 0.5) / n, ...)

dw <- function(name, y, X) {
  fit <- lm(y ~ ., data.frame(y = y, X))
  exact <- dwtest(fit, exact = TRUE)
  list(name = one(name), y = y, X = as.list(X), statistic = one(as.numeric(exact$statistic)),
       exact = one(as.numeric(exact$p.value)), normal = one(as.numeric(dwtest(fit, exact = FALSE)$p.value)))
}
series <- function(x) { t <- as.numeric(time(x)); list(y = as.numeric(x), X = data.frame(time = t)) }
dw_series <- function(name, x) { s <- series(x); dw(name, s$y, s$X) }

result <- list(
  provenance = list(
    generator = one("Rscript tests/golden/lm.R"), r = one(R.version.string),
    platform = one(R.version$platform), digits = one("%.17g"),
    packages = list(stats = version("stats"), datasets = version("datasets"), lmtest = version("lmtest"),
                    nortest = version("nortest"), sandwich = version("sandwich"))),
  data = list(
    swiss = one_set(datasets::swiss, "Fertility"), longley = one_set(datasets::longley, "Employed"),
    stackloss = one_set(datasets::stackloss, "stack.loss"), mtcars = one_set(datasets::mtcars, "mpg")),
  normality = list(
    normality("three", c(1, 2, 4)), normality("three, two alike", c(1, 1, 4)), normality("four", c(0, 1, 3, 4.5)),
    normality("five", c(3, -1, 4, 1.5, 9)), normality("seven and an outlier", c(1, 2, 3, 4, 5, 6, 1000)),
    normality("one of eleven", c(rep(0, 10), 1)), normality("eleven", as.numeric(datasets::women$height[1:11])^4),
    normality("twelve", c(2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)),
    normality("normal quantiles, n = 8", quantiles(8, qnorm)),
    normality("normal quantiles, n = 400", quantiles(400, qnorm)),
    normality("uniform quantiles, n = 30", quantiles(30, qunif)),
    normality("uniform quantiles, n = 60", quantiles(60, qunif)),
    normality("logistic quantiles, n = 50", quantiles(50, qlogis)),
    normality("t(5) quantiles, n = 60", quantiles(60, qt, df = 5)),
    normality("t(3) quantiles, n = 150", quantiles(150, qt, df = 3)),
    normality("gamma(4) quantiles, n = 25", quantiles(25, qgamma, shape = 4)),
    normality("exponential quantiles, n = 40", quantiles(40, qexp)),
    normality("exponential quantiles, n = 500", quantiles(500, qexp)),
    normality("t(1) quantiles, n = 100", quantiles(100, qt, df = 1)),
    normality("ties, n = 24", rep(c(1, 2, 2, 3, 3, 3, 4, 9), 3)),
    normality("speed of cars", as.numeric(datasets::cars$speed)),
    normality("rivers", as.numeric(datasets::rivers)),
    normality("ozone", as.numeric(na.omit(datasets::airquality$Ozone)))),
  durbin_watson = list(
    dw_series("LakeHuron", datasets::LakeHuron), dw_series("Nile", datasets::Nile), dw_series("lynx", datasets::lynx),
    dw_series("uspop", datasets::uspop), dw_series("airmiles", datasets::airmiles),
    dw("cars", datasets::cars$dist, datasets::cars["speed"]),
    dw("airquality", na.omit(datasets::airquality)$Ozone, na.omit(datasets::airquality)[c("Solar.R", "Wind", "Temp")]))
)

writeLines(json(result), file.path(here, "lm.json"))
