# Sourced by the scripts beside it; the working directory is the root of the repository.

jobs="${WAYBILL_JOBS:-$(nproc)}"
# What was compiled in one checkout need not be compiled again in another.
export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=true

heading() { printf '\n== %s\n' "$*"; }

# build PRESET [TARGET...]: configure and build; quiet unless something goes wrong or it is watched.
build() {
    local preset="$1" log targets=() quiet=()
    shift
    [ $# -eq 0 ] || targets=(--target "$@")
    [ -t 1 ] || quiet=(-- --quiet)
    log="$(mktemp)"
    if ! cmake --preset "$preset" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
    cmake --build --preset "$preset" --parallel "$jobs" "${targets[@]}" "${quiet[@]}"
}
