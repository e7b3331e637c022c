# What the generators of expected values share: a JSON writer, versions, and where to write.    source("json.R")
#
# A named list is an object, an unnamed one an array; a matrix is an array of its rows; a vector is an array; `one` makes
# a single value.  All numbers are printed with 17 significant digits, which name one double.  NA and NaN are null.

json <- function(x) {
  quote <- function(s) paste0('"', gsub('(["\\\\])', "\\\\\\1", s), '"')
  if (inherits(x, "scalar")) return(json_atoms(unclass(x), quote))
  if (is.matrix(x)) return(paste0("[", paste(apply(x, 1, function(r) json(as.vector(r))), collapse = ",\n"), "]"))
  if (is.list(x) && is.null(names(x))) return(paste0("[", paste(vapply(x, json, ""), collapse = ",\n"), "]"))
  if (is.list(x)) return(paste0("{", paste0(quote(names(x)), ": ", vapply(x, json, ""), collapse = ",\n"), "}"))
  paste0("[", paste(json_atoms(x, quote), collapse = ", "), "]")
}
json_atoms <- function(x, quote) {
  if (is.character(x)) return(quote(x))
  stopifnot(is.numeric(x), !any(is.infinite(x)))
  ifelse(is.na(x), "null", sprintf("%.17g", x))
}
one <- function(x) structure(unname(x), class = "scalar")
version <- function(p) one(as.character(packageVersion(p)))
