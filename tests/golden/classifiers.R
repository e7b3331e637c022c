# Expected values for classifiers, by R.    Rscript tests/golden/classifiers.R    writes classifiers.json beside this file.
#
# Layout.  {"provenance": {...}, "data": {<set>: {<column>: values}}, "logistic": {<set>: {...}},
#           "discriminant": {<set>: {...}}, "multinomial": {<set>: {...}}, "firth": {<set>: {...}},
#           "evaluation": {<set>: {...}}}
#
# data            columns in R's order of rows; labels are strings.  birthwt has black and other (0/1) beside race,
#                 pima is MASS::Pima.tr, crabs has label = sp:sex.  Everything below names its columns here.
#
# logistic.<set>  birthwt (low) and pima (type; "Yes" is 1): glm(binomial), epsilon = 1e-14, restarted
#   response, features, positive (the label coded 1, where labels are strings)
#   fit, weighted, no_intercept: the core below; weighted also has weights, 1 + (i mod 3), i = 1..n
#   core          terms, coefficients, std_error, statistic (z), p_value, covariance, deviance, null_deviance,
#                 log_likelihood, aic, bic, n, df_residual, df_null, fitted (the first ten probabilities).
#                 R's conventions: dispersion is 1, so a weight counts like repeated rows in coefficients, errors and
#                 likelihoods, but n (in bic and the degrees of freedom) counts rows, not weights.  Without an intercept the
#                 null model is probability 1/2, with no parameter.
#   robust        HC0, HC1 -> covariance, for fit and (under "weighted") for the weighted one: sandwich::vcovHC, that is
#                 V (sum of w^2 (y - p)^2 x x') V with V = covariance; HC1 is n / (n - terms) times it
#   profile       level, low, high: profile-likelihood intervals, roots of "deviance rises by the chi-squared quantile"
#                 found to 1e-10; mass_low, mass_high: confint of MASS, which interpolates (4 digits)
#   drop1         per feature: deviance without it, statistic, df, p_value
#   nested        small, big (features), statistic, df, p_value of anova(small, big, test = "Chisq")
#   rows          fitted, deviance_residual, pearson_residual, leverage, standardized_residual (deviance, rstandard),
#                 cooks_distance, each for all rows of fit
#
# discriminant.<set>  iris (Species) and crabs (label): MASS::lda and MASS::qda, method = "moment"
#   label, features, classes (order of every list and column), counts, means (classes x features),
#   covariance (pooled, divisor N - K), covariances (each class, divisor n_k - 1)
#   lda, qda (priors from the counts), lda_given, qda_given (priors as given): prior, posterior (rows x classes),
#   predicted; lda also scaling (features x discriminants; each column's sign is arbitrary) and svd
#
# multinomial.<set>   birthwt (race on age, lwt, smoke) and crabs (label on FL, RW): nnet::multinom
#   label, features, classes, reference (the first class: coefficients are log-odds of the others against it),
#   terms, coefficients, std_error (classes without the reference x terms), deviance, aic, edf: as nnet gives them;
#   newton        the same four after Newton steps from there, with gradient (its largest element): to 1e-10
#
# firth.<set>     endometrial (HG; NV separates: NV = 1 only where HG = 1, so maximum likelihood has no finite NV) and
#                 birthwt: brglm2's brglmFit, type = "AS_mean", epsilon = 1e-12
#   response, features, terms, coefficients, std_error, covariance (inverse information at the estimate), deviance (not
#   penalised), log_likelihood, penalized_log_likelihood (log_likelihood + log det(information) / 2), fitted (first ten),
#   score (largest element of Firth's adjusted score at the estimate)
#
# evaluation.<set>    of the probabilities in logistic.<set>.rows.fitted, cut at 1/2, positive = 1
#   matrix        [[TP, FN], [FP, TN]]
#   accuracy, precision, recall    value, low, high: Wilson's interval (prop.test without continuity correction), 95 %
#   roc_auc       value, variance: pROC, DeLong
#   log_loss, brier_score          value, error: mean over rows and its standard error
#
# All numbers are printed with 17 significant digits, which name one double.

suppressPackageStartupMessages({ library(MASS); library(nnet); library(brglm2); library(sandwich); library(pROC) })

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

numbers <- function(data) as.data.frame(lapply(data, function(v)
  if (is.numeric(v) || is.logical(v)) as.numeric(v) else as.character(v)))
data(endometrial, package = "brglm2")
sets <- list(
  birthwt = numbers(with(MASS::birthwt, data.frame(
    low, age, lwt, black = race == 2, other = race == 3, smoke, ptl, ht, ui, ftv,
    race = factor(race, labels = c("white", "black", "other"))))),
  pima = numbers(MASS::Pima.tr),
  iris = numbers(datasets::iris),
  crabs = numbers(with(MASS::crabs, data.frame(FL, RW, CL, CW, BD, label = paste(sp, sex, sep = ":")))),
  endometrial = numbers(endometrial))

# --- logistic regression --------------------------------------------------------------------------

tight <- glm.control(epsilon = 1e-14, maxit = 100)
# glm leaves the weights of the iteration before the last, and with them standard errors off by up to 6e-8 (birthwt, against
# 40-digit arithmetic).  Started anew at its own answer it leaves those of the answer: then 1e-13.
logit <- function(formula, data, weights = rep(1, nrow(data))) {
  environment(formula) <- environment()
  start <- coef(glm(formula, binomial, data, weights = weights, control = tight))
  fit <- glm(formula, binomial, data, weights = weights, control = tight, start = start)
  stopifnot(fit$converged)
  fit
}

core <- function(fit) {
  s <- summary(fit)
  list(terms = names(coef(fit)), coefficients = unname(coef(fit)), std_error = unname(s$coefficients[, 2]),
       statistic = unname(s$coefficients[, 3]), p_value = unname(s$coefficients[, 4]), covariance = unname(vcov(fit)),
       deviance = one(deviance(fit)), null_deviance = one(fit$null.deviance), log_likelihood = one(as.numeric(logLik(fit))),
       aic = one(AIC(fit)), bic = one(BIC(fit)), n = one(nobs(fit)), df_residual = one(df.residual(fit)),
       df_null = one(fit$df.null), fitted = unname(fitted(fit)[1:10]))
}

# On standardised columns, the same model, and mapped back: a sandwich of raw columns loses digits.
robust <- function(data, response, features, weights) {
  m <- vapply(data[features], mean, 0)
  s <- vapply(data[features], sd, 0)
  back <- rbind(c(1, -m / s), cbind(0, diag(1 / s)))
  data[features] <- scale(data[features])
  fit <- logit(reformulate(features, response), data, weights)
  lapply(c(HC0 = "HC0", HC1 = "HC1"), function(type) unname(back %*% vcovHC(fit, type = type) %*% t(back)))
}

# The end of a profile interval: where the deviance, at a given value of one coefficient, has risen by `rise`.
profile_end <- function(X, y, at, j, side, best, error, rise) {
  above <- function(b) {
    fit <- glm.fit(X[, -j, drop = FALSE], y, family = binomial(), offset = b * X[, j], control = tight)
    fit$deviance - best - rise
  }
  uniroot(above, sort(at + side * error * c(0.5, 2)), extendInt = if (side > 0) "upX" else "downX", tol = 1e-11 * error)$root
}

profile_interval <- function(fit, level = 0.95) {
  X <- model.matrix(fit)
  error <- sqrt(diag(vcov(fit)))
  end <- function(side) vapply(seq_along(coef(fit)), function(j)
    profile_end(X, fit$y, coef(fit)[j], j, side, deviance(fit), error[j], qchisq(level, 1)), 0)
  coarse <- suppressMessages(confint(fit, level = level))
  result <- list(level = one(level), low = end(-1), high = end(1),
                 mass_low = unname(coarse[, 1]), mass_high = unname(coarse[, 2]))
  stopifnot(max(abs(c(result$low, result$high) - c(coarse)) / error) < 1e-2)
  result
}

logistic <- function(data, response, features, small, positive = NULL) {
  if (!is.null(positive)) data[[response]] <- as.numeric(data[[response]] == positive)
  model <- reformulate(features, response)
  w <- 1 + seq_len(nrow(data)) %% 3
  fit <- logit(model, data)
  dropped <- drop1(fit, test = "Chisq")[-1, ]
  nested <- anova(logit(reformulate(small, response), data), fit, test = "Chisq")[2, ]
  c(list(response = one(response), features = features), if (!is.null(positive)) list(positive = one(positive)), list(
    fit = c(core(fit), list(robust = robust(data, response, features, rep(1, nrow(data))))),
    weighted = c(list(weights = w), core(logit(model, data, w)), list(robust = robust(data, response, features, w))),
    no_intercept = core(logit(reformulate(features, response, intercept = FALSE), data)),
    profile = profile_interval(fit),
    drop1 = list(deviance = dropped$Deviance, statistic = dropped$LRT, df = dropped$Df, p_value = dropped[["Pr(>Chi)"]]),
    nested = list(small = small, big = features, statistic = one(nested$Deviance), df = one(nested$Df),
                  p_value = one(nested[["Pr(>Chi)"]])),
    rows = list(fitted = unname(fitted(fit)), deviance_residual = unname(residuals(fit, "deviance")),
                pearson_residual = unname(residuals(fit, "pearson")), leverage = unname(hatvalues(fit)),
                standardized_residual = unname(rstandard(fit)), cooks_distance = unname(cooks.distance(fit)))))
}

# --- discriminants --------------------------------------------------------------------------------

discriminant <- function(data, label, given) {
  features <- setdiff(names(data), label)
  X <- as.matrix(data[features])
  g <- factor(data[[label]])
  covariances <- lapply(levels(g), function(k) unname(cov(X[g == k, ])))
  degrees <- table(g) - 1
  pooled <- Reduce(`+`, Map(`*`, covariances, degrees)) / sum(degrees)
  read <- function(fit) {
    p <- predict(fit, X)
    c(list(prior = unname(fit$prior), posterior = unname(p$posterior), predicted = as.character(p$class)),
      if (inherits(fit, "lda")) list(scaling = unname(fit$scaling), svd = unname(fit$svd)))
  }
  list(label = one(label), features = features, classes = levels(g), counts = as.numeric(table(g)),
       means = unname(lda(X, g)$means), covariance = pooled, covariances = covariances,
       lda = read(lda(X, g)), lda_given = read(lda(X, g, prior = given)),
       qda = read(qda(X, g)), qda_given = read(qda(X, g, prior = given)))
}

# --- several classes ------------------------------------------------------------------------------

multinomial <- function(data, label, features) {
  g <- factor(data[[label]])
  data$g <- g
  fit <- multinom(reformulate(features, "g"), data, Hess = TRUE, maxit = 10000, reltol = 1e-15, abstol = 0, trace = FALSE)
  stopifnot(fit$convergence == 0)
  X <- cbind(1, as.matrix(data[features]))
  Y <- outer(as.integer(g), 2:nlevels(g), `==`) + 0
  K <- ncol(Y)
  p <- ncol(X)
  B <- t(coef(fit))                                      # terms x classes
  for (step in 1:20) {
    eta <- X %*% B
    top <- pmax(apply(eta, 1, max), 0)
    P <- exp(eta - top) / (rowSums(exp(eta - top)) + exp(-top))
    gradient <- crossprod(X, Y - P)
    H <- matrix(0, p * K, p * K)
    for (a in 1:K) for (b in 1:K)
      H[(a - 1) * p + 1:p, (b - 1) * p + 1:p] <- crossprod(X, X * (P[, a] * ((a == b) - P[, b])))
    size <- sqrt(diag(H))
    V <- solve(H / outer(size, size), tol = 1e-20) / outer(size, size)
    if (step < 20) B <- B + matrix(V %*% c(gradient), p)
  }
  log_likelihood <- sum(Y * eta) - sum(log(rowSums(exp(eta - top)) + exp(-top)) + top)
  list(label = one(label), features = features, classes = levels(g), reference = one(levels(g)[1]),
       terms = colnames(coef(fit)), coefficients = unname(coef(fit)), std_error = unname(summary(fit)$standard.errors),
       deviance = one(deviance(fit)), aic = one(AIC(fit)), edf = one(fit$edf),
       newton = list(coefficients = unname(t(B)), std_error = unname(t(matrix(sqrt(diag(V)), p))),
                     deviance = one(-2 * log_likelihood), gradient = one(max(abs(gradient)))))
}

# --- Firth ----------------------------------------------------------------------------------------

firth <- function(data, response, features) {
  fit <- glm(reformulate(features, response), binomial, data, method = "brglmFit", type = "AS_mean",
             epsilon = 1e-12, maxit = 10000)
  stopifnot(fit$converged)
  X <- model.matrix(fit)
  p <- fitted(fit)
  information <- crossprod(X, X * (p * (1 - p)))
  V <- solve(information)
  leverage <- rowSums((X %*% V) * X) * p * (1 - p)
  log_likelihood <- -deviance(fit) / 2
  list(response = one(response), features = features, terms = names(coef(fit)), coefficients = unname(coef(fit)),
       std_error = unname(sqrt(diag(vcov(fit)))), covariance = unname(vcov(fit)), deviance = one(deviance(fit)),
       log_likelihood = one(log_likelihood),
       penalized_log_likelihood = one(log_likelihood + as.numeric(determinant(information)$modulus) / 2),
       fitted = unname(p[1:10]), score = one(max(abs(crossprod(X, fit$y - p + leverage * (0.5 - p))))))
}

# --- evaluation -----------------------------------------------------------------------------------

evaluation <- function(set, y) {
  p <- set$rows$fitted
  hit <- p >= 0.5
  tp <- sum(hit & y == 1); fn <- sum(!hit & y == 1); fp <- sum(hit & y == 0); tn <- sum(!hit & y == 0)
  wilson <- function(part, whole) {
    test <- prop.test(part, whole, correct = FALSE)
    list(value = one(part / whole), low = one(test$conf.int[1]), high = one(test$conf.int[2]))
  }
  over_rows <- function(loss) list(value = one(mean(loss)), error = one(sd(loss) / sqrt(length(loss))))
  curve <- roc(y, p, direction = "<", quiet = TRUE)
  list(matrix = matrix(as.numeric(c(tp, fp, fn, tn)), 2), accuracy = wilson(tp + tn, length(y)),
       precision = wilson(tp, tp + fp), recall = wilson(tp, tp + fn),
       roc_auc = list(value = one(as.numeric(auc(curve))), variance = one(var(curve, method = "delong"))),
       log_loss = over_rows(-log(ifelse(y == 1, p, 1 - p))), brier_score = over_rows((y - p)^2))
}

# --------------------------------------------------------------------------------------------------

risks <- c("age", "lwt", "black", "other", "smoke", "ptl", "ht", "ui", "ftv")
result <- list(
  provenance = list(
    generator = one("Rscript tests/golden/classifiers.R"), r = one(R.version.string),
    platform = one(R.version$platform), digits = one("%.17g"),
    packages = list(stats = version("stats"), datasets = version("datasets"), MASS = version("MASS"), nnet = version("nnet"),
                    brglm2 = version("brglm2"), sandwich = version("sandwich"), pROC = version("pROC"))),
  data = lapply(sets, as.list),
  logistic = list(
    birthwt = logistic(sets$birthwt, "low", risks, setdiff(risks, c("black", "other"))),
    pima = logistic(sets$pima, "type", setdiff(names(sets$pima), "type"), c("npreg", "glu", "bmi", "ped"), "Yes")),
  discriminant = list(
    iris = discriminant(sets$iris, "Species", c(0.2, 0.3, 0.5)),
    crabs = discriminant(sets$crabs, "label", c(0.1, 0.2, 0.3, 0.4))),
  multinomial = list(
    birthwt = multinomial(sets$birthwt, "race", c("age", "lwt", "smoke")),
    crabs = multinomial(sets$crabs, "label", c("FL", "RW"))),
  firth = list(
    endometrial = firth(sets$endometrial, "HG", c("NV", "PI", "EH")),
    birthwt = firth(sets$birthwt, "low", risks))
)
result$evaluation <- list(
  birthwt = evaluation(result$logistic$birthwt, sets$birthwt$low),
  pima = evaluation(result$logistic$pima, as.numeric(sets$pima$type == "Yes")))

writeLines(json(result), file.path(here, "classifiers.json"))
