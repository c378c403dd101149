#!/bin/bash
# exec-suite.sh [KERNEL]: runs the test suite of cilium/ebpf, at the version of go.mod, on a simulated kernel. When started as root, the tests run as nobody.
# Prints the counts of each package and the tests that fail. Sources, test binaries and outputs are kept in DIR.
set -euo pipefail
kernel=${1:-embedded}
packages=${PACKAGES:-features ringbuf perf btf link .}
DIR=${DIR:-$(mktemp -d)}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

export GOFLAGS=${GOFLAGS:--buildvcs=false}
go build -o "$DIR/bpfrun" ./cmd/bpfrun
module=$(go list -m -f '{{.Dir}}' github.com/cilium/ebpf)
if [ ! -d "$DIR/ebpf" ]; then
	cp -r "$module" "$DIR/ebpf"
	chmod -R u+w "$DIR/ebpf"
fi
as=()
if [ "$(id -u)" = 0 ]; then
	chmod -R a+rX "$DIR"
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env HOME=/tmp)
fi
for p in $packages; do
	name=$p
	[ "$p" != . ] || name=root
	(cd "$DIR/ebpf" && go test -c -o "$DIR/$name.test" "./$p")
	chmod a+rx "$DIR/$name.test"
	(cd "$DIR/ebpf/$p" && timeout 600 "${as[@]}" "$DIR/bpfrun" exec --fake-root --live --btf "$kernel" -- "$DIR/$name.test" -test.v -test.timeout 500s) \
		>"$DIR/$name.out" 2>"$DIR/$name.err" </dev/null || true
	count() { grep -c -- "^$1" "$DIR/$name.out" || true; }
	echo "$name: $(count '--- PASS') passed, $(count '--- FAIL') failed, $(count '--- SKIP') skipped"
	grep -o -- '^--- FAIL: [^ ]*' "$DIR/$name.out" | sed 's/^--- FAIL:/   /' || true
done
