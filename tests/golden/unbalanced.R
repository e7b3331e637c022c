# Questions on harder designs.    Rscript tests/golden/unbalanced.R    writes unbalanced.json.
#
# 120 rows, numbers by a congruential generator so that no package's stream matters. Factors a (3 levels), b (3) and
# c (2) in unequal numbers, a factor d nested in a, numbers x and z, weights w, a target y and labels.
# `holes` is the same data without the cells a1:b3 and a3:b2.
#   anova   stats::anova (type I), car::Anova (II, and III with contr.sum), weighted, without an intercept, with poly
#   means   emmeans (covariates at their unweighted means) and Tukey's pairs of unequal sizes; response scale for glm
#   errors  NeweyWest with 3 lags, vcovHC, clubSandwich's vcovCR by b:c:d, vcovCL by b:c:d and a:c
suppressPackageStartupMessages({ library(car); library(emmeans); library(sandwich); library(clubSandwich) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
emm_options(msg.interaction = FALSE, msg.nesting = FALSE)

n <- 120
state <- 271
draw <- function() { state <<- (state * 1103 + 12345) %% 65536; state / 65536 }
u <- matrix(replicate(9 * n, draw()), n)
a <- factor(c("a1", "a2", "a3")[1 + (u[, 1] > 0.5) + (u[, 1] > 0.75)])
b <- factor(c("b1", "b2", "b3")[1 + (u[, 2] > 0.3) + (u[, 2] > 0.8)])
c <- factor(base::c("c1", "c2")[1 + (u[, 3] > 0.65)])
d <- factor(base::c("d1", "d2")[1 + (u[, 4] > 0.4)])
x <- round(4 * u[, 5] - 1, 3); z <- round(1 + 3 * u[, 6], 3); w <- round(0.3 + 2 * u[, 7], 3)
noise <- u[, 8] + u[, 9] - 1
y <- round(1 + 0.5 * as.integer(a) - 0.4 * (b == "b2") * as.integer(a) + 0.7 * (c == "c2") + 0.6 * x - 0.2 * x^2 * (a == "a2") + noise, 3)
label <- ifelse(0.4 * as.integer(a) - 0.6 * (b == "b3") + 0.8 * x + 3 * noise > 0.8, "yes", "no")
full <- data.frame(a, b, c, d, x, z, w, y, label)
holes <- droplevels(full[!(full$a == "a1" & full$b == "b3") & !(full$a == "a3" & full$b == "b2"), ])

table_of <- function(t) {
  t <- as.data.frame(t); t <- t[!rownames(t) %in% "(Intercept)", , drop = FALSE]
  F <- t[[grep("^F", names(t))[1]]]
  list(term = trimws(rownames(t)), df = as.numeric(t$Df), sum_sq = as.numeric(t[["Sum Sq"]]), statistic = as.numeric(F))
}
answers <- function(formula, data, third = TRUE, weights = NULL) {
  data$.w <- if (is.null(weights)) 1 else data[[weights]]
  fit <- do.call(lm, list(formula, data, weights = quote(.w)))
  out <- list(formula = one(paste(deparse(formula, width.cutoff = 200), collapse = " ")), I = table_of(anova(fit)))
  if (nrow(out$I$term |> as.matrix()) > 1) out$II <- table_of(Anova(fit, type = 2, singular.ok = TRUE))
  if (third) {
    used <- intersect(base::c("a", "b", "c", "d"), all.vars(formula))
    summed <- do.call(lm, list(formula, data, weights = quote(.w), contrasts = setNames(rep(list("contr.sum"), length(used)), used)))
    out$III <- table_of(Anova(summed, type = 3))
  }
  out
}
means <- function(s) list(estimate = s[[2]], std_error = s$SE, p_value = s$p.value)
three <- lm(y ~ a * b * c + x, full)
weighted <- lm(y ~ a * b + x, full, weights = w)
y01 <- as.integer(full$label == "yes")
logit <- glm(y01 ~ a + b + x, binomial, full, control = glm.control(epsilon = 1e-14, maxit = 100))
logit <- glm(y01 ~ a + b + x, binomial, full, start = coef(logit), control = glm.control(epsilon = 1e-14, maxit = 100))
plain <- lm(y ~ a + x, full)
se <- function(V) unname(sqrt(diag(as.matrix(V))))

writeLines(json(list(
  versions = list(car = version("car"), emmeans = version("emmeans"), sandwich = version("sandwich"), clubSandwich = version("clubSandwich")),
  columns = list(a = as.character(full$a), b = as.character(full$b), c = as.character(full$c), d = as.character(full$d), x = x, z = z, w = w, y = y, label = label),
  anova = list(
    three = answers(y ~ a * b * c + x, full), nested = answers(y ~ a / d + x, full, third = FALSE),
    poly = answers(y ~ poly(x, 2) * a + b, full), weighted = answers(y ~ a * b + x, full, weights = "w"),
    numbers = answers(y ~ a * x + b, full), squares = answers(y ~ (a + b + c)^2, full)),
  holes = list(
    I = table_of(anova(lm(y ~ a * b + x, holes))), II = table_of(Anova(lm(y ~ a * b + x, holes), type = 2, singular.ok = TRUE))),
  no_intercept = table_of(anova(lm(y ~ 0 + a + x, full))),
  means = list(
    three = means(as.data.frame(summary(emmeans(three, "a"), infer = TRUE))),
    weighted = means(as.data.frame(summary(emmeans(weighted, "b"), infer = TRUE))),
    logit = means(as.data.frame(summary(emmeans(logit, "a", type = "response"), infer = TRUE)))),
  pairs = list(
    three = means(as.data.frame(summary(pairs(emmeans(three, "b"))))),
    weighted = means(as.data.frame(summary(pairs(emmeans(weighted, "a")))))),
  errors = list(
    HAC = se(NeweyWest(plain, lag = 3, prewhite = FALSE, adjust = TRUE)), HC3 = se(vcovHC(plain, "HC3")),
    twoway = se(vcovCL(plain, cluster = data.frame(interaction(full$b, full$c, full$d), interaction(full$a, full$c)), type = "HC1", cadjust = TRUE)),
    CR0 = se(vcovCR(plain, cluster = interaction(full$b, full$c, full$d), type = "CR0")),
    CR2 = se(vcovCR(plain, cluster = interaction(full$b, full$c, full$d), type = "CR2")),
    CR3 = se(vcovCR(plain, cluster = interaction(full$b, full$c, full$d), type = "CR3"))))), file.path(here, "unbalanced.json"))
