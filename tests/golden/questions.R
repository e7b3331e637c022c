# Questions to fitted models: car, emmeans and average effects.    Rscript tests/golden/questions.R    writes questions.json.
#
# 90 rows, numbers by a congruential generator so that no package's stream matters. Two categories a (3 levels) and
# b (2 levels) in unequal numbers, numbers x and z, a numeric target y, labels `label` (two classes) and `kind` (three).
# `empty` is the same data without the cell a3, b2.
#   anova      car::Anova types II and III (contr.sum; type III of lm by F, of glm by likelihood ratio), stats::anova (type I)
#   hypotheses car::linearHypothesis, joint and one by one; also with sandwich's HC1
#   means      emmeans, with pairs adjusted by Tukey, Holm and fdr, intervals included; response scale for glm
#   effects    average slopes and differences with the delta method, worked by hand from the design
suppressPackageStartupMessages({ library(car); library(emmeans); library(sandwich); library(nnet) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
emm_options(msg.interaction = FALSE, msg.nesting = FALSE)

n <- 90
state <- 4711
draw <- function() { state <<- (state * 1103 + 12345) %% 65536; state / 65536 }
u <- matrix(replicate(6 * n, draw()), n)
a <- factor(c("a1", "a2", "a3")[1 + (u[, 1] > 0.45) + (u[, 1] > 0.8)])
b <- factor(c("b1", "b2")[1 + (u[, 2] > 0.6)])
x <- round(3 * u[, 3] - 1, 3)
z <- round(1 + 4 * u[, 4], 3)
noise <- u[, 5] + u[, 6] - 1
y <- round(2 + as.integer(a) * 0.6 - (b == "b2") * as.integer(a) * 0.5 + 0.8 * x + 0.3 * x * (a == "a2") - 0.4 * z + 1.5 * noise, 3)
label <- ifelse(0.3 * as.integer(a) - 0.7 * (b == "b2") + 0.9 * x + 2.4 * noise > 0.3, "yes", "no")
kind <- c("k1", "k2", "k3")[1 + (x + 2 * noise + 0.3 * as.integer(a) > 0.4) + (x + 2.5 * noise > 1.2)]
full <- data.frame(a, b, x, z, y, label, kind)
empty <- droplevels(full[!(full$a == "a3" & full$b == "b2"), ])
tight <- glm.control(epsilon = 1e-14, maxit = 100)
# glm's covariance belongs to the step before the last: one more step from the solution makes it that of the solution.
logistic <- function(formula, data, ...) {
  data$label <- as.integer(data$label == "yes")
  start <- coef(glm(formula, binomial, data, control = tight, ...))
  do.call(glm, list(formula, binomial, data, start = start, control = tight, ...))
}

rows <- function(table, columns) {  # rows of an anova table, without Residuals and (Intercept)
  table <- as.data.frame(table)
  table <- table[!rownames(table) %in% c("(Intercept)", "NULL"), , drop = FALSE]
  out <- c(list(term = trimws(rownames(table))), lapply(columns, function(k) as.numeric(table[[k]])))
  names(out) <- c("term", names(columns)); out
}
lm_columns <- c(df = "Df", sum_sq = "Sum Sq", statistic = "F value", p_value = "Pr(>F)")
glm_columns <- c(df = "Df", statistic = "LR Chisq", p_value = "Pr(>Chisq)")
wald_columns <- c(df = "Df", statistic = "Chisq", p_value = "Pr(>Chisq)")
sums <- list(a = "contr.sum", b = "contr.sum")
lm_anova <- function(formula, data, third = TRUE) {
  fit <- lm(formula, data)
  used <- sums[names(sums) %in% all.vars(formula)]
  out <- list(I = rows(anova(fit), lm_columns), II = rows(Anova(fit, type = 2), lm_columns))
  if (third) out$III <- rows(Anova(lm(formula, data, contrasts = used), type = 3), lm_columns)
  drop <- drop1(fit)
  out$drop1 <- list(term = trimws(rownames(drop)), aic = drop$AIC - drop$AIC[1])
  out
}
glm_anova <- function(formula, data) {
  fit <- logistic(formula, data)
  summed <- logistic(formula, data, contrasts = sums[names(sums) %in% all.vars(formula)])
  first <- as.data.frame(anova(fit, test = "Chisq"))[-1, ]
  drop <- drop1(fit)
  list(I = list(term = trimws(rownames(first)), df = first$Df, statistic = first$Deviance, p_value = first[["Pr(>Chi)"]]),
       II = rows(Anova(fit, type = 2), glm_columns), III = rows(Anova(summed, type = 3), glm_columns),
       wald_II = rows(Anova(fit, type = 2, test.statistic = "Wald"), wald_columns),
       wald_III = rows(Anova(summed, type = 3, test.statistic = "Wald"), wald_columns),
       drop1 = list(term = trimws(rownames(drop)), aic = drop$AIC))
}

test <- function(fit, h, ...) {
  found <- linearHypothesis(fit, h, ...)
  list(df = one(found$Df[2]), statistic = one(found[[ncol(found) - 1]][2]), p_value = one(found[[ncol(found)]][2]))
}
big <- lm(y ~ a * b + x + z, full)
logit <- logistic(label ~ a * b + x, full)
joint <- c("aa2 = aa3", "x = 1", "2*z + bb2 = -1")

means <- function(fit, specs, ...) {
  s <- as.data.frame(summary(emmeans(fit, specs, ...), infer = TRUE))
  flat(s)
}
flat <- function(s) {
  pick <- function(names) as.numeric(s[[names[names %in% colnames(s)][1]]])
  list(estimate = pick(c("emmean", "prob", "estimate", "odds.ratio", "response")), std_error = pick("SE"),
       statistic = pick(c("t.ratio", "z.ratio")), p_value = pick("p.value"),
       conf_low = pick(c("lower.CL", "asymp.LCL")), conf_high = pick(c("upper.CL", "asymp.UCL")))
}
pairs_of <- function(fit, specs, adjust, ...) {
  s <- as.data.frame(summary(pairs(emmeans(fit, specs, ...)), infer = TRUE, adjust = adjust, ...))
  c(list(contrast = as.character(s$contrast)), flat(s))
}

# Average slope or difference by hand: the effect e(beta) is a mean over rows, its gradient is worked out from the design.
effect <- function(estimate, gradient, V, dof = Inf, level = 0.95) {
  se <- sqrt(drop(gradient %*% V %*% gradient)); t <- estimate / se; q <- qt((1 + level) / 2, dof)
  c(estimate, se, t, 2 * pt(-abs(t), dof), estimate - q * se, estimate + q * se)
}
ame_lm <- function() {
  fit <- lm(y ~ a * x + poly(z, 2, raw = TRUE) + b, full); B <- coef(fit); V <- vcov(fit); dof <- fit$df.residual
  terms <- delete.response(terms(fit)); X <- function(d) model.matrix(terms, d, xlev = fit$xlevels)
  M <- X(full); dx <- M * 0; dx[, "x"] <- 1
  dx[, "aa2:x"] <- full$a == "a2"; dx[, "aa3:x"] <- full$a == "a3"
  dz <- M * 0; dz[, "poly(z, 2, raw = TRUE)1"] <- 1; dz[, "poly(z, 2, raw = TRUE)2"] <- 2 * full$z
  at <- function(name, level) { d <- full; d[[name]] <- factor(level, levels = levels(full[[name]])); X(d) }
  rows <- list(at("a", "a2") - at("a", "a1"), at("a", "a3") - at("a", "a1"), dx, dz, at("b", "b2") - at("b", "b1"))
  do.call(rbind, lapply(rows, function(D) { g <- colMeans(D); effect(sum(g * B), g, V, dof) }))
}
ame_glm <- function() {
  fit <- logistic(label ~ a * x + log(z) + b, full); B <- coef(fit); V <- vcov(fit)
  terms <- delete.response(terms(fit)); X <- function(d) model.matrix(terms, d, xlev = fit$xlevels)
  M <- X(full); p <- plogis(drop(M %*% B)); w <- p * (1 - p)
  slope <- function(D) {
    s <- drop(D %*% B)
    effect(mean(w * s), colMeans(w * (1 - 2 * p) * s * M + w * D), V)
  }
  dx <- M * 0; dx[, "x"] <- 1; dx[, "aa2:x"] <- full$a == "a2"; dx[, "aa3:x"] <- full$a == "a3"
  dz <- M * 0; dz[, "log(z)"] <- 1 / full$z
  difference <- function(name, level, base) {
    one <- full; one[[name]] <- factor(level, levels = levels(full[[name]])); zero <- full
    zero[[name]] <- factor(base, levels = levels(full[[name]]))
    M1 <- X(one); M0 <- X(zero); p1 <- plogis(drop(M1 %*% B)); p0 <- plogis(drop(M0 %*% B))
    effect(mean(p1 - p0), colMeans(p1 * (1 - p1) * M1 - p0 * (1 - p0) * M0), V)
  }
  rbind(difference("a", "a2", "a1"), difference("a", "a3", "a1"), slope(dx), slope(dz), difference("b", "b2", "b1"))
}
ame_multinom <- function() {  # logits against k3, the last class
  d <- full; d$kind <- relevel(factor(d$kind), ref = "k3")
  fit <- multinom(kind ~ a + x, d, trace = FALSE, reltol = 1e-16, maxit = 2000)
  M <- model.matrix(~ a + x, full); Y <- cbind(full$kind == "k1", full$kind == "k2")
  B <- coef(fit)
  prob <- function(M, B) { e <- exp(M %*% t(B)); e / (1 + rowSums(e)) }
  info <- function(B) { P <- prob(M, B); H <- matrix(0, 8, 8)
    for (j in 1:2) for (k in 1:2) H[4 * (j - 1) + 1:4, 4 * (k - 1) + 1:4] <- t(M) %*% (M * (P[, j] * ((j == k) - P[, k])))
    H }
  for (step in 1:20) B <- B + matrix(solve(info(B), as.vector(t(M) %*% (Y - prob(M, B)))), 2, byrow = TRUE)  # Newton
  V <- solve(info(B)); all_p <- function(M) { P <- prob(M, B); cbind(P, 1 - rowSums(P)) }
  b <- rbind(B, 0); out <- NULL
  gradient <- function(M, P, k) t(sapply(1:2, function(j) colMeans(P[, k] * ((j == k) - P[, j]) * M)))  # logits x columns
  for (level in c("aa2", "aa3")) {
    M1 <- M; M1[, c("aa2", "aa3")] <- 0; M0 <- M1; M1[, level] <- 1
    P1 <- all_p(M1); P0 <- all_p(M0)
    for (k in 1:3) { g <- as.vector(t(gradient(M1, P1, k) - gradient(M0, P0, k)))
      out <- rbind(out, effect(mean(P1[, k] - P0[, k]), g, V)) }
  }
  P <- all_p(M); s <- matrix(b[, "x"], nrow(M), 3, byrow = TRUE); sbar <- rowSums(P * s)
  for (k in 1:3) {
    est <- mean(P[, k] * (s[, k] - sbar)); g <- NULL
    for (j in 1:2) {
      dp <- P[, k] * ((j == k) - P[, j])                                    # d p_k / d eta_j
      dsbar <- P[, j] * (s[, j] - sbar)                                     # d sbar / d eta_j
      gj <- colMeans((dp * (s[, k] - sbar) - P[, k] * dsbar) * M)
      gj["x"] <- gj["x"] + mean(P[, k] * ((j == k) - P[, j]))
      g <- c(g, gj)
    }
    out <- rbind(out, effect(est, g, V))
  }
  new <- model.matrix(~ a + x, full)[1:3, ]; Q <- all_p(new)
  list(effects = out, coef = B, V = V, proba = Q)
}
link <- predict(logit, full[1:5, ], se.fit = TRUE); q <- qnorm(0.95)
multi <- ame_multinom()
std <- lm(y ~ x + z + b, full)

writeLines(json(list(
  provenance = list(R = one(as.character(getRversion())), car = version("car"), emmeans = version("emmeans"),
                    sandwich = version("sandwich"), nnet = version("nnet")),
  data = lapply(as.list(full), function(v) if (is.factor(v)) as.character(v) else v),
  empty = list(row = which(!(full$a == "a3" & full$b == "b2"))),
  anova = list(
    `y ~ a * b` = lm_anova(y ~ a * b, full), `y ~ a * b + x + z` = lm_anova(y ~ a * b + x + z, full),
    `y ~ a * x + b` = lm_anova(y ~ a * x + b, full), `y ~ b * x + a:x` = lm_anova(y ~ b * x + a:x, full),
    `y ~ a * b * x` = lm_anova(y ~ a * b * x, full), `y ~ poly(z, 2) * b + a` = lm_anova(y ~ poly(z, 2) * b + a, full)),
  anova_empty = lm_anova(y ~ a * b + x, empty, third = FALSE),
  anova_hc = list(III = rows(Anova(lm(y ~ a * b + x, full, contrasts = sums), type = 3, vcov. = function(m) vcovHC(m, "HC1")),
                  c(df = "Df", statistic = "F", p_value = "Pr(>F)"))),
  deviance = list(`label ~ a * b + x` = glm_anova(label ~ a * b + x, full), `label ~ a + x + z` = glm_anova(label ~ a + x + z, full)),
  hypotheses = list(joint = test(big, joint), single = lapply(joint, function(h) test(big, h)),
    hc1 = test(big, joint, vcov. = vcovHC(big, "HC1")), logit = test(logit, c("aa2 = aa3", "x = 1"))),
  means = list(
    a = means(big, "a"), ab = means(big, c("a", "b")), a_by_b = means(big, "a", by = "b"), at = means(big, "a", at = list(x = 0.5, b = "b2")),
    log = means(lm(y ~ a + log(z), full), "a"), poly = means(lm(y ~ a + poly(z, 2), full), "a"),
    logit_link = means(logit, "a"), logit = means(logit, "a", type = "response"), empty = means(lm(y ~ a * b + x, empty), "a")),
  pairs = list(
    tukey = pairs_of(big, "a", "tukey"), holm = pairs_of(big, "a", "holm"), fdr = pairs_of(big, "a", "fdr"), none = pairs_of(big, "a", "none"),
    by = pairs_of(big, "a", "tukey", by = "b"), cells = pairs_of(big, c("a", "b"), "tukey"), logit = pairs_of(logit, "a", "tukey", type = "response"),
    logit_link = pairs_of(logit, "a", "holm")),
  effects = list(lm = ame_lm(), glm = ame_glm(), multinom = multi$effects),
  interval = list(link = unname(link$fit), se = unname(link$se.fit), low = unname(plogis(link$fit - q * link$se.fit)),
                  high = unname(plogis(link$fit + q * link$se.fit))),
  gvif = list(term = rownames(vif(lm(y ~ a + b + x + poly(z, 2), full))), gvif = unname(vif(lm(y ~ a + b + x + poly(z, 2), full))[, 1]),
              scaled = unname(vif(lm(y ~ a + b + x + poly(z, 2), full))[, 3])),
  standardized = list(beta = unname(coef(std)[-1] * apply(model.matrix(std)[, -1], 2, sd) / sd(full$y)),
                      partial = unname(summary(std)$coefficients[-1, 3]^2 / (summary(std)$coefficients[-1, 3]^2 + std$df.residual)))
)), file.path(here, "questions.json"))
