# Questions on the rows of unbalanced.json.    Rscript tests/golden/questions_more.R    writes questions_more.json.
#
#   by       emmeans within levels of another factor, adjusted by Holm and fdr; pairs of a design with empty cells
#   joint    clubSandwich::Wald_test (HTZ) of CR2 and CR3, also with each row a cluster (HC2 = CR2, HC3 = CR3)
#   counts   glm of cbind(successes, failures): emmeans, average effects over rows, NeweyWest
#   slopes   average slopes of ns() and bs() by the exact derivatives of splineDesign
suppressPackageStartupMessages({ library(emmeans); library(sandwich); library(clubSandwich); library(splines) })
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "json.R"))
emm_options(msg.interaction = FALSE, msg.nesting = FALSE)

read <- jsonlite::fromJSON(file.path(here, "unbalanced.json"))$columns
full <- as.data.frame(read, stringsAsFactors = TRUE)
full$group <- 1 + (seq_len(nrow(full)) * 7) %% 11
full$dead <- 1 + (seq_len(nrow(full)) * 5) %% 4 + (full$x > 1) * 2
full$alive <- (seq_len(nrow(full)) * 3) %% 5 + (full$a == "a2")
holes <- droplevels(full[!(full$a == "a1" & full$b == "b3") & !(full$a == "a3" & full$b == "b2"), ])

columns <- function(s) {
  s <- as.data.frame(s); n <- names(s)
  pick <- function(...) s[[match(TRUE, n %in% c(...))]]
  list(estimate = pick("emmean", "estimate", "prob", "response"), std_error = s$SE, p_value = s$p.value,
       conf_low = pick("lower.CL", "asymp.LCL"), conf_high = pick("upper.CL", "asymp.UCL"))
}
within <- function(adjust) columns(summary(emmeans(lm(y ~ a * b + x, full), "a", by = "b"), infer = TRUE, adjust = adjust))
empty <- function(adjust) columns(summary(pairs(emmeans(lm(y ~ a * b + x, holes), c("a", "b"))), infer = TRUE, adjust = adjust))

fit <- lm(y ~ a * x + c, full)
joint <- function(cluster, type) {
  V <- vcovCR(fit, cluster = cluster, type = type)
  w <- Wald_test(fit, constraints = constrain_zero(c("aa2:x", "aa3:x")), vcov = V, test = "HTZ")
  c(w$Fstat, w$df_denom, w$p_val)
}

tight <- glm.control(epsilon = 1e-14, maxit = 100)
counts <- glm(cbind(dead, alive) ~ a + x, binomial, full, control = tight)
counts <- glm(cbind(dead, alive) ~ a + x, binomial, full, start = coef(counts), control = tight)
M <- model.matrix(counts); kept <- full$dead + full$alive > 0
V <- vcov(counts); B <- coef(counts)
p <- plogis(drop(M %*% B)); v <- p * (1 - p)
effect <- function(value, gradient) c(mean(value[kept]), sqrt(drop(colMeans(gradient[kept, ]) %*% V %*% colMeans(gradient[kept, ]))))
level <- function(name) {
  one <- zero <- M; one[, c("aa2", "aa3")] <- zero[, c("aa2", "aa3")] <- 0; one[, name] <- 1
  p1 <- plogis(drop(one %*% B)); p0 <- plogis(drop(zero %*% B))
  effect(p1 - p0, p1 * (1 - p1) * one - p0 * (1 - p0) * zero)
}
D <- M * 0; D[, "x"] <- 1
effects <- rbind(level("aa2"), level("aa3"), effect(v * B[["x"]], v * (1 - 2 * p) * B[["x"]] * M + v * D))

# The derivative of a basis: that of all B-splines, then what ns() and bs() do with them.
slope <- function(basis, formula) {
  fit <- lm(formula, full); S <- basis(full$x); low <- attr(S, "Boundary.knots")
  knots <- c(rep(low[1], 4), attr(S, "knots"), rep(low[2], 4))
  d <- splineDesign(knots, full$x, 4, rep(1, nrow(full)))[, -1]
  if (inherits(S, "ns")) {
    curvature <- splineDesign(knots, low, 4, c(2, 2))[, -1]
    d <- (d %*% qr.qy(qr(t(curvature)), diag(ncol(d))))[, -(1:2)]
  }
  at <- grep("s\\(x", names(coef(fit))); g <- colMeans(d)
  c(sum(g * coef(fit)[at]), sqrt(drop(g %*% vcov(fit)[at, at] %*% g)))
}

writeLines(json(list(
  versions = list(emmeans = version("emmeans"), sandwich = version("sandwich"), clubSandwich = version("clubSandwich")),
  group = full$group, dead = full$dead, alive = full$alive,
  by = list(holm = within("holm"), bh = within("fdr")), empty = list(holm = empty("holm"), bh = empty("fdr")),
  joint = list(CR2 = joint(full$group, "CR2"), CR3 = joint(full$group, "CR3"),
               HC2 = joint(seq_len(nrow(full)), "CR2"), HC3 = joint(seq_len(nrow(full)), "CR3")),
  counts = list(means = columns(summary(emmeans(counts, "a", type = "response"), infer = TRUE)), effects = effects,
                HAC = unname(sqrt(diag(NeweyWest(counts, lag = 2, prewhite = FALSE, adjust = TRUE))))),
  slopes = list(ns = slope(function(x) ns(x, df = 4), y ~ ns(x, df = 4) + a),
                bs = slope(function(x) bs(x, df = 6), y ~ bs(x, df = 6) + a)))), file.path(here, "questions_more.json"))
