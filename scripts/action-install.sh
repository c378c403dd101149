#!/bin/bash
# The GitHub Action runs this: puts bpfrun on the PATH. Of a release (VERSION is "latest" or its number) it downloads the archive and
# checks it; where there is none, and for branches and commits, it compiles. "none" uses the bpfrun on the PATH.
#
# Input: VERSION, GITHUB_ACTION_PATH (the checkout of the action), GITHUB_PATH, RUNNER_TEMP; RELEASES for another place than GitHub's.
set -euo pipefail

version=${VERSION:-latest}
releases=${RELEASES:-https://github.com/bpfrun/bpfrun/releases}
[ "$version" != none ] || exit 0
bin=$(mktemp -d "${RUNNER_TEMP:-/tmp}/bpfrun.XXXXXX")

get() { curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"; }

# download VERSION: the release's archive for this machine. 1: there is none.
download() {
	local os arch name
	case $(uname -s) in Linux) os=linux ;; Darwin) os=darwin ;; *) os=windows ;; esac
	case $(uname -m) in x86_64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) return 1 ;; esac
	name=bpfrun_${1}_${os}_$arch
	file=$name.tar.gz
	[ $os != windows ] || file=$name.zip
	get "$releases/download/v$1/SHA256SUMS" "$bin/SHA256SUMS" 2>/dev/null || return 1
	get "$releases/download/v$1/$file" "$bin/$file" || return 1
	local sum=sha256sum
	command -v sha256sum >/dev/null || sum="shasum -a 256"
	(cd "$bin" && grep "  $file\$" SHA256SUMS | $sum -c - >/dev/null) || { echo "::error title=bpfrun::$file is not what the release's SHA256SUMS says"; exit 1; }
	case $file in
	*.zip) (cd "$bin" && unzip -q "$file") ;;
	*) tar -xzf "$bin/$file" -C "$bin" ;;
	esac
	echo "bpfrun $1 from $releases"
	bin=$bin/$name
}

# newest: the number of the newest release; "" if there is none.
newest() {
	local url
	url=$(curl --fail --silent --location --head --output /dev/null --write-out '%{url_effective}' "$releases/latest") || return 0
	case $url in */tag/v*) echo "${url##*/tag/v}" ;; esac
}

number=${version#v}
[ "$version" != latest ] || number=$(newest)
if ! [[ $number =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || ! download "$number"; then
	command -v go >/dev/null || { echo "::error title=bpfrun::there is no release $version for this machine, and no Go to compile it: add actions/setup-go before"; exit 1; }
	if [ "$version" = latest ]; then
		echo "no release: compiling the action's own sources"
		(cd "$GITHUB_ACTION_PATH" && CGO_ENABLED=0 go build -trimpath -o "$bin/" ./cmd/bpfrun)
	else
		echo "no release $version: compiling it"
		GOBIN=$bin CGO_ENABLED=0 go install "github.com/bpfrun/bpfrun/cmd/bpfrun@$version"
	fi
fi
echo "$bin" >>"$GITHUB_PATH"
