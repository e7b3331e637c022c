# Expected values on more data sets, by R.    Rscript tests/golden/sets.R    writes sets.json beside this file.
#
# Layout.  {"provenance": {...}, "linear": [...], "logistic": [...], "multinomial": [...], "discriminant": [...],
#           "chow": [...]}
# Every case holds its data (column -> values; a missing number is null; text columns are factors with their levels in the
# order of the alphabet; w are the weights, where there are any) and the formula as R and linearly spell it.
#
# linear        lm: terms, coefficients (NA is null), std_error, statistic, p_value, conf_low, conf_high (90 %), glance, rows
#               (of the rows that are kept, weight 0 included), prediction (new rows, intervals at 90 %), hc (std_error
#               by HC0..HC3 of the rows of positive weight), nested (small, and the F test against it)
# logistic      glm, restarted at its own answer: the same, without what there is none of; profile (90 %, roots to 1e-11);
#               bic of the rows of positive weight, since BIC of R counts the others too, as nobs does not
# multinomial   nnet::multinom, then Newton steps: coefficients, std_error (classes without the first x terms), deviance
# discriminant  MASS::lda and qda with priors given: prior, posterior of all rows
# chow          two fits by a column group (0, 1): F test that they share their coefficients, and by term the change
#
# All numbers are printed with 17 significant digits, which name one double.  null is R's NA or NaN.

suppressPackageStartupMessages({ library(MASS); library(nnet); library(sandwich) })

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

plain <- function(d, w = NULL) {
  d <- as.data.frame(lapply(as.list(d), function(v)
    if (is.numeric(v)) as.numeric(v) else factor(as.character(v), sort(unique(as.character(v)), method = "radix"))))
  if (!is.null(w)) d$w <- as.numeric(w)
  d
}
columns <- function(d) lapply(as.list(d), function(v) if (is.factor(v)) as.character(v) else v)
ours <- function(r) gsub("factor(", "C(", gsub("TRUE", "True", r, fixed = TRUE), fixed = TRUE)
head_of <- function(r, d) list(r = one(r), formula = one(ours(r)), weighted = one(as.numeric("w" %in% names(d))), data = columns(d))
here_formula <- function(r, where) { f <- as.formula(r); environment(f) <- where; f }

# By term, for all terms: null where R says NA.
by_term <- function(fit, ci) {
  b <- coef(fit)
  s <- summary(fit)$coefficients
  spread <- function(v) { out <- rep(NA_real_, length(b)); out[!is.na(b)] <- v; out }
  list(terms = names(b), coefficients = unname(b), std_error = spread(s[, 2]), statistic = spread(s[, 3]),
       p_value = spread(s[, 4]), conf_low = unname(ci[, 1]), conf_high = unname(ci[, 2]))
}
by_row <- function(fit, v) { out <- setNames(rep(NA_real_, length(fitted(fit))), names(fitted(fit))); out[names(v)] <- v; unname(out) }

linear <- function(data, r, w = NULL, small = NULL) {
  d <- plain(data, w)
  f <- here_formula(r, environment())
  fit <- if (is.null(w)) lm(f, d) else lm(f, d, weights = w)
  s <- summary(fit)
  new <- na.omit(d)[c(1, 3, nrow(na.omit(d))), ]
  interval <- function(kind) { p <- suppressWarnings(predict(fit, new, interval = kind, level = 0.9))
    list(fit = unname(p[, 1]), low = unname(p[, 2]), high = unname(p[, 3])) }
  there <- if (is.null(w)) fit else { d <- d[d$w > 0, ]; lm(f, d, weights = w) }   # vcovHC recycles past weights of 0
  robust <- function(type) if (anyNA(coef(fit))) numeric() else suppressWarnings(unname(sqrt(diag(vcovHC(there, type)))))
  nested <- if (is.null(small)) NULL else {
    d <- plain(data, w)
    g <- here_formula(small, environment())
    a <- anova(if (is.null(w)) lm(g, d) else lm(g, d, weights = w), fit)
    list(nested = list(small = one(ours(small)), statistic = one(a$F[2]), df = one(a$Df[2]), p_value = one(a[["Pr(>F)"]][2]))) }
  c(head_of(r, plain(data, w)), by_term(fit, suppressWarnings(confint(fit, level = 0.9))), list(
    glance = list(r_squared = one(s$r.squared), adj_r_squared = one(s$adj.r.squared), sigma = one(s$sigma),
                  f_statistic = one(s$fstatistic[1]), df_residual = one(df.residual(fit)), n = one(nobs(fit)),
                  log_likelihood = one(as.numeric(logLik(fit))), aic = one(AIC(fit)), bic = one(BIC(fit))),
    rows = list(fitted = unname(fitted(fit)), residual = unname(residuals(fit)), leverage = by_row(fit, hatvalues(fit)),
                standardized_residual = by_row(fit, rstandard(fit)), studentized_residual = by_row(fit, rstudent(fit)),
                cooks_distance = by_row(fit, cooks.distance(fit))),
    prediction = list(new = columns(new), confidence = interval("confidence"), prediction = interval("prediction")),
    hc = lapply(c(HC0 = "HC0", HC1 = "HC1", HC2 = "HC2", HC3 = "HC3"), robust)), nested)
}

tight <- glm.control(epsilon = 1e-14, maxit = 100)
profile_end <- function(X, fit, j, side) {
  error <- sqrt(vcov(fit)[j, j])
  above <- function(b) glm.fit(X[, -j, drop = FALSE], fit$y, fit$prior.weights, offset = b * X[, j], family = binomial(),
                               control = tight)$deviance - deviance(fit) - qchisq(0.9, 1)
  uniroot(above, sort(coef(fit)[j] + side * error * c(0.5, 2)), extendInt = if (side > 0) "upX" else "downX",
          tol = 1e-11 * error)$root
}
logistic <- function(data, r, w = NULL, small) {
  d <- plain(data, w)
  label <- all.vars(as.formula(r))[1]
  shown <- d
  d[[label]] <- as.numeric(d[[label]] == levels(d[[label]])[2])
  if (is.null(w)) d$w <- 1
  f <- here_formula(r, environment())
  start <- coef(glm(f, binomial, d, weights = w, control = tight))
  fit <- glm(f, binomial, d, weights = w, control = tight, start = start)
  stopifnot(fit$converged)
  X <- model.matrix(fit)
  a <- anova(glm(here_formula(small, environment()), binomial, d, weights = w, control = tight), fit, test = "Chisq")[2, ]
  end <- function(side) vapply(seq_len(ncol(X)), function(j) profile_end(X, fit, j, side), 0)
  c(head_of(r, shown), by_term(fit, confint.default(fit, level = 0.9)), list(
    glance = list(deviance = one(deviance(fit)), null_deviance = one(fit$null.deviance), n = one(nobs(fit)),
                  df_residual = one(df.residual(fit)), log_likelihood = one(as.numeric(logLik(fit))), aic = one(AIC(fit)),
                  bic = one(log(nobs(fit)) * length(start) + AIC(fit) - 2 * length(start))),
    rows = list(probability = unname(fitted(fit)), deviance_residual = unname(residuals(fit, "deviance")),
                pearson_residual = unname(residuals(fit, "pearson")), leverage = by_row(fit, hatvalues(fit)),
                standardized_residual = by_row(fit, rstandard(fit)), cooks_distance = by_row(fit, cooks.distance(fit))),
    profile = list(conf_low = end(-1), conf_high = end(1)),
    nested = list(small = one(ours(small)), statistic = one(a$Deviance), df = one(a$Df), p_value = one(a[["Pr(>Chi)"]]))))
}

multinomial <- function(data, r, w) {
  d <- plain(data, w)
  f <- here_formula(r, environment())
  fit <- multinom(f, d, weights = w, maxit = 10000, reltol = 1e-15, abstol = 0, trace = FALSE)
  X <- model.matrix(f, d)
  g <- d[[all.vars(f)[1]]]
  Y <- outer(as.integer(g), 2:nlevels(g), `==`) + 0
  K <- ncol(Y); p <- ncol(X); B <- t(coef(fit))
  for (step in 1:20) {
    E <- exp(X %*% B)
    P <- E / (1 + rowSums(E))
    H <- do.call(rbind, lapply(1:K, function(a) do.call(cbind, lapply(1:K, function(b)
      crossprod(X, X * (w * P[, a] * ((a == b) - P[, b])))))))
    if (step < 20) B <- B + matrix(solve(H, c(crossprod(X, w * (Y - P)))), p)
  }
  stopifnot(max(abs(crossprod(X, w * (Y - P)))) < 1e-10)
  deviance <- -2 * sum(w * log(rowSums(cbind(1 - rowSums(Y), Y) * cbind(1 - rowSums(P), P))))
  stopifnot(abs(deviance - deviance(fit)) < 1e-6)
  c(head_of(r, d), list(reference = one(levels(g)[1]), coefficients = unname(t(B)),
    std_error = unname(t(matrix(sqrt(diag(solve(H))), p))), deviance = one(deviance), aic = one(deviance + 2 * p * K)))
}

discriminant <- function(data, label, prior) {
  d <- plain(data)
  X <- as.matrix(d[setdiff(names(d), label)])
  list(data = columns(d), label = one(label), prior = prior, lda = unname(predict(lda(X, d[[label]], prior), X)$posterior),
       qda = unname(predict(qda(X, d[[label]], prior), X)$posterior))
}

chow <- function(data, r, group) {
  d <- plain(data)
  d$group <- as.numeric(group)
  fits <- lapply(0:1, function(k) lm(as.formula(r), d[d$group == k, ]))
  s <- lapply(fits, function(fit) summary(fit)$coefficients)
  k <- length(coef(fits[[1]])); df <- nrow(d) - 2 * k
  apart <- deviance(fits[[1]]) + deviance(fits[[2]])
  statistic <- (deviance(lm(as.formula(r), d)) - apart) / k / (apart / df)
  list(data = columns(d), formula = one(r), statistic = one(statistic), df1 = one(k), df2 = one(df),
       p_value = one(pf(statistic, k, df, lower.tail = FALSE)), change = unname(s[[2]][, 1] - s[[1]][, 1]),
       std_error = unname(sqrt(s[[1]][, 2]^2 + s[[2]][, 2]^2)))
}

# The zone "0" is found only where Ozone is missing, so in no row that lm keeps; it would be the reference.
air <- airquality[c("Ozone", "Temp", "Wind", "Month")]
air$zone <- ifelse(is.na(air$Ozone), "0", c("a", "b", "c")[1 + seq_len(nrow(air)) %% 3])
girls <- rbind(data.frame(menarche["Age"], y = "yes", n = menarche$Menarche),
               data.frame(menarche["Age"], y = "no", n = menarche$Total - menarche$Menarche))
tumours <- transform(Melanoma[c("status", "thickness", "ulcer", "sex")], dead = ifelse(status == 1, "yes", "no"))
steroids <- transform(Cushings, Tetrahydrocortisone = log(Tetrahydrocortisone), Pregnanetriol = log(Pregnanetriol))

result <- list(
  provenance = list(generator = one("Rscript tests/golden/sets.R"), r = one(R.version.string),
                    platform = one(R.version$platform), digits = one("%.17g"),
                    packages = list(stats = version("stats"), datasets = version("datasets"), MASS = version("MASS"),
                                    nnet = version("nnet"), sandwich = version("sandwich"))),
  linear = list(
    airquality = linear(air, "Ozone ~ zone * scale(Temp) + Wind + factor(Month)"),
    warpbreaks = linear(warpbreaks, "breaks ~ wool * tension", w = seq_len(54) %% 4, small = "breaks ~ wool + tension"),
    whiteside = linear(whiteside, "Gas ~ Insul * poly(Temp, 2, raw = TRUE)", small = "Gas ~ Insul + poly(Temp, 2, raw = TRUE)"),
    hills = linear(hills, "time ~ dist + climb - 1", w = 1 / hills$dist^2, small = "time ~ dist - 1"),
    genotype = linear(genotype, "Wt ~ Litter * Mother", small = "Wt ~ Litter + Mother"),
    Cars93 = linear(Cars93[c("Price", "Type", "Cylinders", "Horsepower")], "Price ~ Type * Cylinders + Horsepower"),
    anscombe = linear(anscombe, "y4 ~ x4")),
  logistic = list(
    menarche = logistic(girls[c("y", "Age")], "y ~ Age + I(Age^2)", w = girls$n, small = "y ~ Age"),
    UCBAdmissions = logistic(as.data.frame(UCBAdmissions)[1:3], "Admit ~ Gender * Dept", as.data.frame(UCBAdmissions)$Freq,
                             small = "Admit ~ Gender + Dept"),
    Melanoma = logistic(tumours, "dead ~ log(thickness) * ulcer + sex", small = "dead ~ log(thickness) + ulcer"),
    bacteria = logistic(bacteria[c("y", "trt", "week")], "y ~ trt * week", small = "y ~ trt + week")),
  multinomial = list(housing = multinomial(housing[c("Sat", "Infl", "Type", "Cont")], "Sat ~ Infl * Cont + Type", housing$Freq)),
  discriminant = list(
    Cushings = discriminant(steroids, "Type", c(0.1, 0.2, 0.3, 0.4)),
    synth = discriminant(synth.tr, "yc", c(0.8, 0.2))),
  chow = list(whiteside = chow(whiteside, "Gas ~ Temp", whiteside$Insul == "After"),
              quakes = chow(quakes[seq(1, 1000, by = 10), ], "mag ~ stations + depth", quakes$long[seq(1, 1000, by = 10)] > 180))
)
writeLines(json(result), file.path(here, "sets.json"))
