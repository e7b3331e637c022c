# Small-sample, two-way and HAC covariances.    Rscript tests/golden/covariances.R    writes covariances.json.
#
# The data of robust.json: x1, x2, y, label, w and group; `second` is another grouping (7 groups). Rows 1 to 60 for the
# small-sample tests, whose degrees of freedom matter there: clubSandwich::coef_test (Satterthwaite) and Wald_test (HTZ),
# with each row a cluster (HC2 = CR2, HC3 = CR3) and with 12 groups. CR2 and CR3 of the weighted fit have clubSandwich's
# working model of equal variances; HC2 and HC3, as in sandwich, that of variances 1/w: a fit of sqrt(w) times the data.
#   hac     sandwich::NeweyWest, prewhite FALSE, adjust TRUE, lags 0, 3 and 7
#   twoway  sandwich::vcovCL by group and second, type HC1 (cadjust) and HC0 without it
#   glm     sandwich::vcovHC HC2 and HC3, NeweyWest; clubSandwich CR3
#   logit   clubSandwich CR2 and CR3 with coef_test, of binary rows, weighted ones, and counts with 24 groups

suppressPackageStartupMessages({ library(sandwich); library(clubSandwich); library(jsonlite) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
d <- as.data.frame(fromJSON(file.path(here, "robust.json"))$data)
d$second <- (seq_len(nrow(d)) * 11) %% 7
small <- d[1:60, ]
plain <- lm(y ~ x1 + x2, small)
s <- sqrt(small$w)
whitened <- lm(I(s * small$y) ~ 0 + s + I(s * small$x1) + I(s * small$x2))
weighted <- lm(y ~ x1 + x2, small, weights = w)

corrected <- function(fit, cluster, type) {
  V <- vcovCR(fit, cluster = cluster, type = type)
  found <- as.data.frame(coef_test(fit, V, test = "Satterthwaite"))
  joint <- as.data.frame(Wald_test(fit, constrain_zero(2:3), V, test = "HTZ"))
  contrast <- as.data.frame(Wald_test(fit, matrix(c(0, 1, -1), 1), V, test = "HTZ"))  # of one row: Satterthwaite's
  list(covariance = matrix(V, 3), df = found$df_Satt, p_value = found$p_Satt, f = one(joint$Fstat),
       df_f = one(joint$df_denom), f_p_value = one(joint$p_val), contrast_df = one(contrast$df_denom))
}
small_sample <- function(fit, whitened) list(
  HC2 = corrected(whitened, 1:60, "CR2"), HC3 = corrected(whitened, 1:60, "CR3"),
  CR2 = corrected(fit, small$group, "CR2"), CR3 = corrected(fit, small$group, "CR3"))

full <- lm(y ~ x1 + x2, d)
hac <- function(fit, lags) matrix(NeweyWest(fit, lag = lags, prewhite = FALSE, adjust = TRUE), 3)
both <- d[c("group", "second")]
tight <- glm.control(epsilon = 1e-15, maxit = 100)
binary <- function(fit, cluster) {
  of <- function(type) {
    V <- vcovCR(fit, cluster, type = type)
    list(covariance = matrix(V, 3), df = coef_test(fit, V)$df_Satt)
  }
  list(CR2 = of("CR2"), CR3 = of("CR3"))
}
d$n <- 3 + seq_len(nrow(d)) %% 5
d$k <- pmin(d$n, (((seq_len(nrow(d)) * 7) %% 6) * (1 + d$label)) %/% 2)
logit <- glm(label ~ x1 + x2, binomial, d, control = tight)
weighted_logit <- suppressWarnings(glm(label ~ x1 + x2, binomial, d, weights = w, control = tight))
counts <- glm(cbind(k, n - k) ~ x1 + x2, binomial, d, control = tight)
writeLines(json(list(
  provenance = list(R = one(as.character(getRversion())), sandwich = version("sandwich"),
                    clubSandwich = version("clubSandwich")),
  small = list(plain = small_sample(plain, plain), weighted = small_sample(weighted, whitened)),
  hac = list(lag0 = hac(full, 0), lag3 = hac(full, 3), lag7 = hac(full, 7)),
  twoway = list(CR1 = matrix(vcovCL(full, cluster = both, type = "HC1", cadjust = TRUE), 3),
                CR0 = matrix(vcovCL(full, cluster = both, type = "HC0", cadjust = FALSE), 3)),
  clusters = list(CR0 = matrix(vcovCR(full, d$group, type = "CR0"), 3), CR1 = matrix(vcovCR(full, d$group, type = "CR1S"), 3),
                  CR2 = matrix(vcovCR(full, d$group, type = "CR2"), 3), CR3 = matrix(vcovCR(full, d$group, type = "CR3"), 3)),
  glm = list(HC2 = matrix(vcovHC(logit, "HC2"), 3), HC3 = matrix(vcovHC(logit, "HC3"), 3), HAC = hac(logit, 3),
             twoway = matrix(vcovCL(logit, cluster = both, type = "HC1", cadjust = TRUE), 3),
             CR3 = matrix(vcovCR(logit, d$group, type = "CR3"), 3)),
  logit = list(plain = binary(logit, d$group), weighted = binary(weighted_logit, d$group),
               counts = binary(counts, d$group %% 24)))), file.path(here, "covariances.json"))
