# Codings and splines of formulas.    Rscript tests/golden/formula_terms.R    writes formula_terms.json.
#
# model.matrix of each formula (without the intercept) on 60 rows by a congruential generator; `new` are the columns of
# the same fit for other rows, beyond the boundary knots of the splines too.

suppressPackageStartupMessages({ library(splines); library(jsonlite) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
n <- 60; state <- 777
draw <- function() { state <<- (state * 1103 + 12345) %% 65536; state / 65536 }
unif <- replicate(3 * n, draw())
d <- data.frame(x = round(exp(2 * unif[1:n]), 4), z = round(10 * unif[n + 1:n] - 5, 3),
                k = c("a", "b", "c", "d", "e")[1 + floor(5 * unif[2 * n + 1:n])])
d$y <- round(sin(d$x) + d$z / 4 + nchar(d$k), 4) + seq_len(n) %% 7
new <- data.frame(x = c(0.5, 2, 5, 9), z = c(-7, 0, 1, 8), k = c("a", "c", "d", "e"))
formulas <- c(
  "bs(x, df=6)", "bs(x)", "bs(x, knots=c(2, 4))", "bs(x, df=4, degree=2)", "ns(x, df=4)", "ns(x)", "ns(x, knots=c(2, 3, 5))",
  "C(k, Sum)", "C(k, Helmert)", "C(k, Poly)", "relevel(k, ref=\"c\")", "C(k, Sum):z", "log(x, 3)", "log(x, 2)",
  "pmax(x, z, 2)", "pmin(x, z)", "round(x, 1)", "I(z > 1)", "I(x + z <= 3)", "scale(x, scale=FALSE)", "poly(x, 2, raw=T)",
  "scale(x, center=FALSE)", "scale(z, center=FALSE, scale=FALSE)", "splines::ns(x, 3)", "splines::bs(x, 5)", "stats::poly(x, 2)",
  "bs(x, df=5, Boundary.knots=c(0.5, 9))", "ns(x, df=4, Boundary.knots=c(1.5, 5))", "ns(x, knots=c(3, 4), Boundary.knots=c(2, 6))",
  "bs(x, Boundary.knots=c(0, 10))", "0 + bs(x, df=6, intercept=TRUE)", "0 + ns(x, df=4, intercept=TRUE)",
  "0 + ns(x, df=5, intercept=TRUE, Boundary.knots=c(1.5, 5)) + z",
  "cut(z, c(-10, -1, 2, 10), labels=c(\"lo\", \"mid\", \"hi\"))", "cut(z, c(-10, 0, 10), right=F, labels=c(\"-\", \"+\")):x",
  "factor(k, levels=c(\"c\", \"a\", \"e\", \"b\", \"d\"))", "z * factor(k, levels=c(\"e\", \"d\", \"c\", \"b\", \"a\", \"z\"))",
  "I(k == \"b\")", "z + z:I(k != \"c\") + k")
r_side <- function(f) {
  f <- gsub("Sum", "contr.sum", gsub("Helmert", "contr.helmert", gsub("Poly", "contr.poly", f)))
  gsub("relevel(k", "relevel(factor(k)", gsub("C(k", "C(factor(k)", f, fixed = TRUE), fixed = TRUE)
}
cases <- lapply(formulas, function(f) {
  fit <- lm(as.formula(paste("y ~", r_side(f))), d)
  X <- model.matrix(fit)
  list(formula = one(f), X = unname(X[, colnames(X) != "(Intercept)", drop = FALSE]), coef = unname(coef(fit)),
       new = unname(suppressWarnings(predict(fit, new))))
})
# The same with missing values and weights; poly() of R takes no missing values.
gaps <- d
gaps$x[c(3, 17)] <- NA; gaps$z[c(17, 20)] <- NA; gaps$k[8] <- NA; gaps$y[30] <- NA
gaps$w <- 0.5 + seq_len(n) %% 4
weighted <- lapply(formulas[!grepl("poly", formulas)], function(f) {
  fit <- lm(as.formula(paste("y ~", r_side(f))), gaps, weights = w)
  list(formula = one(f), coef = unname(coef(fit)), std_error = unname(coef(summary(fit))[, 2]))
})
writeLines(json(list(provenance = list(R = one(as.character(getRversion()))), data = as.list(d), new = as.list(new),
                     cases = cases, gaps = as.list(gaps), weighted = weighted)), file.path(here, "formula_terms.json"))
