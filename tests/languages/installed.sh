# To be read by a script that has set source, and prefix, an installation: what compilers, pkg-config and Go need to find that and nothing else.
# shellcheck shell=sh
# shellcheck disable=SC2154 # prefix
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdall.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") DYLD_LIBRARY_PATH=$LD_LIBRARY_PATH
# Nothing is asked of the network.
GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=1
export PKG_CONFIG_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH GOFLAGS GOPROXY GOTOOLCHAIN CGO_ENABLED

# variable NAME: a variable of the package. pkgconf quotes it as for a shell, pkg-config does not: one word or several.
variable() {
    eval "set -- $(pkg-config --variable="$1" holdall)"
    printf '%s\n' "$*"
}

# go_program FOLDER FILE: builds FOLDER/program, in a module of its own
go_program() {
    mkdir "$1"
    cp "$2" "$1/main.go"
    (
        cd "$1" || exit
        go mod init program 2>/dev/null
        go mod edit -require=holdall@v0.0.0 -replace=holdall="$(variable go)"
        go build -o program .
    )
}
