# Expected values for formulas, by R's model.matrix and lm.    Rscript tests/golden/formula.R    writes formula.json.
#
# Layout.  {"provenance": {...}, "data": {<set>: column -> values}, "cases": [...]}
# case:
#   data                     the set; text columns are factors with their levels in the order of the alphabet
#   r, formula               the formula as R and as linearly spell it
#   intercept                1 or 0
#   terms                    R's labels of the terms, in its order
#   X                        columns of model.matrix, without the intercept
#   rank, coefficients, fitted    of lm, intercept first; coefficients that R leaves out (NA) are null
#   new, predicted           five other rows (numbers of the first five times 1.1) and what predict says of them

here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))

plain <- function(d) {
  d <- as.data.frame(d)
  for (name in names(d)) {
    v <- d[[name]]
    d[[name]] <- if (is.numeric(v)) as.numeric(v) else factor(as.character(v), sort(unique(as.character(v)), method = "radix"))
  }
  rownames(d) <- NULL
  d
}
sets <- list(
  mtcars = plain(mtcars),
  iris = plain(iris[seq(1, 150, by = 3), ]),
  warpbreaks = plain(warpbreaks),
  ToothGrowth = plain(ToothGrowth),
  npk = plain(npk),
  CO2 = plain(CO2[seq(1, 84, by = 2), c("Type", "Treatment", "conc", "uptake")])
)
columns <- function(d) lapply(as.list(d), function(v) if (is.factor(v)) as.character(v) else v)

one_case <- function(set, r, formula = r) {
  d <- sets[[set]]
  model <- as.formula(r)
  fit <- lm(model, d)
  X <- model.matrix(model, d)
  intercept <- attr(terms(fit), "intercept")
  if (intercept) X <- X[, -1, drop = FALSE]
  new <- d[1:5, ]
  for (name in names(new)) if (is.numeric(new[[name]])) new[[name]] <- new[[name]] * 1.1
  # Numbers that are levels stay levels.
  for (name in intersect(names(new), c("cyl", "gear", "am", if (grepl("factor(dose)", r, fixed = TRUE)) "dose")))
    new[[name]] <- d[[name]][1:5]
  list(data = one(set), r = one(r), formula = one(formula), intercept = one(intercept),
       terms = attr(terms(fit), "term.labels"),
       X = lapply(seq_len(ncol(X)), function(j) unname(X[, j])),
       rank = one(fit$rank), coefficients = unname(coef(fit)), fitted = unname(fitted(fit)),
       new = columns(new), predicted = unname(suppressWarnings(predict(fit, new))))
}

cases <- list(
  one_case("mtcars", "mpg ~ wt + hp"),
  one_case("mtcars", "mpg ~ ."),
  one_case("mtcars", "mpg ~ . - qsec - carb"),
  one_case("mtcars", "mpg ~ wt * hp"),
  one_case("mtcars", "mpg ~ wt * hp - 1"),
  one_case("mtcars", "mpg ~ (wt + hp + qsec)^2"),
  one_case("mtcars", "mpg ~ (wt + hp + qsec)^2 - wt:hp"),
  one_case("mtcars", "mpg ~ (wt + hp) * qsec * drat - wt:qsec:drat"),
  one_case("mtcars", "mpg ~ qsec:wt + wt"),
  one_case("mtcars", "mpg ~ wt + I(wt^2) + I(hp/100 - 1)", "mpg ~ wt + {wt**2} + I(hp/100 - 1)"),
  one_case("mtcars", "mpg ~ I(-wt^2 + 1) + I(hp^-1) + I((wt - 1) * (hp - 100))"),
  one_case("mtcars", "log(mpg) ~ log(wt) + sqrt(hp) + exp(-wt) + log10(disp) + log2(drat) + expm1(wt)"),
  one_case("mtcars", "mpg ~ log(hp):wt + log1p(wt) + abs(qsec - 18) + sin(wt) + cos(wt) + tan(drat)"),
  one_case("mtcars", "mpg + hp ~ wt"),
  one_case("mtcars", "mpg ~ poly(hp, 3)"),
  one_case("mtcars", "mpg ~ poly(hp, 6) + poly(log(wt), degree = 2)"),
  one_case("mtcars", "mpg ~ poly(hp, 3, raw = TRUE)", "mpg ~ poly(hp, 3, raw=True)"),
  one_case("mtcars", "mpg ~ scale(wt) + scale(hp)", "mpg ~ scale(wt) + standardize(hp)"),
  one_case("mtcars", "mpg ~ scale(log(wt), scale = FALSE)", "mpg ~ center(log(wt))"),
  one_case("mtcars", "mpg ~ factor(cyl)", "mpg ~ C(cyl)"),
  one_case("mtcars", "mpg ~ factor(cyl) * wt", "mpg ~ C(cyl) * wt"),
  one_case("mtcars", "mpg ~ factor(cyl):wt", "mpg ~ C(cyl):wt"),
  one_case("mtcars", "mpg ~ wt:factor(cyl) - 1", "mpg ~ wt:C(cyl) - 1"),
  one_case("mtcars", "mpg ~ 0 + factor(cyl) + factor(gear)", "mpg ~ 0 + C(cyl) + C(gear)"),
  one_case("mtcars", "mpg ~ poly(wt, 2) * factor(am)", "mpg ~ poly(wt, 2) * C(am)"),
  one_case("mtcars", "mpg ~ relevel(factor(cyl), '6') + wt", "mpg ~ C(cyl, reference=6) + wt"),
  one_case("mtcars", "mpg ~ factor(cyl) %in% factor(am)", "mpg ~ C(cyl) %in% C(am)"),
  one_case("iris", "Sepal.Length ~ Species"),
  one_case("iris", "Sepal.Length ~ ."),
  one_case("iris", "log(Sepal.Length) ~ .^2"),
  one_case("iris", "Sepal.Length ~ Species / Petal.Length"),
  one_case("iris", "Sepal.Length ~ Species * Petal.Width - 1"),
  one_case("iris", "Sepal.Length ~ log(Petal.Length):Species"),
  one_case("iris", "Sepal.Length ~ . - Species + poly(Sepal.Width, 4)"),
  one_case("iris", "Sepal.Length ~ relevel(Species, 'virginica') * Petal.Width", "Sepal.Length ~ C(Species, Treatment('virginica')) * Petal.Width"),
  one_case("warpbreaks", "breaks ~ wool * tension"),
  one_case("warpbreaks", "breaks ~ wool:tension"),
  one_case("warpbreaks", "breaks ~ 0 + wool:tension"),
  one_case("warpbreaks", "breaks ~ wool / tension"),
  one_case("warpbreaks", "breaks ~ tension + wool:tension"),
  one_case("warpbreaks", "breaks ~ wool * tension - wool"),
  one_case("warpbreaks", "sqrt(breaks) ~ -1 + tension + wool"),
  one_case("ToothGrowth", "len ~ supp * dose"),
  one_case("ToothGrowth", "len ~ supp * factor(dose)", "len ~ supp * C(dose)"),
  one_case("ToothGrowth", "len ~ supp:dose + I(dose^2)"),
  one_case("ToothGrowth", "len ~ supp:poly(dose, 2)"),
  one_case("npk", "yield ~ block + N * P * K"),
  one_case("npk", "yield ~ (N + P + K)^3"),
  one_case("npk", "yield ~ 0 + N * P * K"),
  one_case("npk", "yield ~ N:P + P:K"),
  one_case("npk", "yield ~ block / (N + P)"),
  one_case("CO2", "uptake ~ Type * Treatment * log(conc)"),
  one_case("CO2", "uptake ~ (Type + Treatment)^2:conc"),
  one_case("CO2", "uptake ~ Type:Treatment:scale(conc)")
)

out <- list(
  provenance = list(generator = one("Rscript tests/golden/formula.R"), r = one(R.version.string),
                    platform = one(R.version$platform), digits = one("%.17g"),
                    packages = list(stats = version("stats"), datasets = version("datasets"))),
  data = lapply(sets, columns), cases = cases)
writeLines(json(out), file.path(here, "formula.json"))
