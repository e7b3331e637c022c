# Expected values for terms that rows do not determine, by R.    Rscript tests/golden/identified.R    writes
# identified.json beside this file.
#
# Layout.  {"provenance": {...}, "mtcars": {...}, "endometrial": {...}, <case>: {...}}
#   mtcars, endometrial      column -> values; endometrial is that of brglm2 (G. Heinze, M. Schemper 2002)
#   linear.<case>            formula, terms, coefficients, std_error, p_value (null where R sets a term aside), rss,
#                            df_residual, fitted; lm
#   logistic.<case>          the same of a rank-deficient glm, with deviance and aic in place of rss
#   separated.<case>         formula, terms, of data mtcars (separable) or endometrial (quasi-separable):
#     deviance               of glm, its maximum being none
#     tied, tied_deviance    glm without the column that has no finite estimate, on the rows that are left
#     firth                  coefficients, std_error, p_value: brglm2::brglmFit, type "AS_mean" (D. Firth 1993)
#     lrt                    terms, statistic, p_value: drop1(test = "LRT")
#   nested                   statistic, df, p_value of anova(lm(mpg ~ cyl), lm(mpg ~ factor(cyl)))
#
# Columns of mtcars beside R's own: tot = hp + wt, both = wt + mpg.

suppressPackageStartupMessages(library(brglm2))

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

cars <- transform(mtcars, tot = hp + wt, both = wt + mpg)
data(endometrial, package = "brglm2")

spread <- function(fit, column) {
  out <- coef(fit)
  out[] <- NA
  found <- summary(fit)$coefficients
  out[rownames(found)] <- found[, column]
  unname(out)
}
table <- function(fit) list(terms = names(coef(fit)), coefficients = unname(coef(fit)),
                            std_error = spread(fit, 2), p_value = spread(fit, 4))
linear <- function(formula) {
  fit <- lm(as.formula(formula), cars)
  c(list(formula = one(formula)), table(fit),
    list(rss = one(deviance(fit)), df_residual = one(df.residual(fit)), fitted = unname(fitted(fit))))
}
logistic <- function(formula) {
  fit <- glm(as.formula(formula), binomial, cars)  # a smaller epsilon makes R miss that columns are combinations
  c(list(formula = one(formula)), table(fit),
    list(deviance = one(deviance(fit)), aic = one(AIC(fit)), df_residual = one(df.residual(fit)),
         fitted = unname(fitted(fit))))
}
separated <- function(formula, data, left = NULL) {
  form <- as.formula(formula)
  fit <- suppressWarnings(glm(form, binomial, data, epsilon = 1e-14, maxit = 200))
  firth <- glm(form, binomial, data, method = "brglmFit", type = "AS_mean", epsilon = 1e-12, maxit = 1000)
  ratios <- suppressWarnings(drop1(fit, test = "LRT"))[-1, ]
  result <- list(formula = one(formula), terms = names(coef(fit)), deviance = one(deviance(fit)),
                 firth = table(firth),
                 lrt = list(terms = rownames(ratios), statistic = ratios$LRT, p_value = ratios[["Pr(>Chi)"]]))
  if (!is.null(left)) result <- c(result, list(tied = table(left), tied_deviance = one(deviance(left))))
  result
}
ratio <- anova(lm(mpg ~ cyl, cars), lm(mpg ~ factor(cyl), cars))[2, ]

out <- list(
  provenance = list(R = one(R.version.string), brglm2 = version("brglm2")),
  mtcars = as.list(cars), endometrial = lapply(endometrial, as.numeric),
  linear = list(sum = linear("mpg ~ hp + wt + tot"),
                cells = linear("mpg ~ wt + factor(gear) * factor(am)")),
  logistic = list(sum = logistic("vs ~ wt + mpg + both")),
  separated = list(
    separable = separated("am ~ wt + gear", cars),
    quasi = separated("HG ~ NV + PI + EH", endometrial,
                      glm(HG ~ PI + EH, binomial, subset(endometrial, NV == 0), epsilon = 1e-14))),
  nested = list(statistic = one(ratio$F), df = one(ratio$Df), p_value = one(ratio[["Pr(>F)"]]))
)
writeLines(json(out), file.path(here, "identified.json"))
