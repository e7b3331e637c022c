#!/usr/bin/env bash
# The tests on kernels that watch themselves: tests/sanitize/run.sh address,undefined|thread [arguments of pytest]
# or a fuzzer on them: tests/sanitize/run.sh address,undefined tests/fuzz csv --cases 1000
#
# The kernels are built anew in build/, and a virtual environment there sees them, the sources, and the packages of
# .venv: nothing that is installed changes. The interpreter and its packages are not watched, our C++ and nanobind are.
set -euo pipefail
cd "$(dirname "$0")/../.."

watch=${1:?address,undefined or thread}
shift
[[ $# -gt 0 ]] || set -- \
    tests/kernels/test_least_squares_kernels.py tests/kernels/test_double_double.py tests/kernels/test_classifier_kernels.py tests/kernels/test_perceptron_pass.py tests/kernels/test_number_text.py tests/dataset/files/test_parquet_pages.py tests/dataset/rows/test_reduce.py \
    tests/models/test_perceptrons.py tests/models/test_logistic_regression.py tests/models/test_discriminant_analysis.py tests/laws/test_laws.py tests/golden/test_nist.py

python=$PWD/${VENV:-.venv}/bin/python
here=$PWD/tests/sanitize
mkdir -p build
build=$PWD/build/sanitize-${watch//,/-}
site=$build/site

cmake -S . -B "$build" -G Ninja -Wno-dev -DLINEARLY_SANITIZE="$watch" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DPython_EXECUTABLE="$python" -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" >"$build.log"
cmake --build "$build" >>"$build.log" || { cat "$build.log" >&2; exit 1; }
rm -rf "$site"
mkdir -p "$site"
tar -C src --exclude='*.so' --exclude=__pycache__ -cf - linearly | tar -C "$site" -xf -
cmake --install "$build" --prefix "$site" >>"$build.log"

[[ -d $build/venv ]] || "$python" -m venv --without-pip "$build/venv"
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# A path in a .pth file brings the packages, but not the editable install, whose own .pth file stays unread.
own=$("$build/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
case $watch in
    thread) runtime=libtsan.so before=$here/thread ;;
    *) runtime=libasan.so before=$site ;;
esac
printf '%s\n' "$site" "$before" "$packages" >"$own/site.pth"
runtime=$("${CXX:-c++}" -print-file-name="$runtime")
# The C++ runtime comes along: it must be there before the sanitizer looks for what throws exceptions.
export LD_PRELOAD="$(realpath "$runtime") $(realpath "$("${CXX:-c++}" -print-file-name=libstdc++.so)")"
# The interpreter keeps what it allocates until it ends: leaks are not ours to count.
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:strict_init_order=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=exitcode=66:history_size=4:die_after_fork=0:suppressions=$here/thread/suppressions
export PYTHONMALLOC=malloc # so that what NumPy and Python hand to the kernels has its own bounds
export LINEARLY_KERNELS=compiled

"$build/venv/bin/python" -c 'import linearly, linearly.kernels._compiled as c; print(c.__file__, c.instruction_sets())'
run=(-m pytest -n 0 -p no:cacheprovider)
[[ $1 != tests/fuzz ]] || run=()
# Without its randomness: the thread sanitizer wants its own places in memory.
exec setarch --addr-no-randomize "$build/venv/bin/python" "${run[@]}" "$@"
