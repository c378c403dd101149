#!/bin/bash
# release-try.sh [DIR]
#
# Installs and runs the files of a release in DIR (dist/release), each as far as this machine can: Linux on ARM64 under qemu-user, Windows
# under Wine, packages in empty roots, the image with buildah; what is for macOS is read, not run. Prints a line for each, and exits 1 if
# one failed. A tool that is missing is said. As root, for the packages and the image.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(cd "${1:-dist/release}" && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
failed=0

try() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok       $name: $(tail -1 "$work/log" | tr -d '\r' | cut -c1-160)"
	else
		echo "FAILED   $name"
		sed 's/^/         /' "$work/log" | tail -20
		failed=1
	fi
}
skip() { echo "skipped  $1: $2"; }
has() { command -v "$1" >/dev/null; }

# shows runs a command, whose output must have a text.
shows() { # TEXT COMMAND...
	local text=$1
	shift
	"$@" >"$work/out" || [ $? -le 5 ] || return 1 # findings and refusals have a status
	grep -qF "$text" "$work/out" || { echo "no $text in the output of: $*"; cat "$work/out"; return 1; }
}

# runs does with a binary what a new user does. What it prints is the same on every system.
runs() { # COMMAND...
	shows "bpfrun " "$@" version &&
		shows 'filename = "/usr/bin/' "$@" examples/exec/exec.bpf.o --btf embedded --color=never &&
		shows XDP_PASS "$@" run examples/xdp/xdp.bpf.o --btf embedded --packet 'eth/ip/tcp(dport=80)' &&
		shows '1 accepted' "$@" verify examples/exec/exec.bpf.o --btf testdata/btf/linux-5.10.262-amd64-cloud.btf.xz &&
		shows BREAK "$@" matrix testdata/objects/clang-14/missing.o --btf testdata/btf/linux-6.1.176-arm64-cloud.btf.xz --no-cache &&
		shows '3 scenario files on 1 kernel: 7 passed, 0 failed' "$@" test examples/xdp examples/exec --btf embedded &&
		tail -1 "$work/out" | tr -d '\r' | sed 's/ in [0-9.]* s$//'
}

unpacked() { # NAME: the directory of an archive
	local file=$dir/$1
	mkdir -p "$work/$1"
	case $file in
	*.zip) unzip -q "$file" -d "$work/$1" ;;
	*) tar -xzf "$file" -C "$work/$1" ;;
	esac
	echo "$work/$1"/*
}

sums() { (cd "$dir" && sha256sum -c --quiet SHA256SUMS && echo "$(wc -l <SHA256SUMS) files"); }

# The provenance and the formula name the files by their digests.
documents() {
	local f sum n=0
	for f in "$dir"/*.tar.gz "$dir"/*.zip "$dir"/*.deb "$dir"/*.rpm; do
		[ -e "$f" ] || continue
		sum=$(sha256sum "$f" | cut -d' ' -f1)
		grep -q "$sum" "$dir/provenance.intoto.json" || { echo "the provenance lacks $f"; return 1; }
		case $f in *_linux_*.tar.gz | *_darwin_*.tar.gz) grep -q "$sum" "$dir/bpfrun.rb" || { echo "the formula lacks $f"; return 1; } ;; esac
		n=$((n + 1))
	done
	for f in "$dir"/*.cdx.json; do grep -q '"bomFormat": *"CycloneDX"' "$f" && grep -q golang.org/x/sys "$f" || { echo "$f"; return 1; }; done
	echo "$n files with their digests, $(ls "$dir"/*.cdx.json | wc -l) bills of materials"
}

deb() { # FILE
	local root=$work/deb
	mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers} "$root"/var/log "$root"/tmp
	touch "$root"/var/lib/dpkg/{status,available}
	dpkg --root="$root" --log=/dev/null -i "$1" && dpkg --root="$root" --verify bpfrun && chroot "$root" /usr/bin/bpfrun version &&
		ls "$root"/usr/share/man/man1/bpfrun.1.gz "$root"/usr/share/bash-completion/completions/bpfrun "$root"/usr/share/doc/bpfrun/copyright &&
		dpkg --root="$root" --log=/dev/null -r bpfrun && [ ! -e "$root/usr/bin/bpfrun" ] && echo "installed, verified, ran, removed"
}

rpmfile() { # FILE
	local root=$work/rpm debian=
	! rpm --help | grep -q force-debian || debian=--force-debian
	[ ! -e /etc/debian_version ] || debian=--force-debian
	mkdir -p "$root"
	rpm --root "$root" --initdb
	rpm --root "$root" $debian --nosignature -i "$1" && rpm --root "$root" -V bpfrun && chroot "$root" /usr/bin/bpfrun version &&
		ls "$root"/usr/share/man/man1/bpfrun.1.gz && rpm --root "$root" $debian -e bpfrun && [ ! -e "$root/usr/bin/bpfrun" ] && echo "installed, verified, ran, removed"
}

image() { # FILE
	local b=(buildah --storage-driver vfs --root "$work/storage" --runroot "$work/run") container
	container=$("${b[@]}" from --pull-never "oci-archive:$1" 2>/dev/null || "${b[@]}" from "oci-archive:$1") &&
		"${b[@]}" run --isolation chroot "$container" -- /usr/bin/bpfrun version
}

try "checksums" sums
try "provenance, formula, bills of materials" documents
for f in "$dir"/*_linux_amd64.tar.gz; do
	[ -e "$f" ] || continue
	[ "$(uname -m)" = x86_64 ] && try "${f##*/}" runs "$(unpacked "${f##*/}")/bpfrun"
done
for f in "$dir"/*_linux_arm64.tar.gz; do
	[ -e "$f" ] || continue
	if has qemu-aarch64-static; then
		try "${f##*/} on an emulated processor" runs qemu-aarch64-static "$(unpacked "${f##*/}")/bpfrun"
	else
		skip "${f##*/}" "qemu-aarch64-static is not installed (qemu-user-static)"
	fi
done
for f in "$dir"/*_windows_amd64.zip; do
	[ -e "$f" ] || continue
	if has wine && has unzip; then
		export WINEPREFIX=$work/wine WINEDEBUG=-all
		wineboot -i >/dev/null 2>&1 || true
		system=$WINEPREFIX/drive_c/windows/system32
		[ -e "$system/bcryptprimitives.dll" ] || go run ./scripts/wineprng "$system/bcryptprimitives.dll" # Wine before 9 lacks it
		try "${f##*/} under Wine" runs wine "$(unpacked "${f##*/}")/bpfrun.exe"
		wineserver -k 2>/dev/null || true
	else
		skip "${f##*/}" "wine or unzip is not installed"
	fi
done
for f in "$dir"/*_darwin_*.tar.gz; do
	[ -e "$f" ] || continue
	try "${f##*/}, read" go run ./scripts/machocheck "$(unpacked "${f##*/}")/bpfrun"
done
for f in "$dir"/*_"$(dpkg --print-architecture 2>/dev/null)".deb; do
	if [ -e "$f" ]; then try "${f##*/}" deb "$f"; else skip "deb" "no file for this machine, or no dpkg"; fi
done
for f in "$dir"/*_amd64.rpm; do
	[ -e "$f" ] || continue
	if has rpm; then try "${f##*/}" rpmfile "$f"; else skip "${f##*/}" "rpm is not installed"; fi
done
for f in "$dir"/*_image.tar; do
	[ -e "$f" ] || continue
	if has buildah; then try "${f##*/}" image "$f"; else skip "${f##*/}" "buildah is not installed"; fi
done
if has ruby; then try "bpfrun.rb" ruby -c "$dir/bpfrun.rb"; else skip "bpfrun.rb" "ruby is not installed"; fi
exit $failed
