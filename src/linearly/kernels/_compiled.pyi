from typing import Any

def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> None: ...
def gram(X: Any, Y: Any, weight: Any, shift: Any, scale: Any, coef: Any, G: Any) -> None: ...
def gram_by_class(X: Any, weight: Any, shift: Any, scale: Any, order: Any, ends: Any, G: Any) -> None: ...
def gram_columns(X: Any, Y: Any, weight: Any, shift: Any, scale: Any, G: Any) -> None: ...
def exact_gram(X: Any, X_low: Any, Y: Any, weight: Any, shift: Any, scale: Any, high: Any, low: Any) -> None: ...
def triangle(X: Any, Y: Any, weight: Any, shift: Any, scale: Any, R: Any) -> None: ...
def logistic(
    X: Any, y: Any, weight: Any, shift: Any, scale: Any, beta: Any, H: Any, gradient: Any
) -> tuple[float, int, float]: ...
def probabilities(X: Any, beta: Any, out: Any) -> None: ...
def softmax(
    X: Any, codes: Any, weight: Any, shift: Any, scale: Any, B: Any, gradient: Any
) -> tuple[float, int, float]: ...
def exact_residual(
    X: Any,
    X_low: Any,
    Y: Any,
    weight: Any,
    shift: Any,
    scale: Any,
    B_high: Any,
    B_low: Any,
    high: Any,
    low: Any,
) -> None: ...
def scan_dense(
    X: Any,
    labels: Any,
    order: Any,
    W: Any,
    b: Any,
    U: Any,
    c: Any,
    seen: float,
    most: int,
    measure: bool,
    mistakes: Any,
    rivals: Any,
) -> tuple[int, int, float, bool]: ...
def scan_sparse(
    offsets: Any,
    indices: Any,
    values: Any,
    cols: int,
    labels: Any,
    order: Any,
    W: Any,
    b: Any,
    U: Any,
    c: Any,
    seen: float,
    most: int,
    measure: bool,
    mistakes: Any,
    rivals: Any,
) -> tuple[int, int, float, bool]: ...
def read_numbers(text: bytes, delimiter: str, fields: Any, numbers: Any, wholes: Any) -> int: ...
def count_rows(text: bytes) -> tuple[int, int, bool]: ...
def distances(X: Any, shift: Any, scale: Any, roots: Any, moved: Any, out: Any) -> None: ...
def columns_of(footer: bytes) -> bytes: ...

class Pages:
    def open(self, file: int, offset: int, length: int, rows: int, optional: bool, snappy: bool) -> None: ...
    def read(self, out: Any) -> bool: ...
