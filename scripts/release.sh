#!/bin/bash
# release.sh [-w] [-v VERSION] [-o DIR] [TARGET]...
#
# Builds the files of a release into DIR (dist/release) and publishes nothing. Without TARGET (linux/amd64) all of TARGETS.
#
#     bpfrun_VERSION_OS_ARCH.tar.gz, .zip   the static binary, manual pages, completions
#     bpfrun_VERSION_ARCH.deb, .rpm         of each Linux target
#     bpfrun_VERSION_image.tar              OCI archive of the container image, with all Linux targets (where buildah is installed)
#     bpfrun.rb                             Homebrew formula
#     bpfrun_VERSION_site.tar.gz            with -w: the playground with the documentation, for any server of files
#     bpfrun_VERSION_screenshots.tar.gz     with -w: what the browser tests of this site, and of reports, saw
#     *.cdx.json                            bill of materials of each binary
#     provenance.intoto.json                what was built from what, to be signed by whoever publishes
#     SHA256SUMS                            of all of them
#
# Packages of the same commit are equal, byte for byte. Needs Go, tar, gzip, zip; nfpm is fetched as a Go tool of the version below. -w needs
# node, npm and chromium, and fails where a browser test does.
set -euo pipefail
cd "$(dirname "$0")/.."

NFPM=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
TARGETS=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64)
REPOSITORY=https://github.com/bpfrun/bpfrun
GO=${GO:-go}

usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
version=$(git describe --tags --always --match 'v[0-9]*' 2>/dev/null || echo 0.0.0) out=dist/release
case $version in v*) version=${version#v} ;; *) version=0.0.0-$version ;; esac
web=
while getopts wv:o:h flag; do
	case $flag in
	w) web=yes ;;
	v) version=${OPTARG#v} ;;
	o) out=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || TARGETS=("$@")
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || { echo "release: the version $version is not MAJOR.MINOR.PATCH" >&2; exit 2; }

say() { echo "release: $*"; }
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
mtime=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say "$version, of ${SOURCE_DATE_EPOCH}"
make -s man completions DOCS="$work/docs"

[[ " ${TARGETS[*]}" != *" linux/"* ]] || GOBIN=$work/tools CGO_ENABLED=0 "$GO" install "$NFPM"

for t in "${TARGETS[@]}"; do
	os=${t%/*} arch=${t#*/}
	name=bpfrun_${version}_${os}_${arch}
	stage=$work/$name
	exe=bpfrun
	[ "$os" != windows ] || exe=bpfrun.exe
	mkdir -p "$stage/man" "$stage/completions"
	GOOS=$os GOARCH=$arch CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false ${PROFILE:+"$PROFILE"} -ldflags "-s -w -X main.version=$version" -o "$stage/$exe" ./cmd/bpfrun
	cp LICENSE README.md CHANGELOG.md "$stage/"
	cp "$work"/docs/completions/* "$stage/completions/"
	for page in "$work"/docs/man/*; do gzip -9n <"$page" >"$stage/man/${page##*/}.gz"; done
	find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	if [ "$os" = windows ]; then
		(cd "$work" && find "$name" | LC_ALL=C sort | TZ=UTC zip -q -X -@ "$out/$name.zip")
	else
		tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" | gzip -9n >"$out/$name.tar.gz"
	fi
	"$GO" run ./scripts/sbom "$stage/$exe" "$out/$name.cdx.json"
	if [ "$os" = linux ]; then
		sed -e "s|\${STAGE}|$stage|; s|\${ARCH}|$arch|; s|\${VERSION}|$version|; s|\${MTIME}|$mtime|" scripts/release/nfpm.yaml >"$work/nfpm.yaml"
		for kind in deb rpm; do "$work/tools/nfpm" package -f "$work/nfpm.yaml" -p "$kind" -t "$out/bpfrun_${version}_$arch.$kind" >/dev/null; done
	fi
	say "$name"
done

# The image has the same binaries as the archives.
linux=()
for t in "${TARGETS[@]}"; do case $t in linux/*) linux+=("$t") ;; esac; done
if [ ${#linux[@]} -gt 0 ] && command -v buildah >/dev/null; then
	b=(buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run")
	for t in "${linux[@]}"; do
		"${b[@]}" build --isolation chroot -q --platform "$t" --timestamp "$SOURCE_DATE_EPOCH" --manifest "bpfrun:$version" -f Dockerfile "$work/bpfrun_${version}_linux_${t#*/}" >/dev/null
	done
	"${b[@]}" manifest push -q --all "bpfrun:$version" "oci-archive:$out/bpfrun_${version}_image.tar:bpfrun:$version" >/dev/null
	say "bpfrun_${version}_image.tar"
elif [ ${#linux[@]} -gt 0 ]; then
	say "no image: buildah is not installed"
fi

packed() { # DIRECTORY NAME: a directory as an archive, the same each time
	find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$(basename "$1")" | gzip -9n >"$out/bpfrun_${version}_$2.tar.gz"
	say "bpfrun_${version}_$2"
}
if [ -n "$web" ]; then
	rm -rf dist/site web/test/shots
	make -s browser-test GO="$GO"
	packed dist/site site
	packed web/test/shots screenshots
fi

"$GO" run ./scripts/release -version "$version" -repository "$REPOSITORY" -commit "$(git rev-parse HEAD)" -epoch "$SOURCE_DATE_EPOCH" "$out"
(cd "$out" && LC_ALL=C sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
say "$(wc -l <"$out/SHA256SUMS") files in $out"
