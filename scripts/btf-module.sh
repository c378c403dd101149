#!/bin/sh
# btf-module.sh OUT: builds btf/ids/testdata/module against Debian's kernel headers and compares the output of `btf resolve-ids`, byte for byte, with that of
# resolve_btfids, which the build runs. Needs Debian, gcc, make and pahole; no root. KERNEL is a release of linux-headers that apt knows, BPFRUN the bpfrun to use.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
bpfrun=${BPFRUN:-bpfrun}
kernel=${KERNEL:-$(apt-cache search --names-only '^linux-headers-[0-9].*-cloud-amd64$' | sed 's/^linux-headers-//; s/ .*//' | sort -V | tail -1)}
root=$out/root
if [ ! -d "$root/usr/src" ]; then
	kbuild=$(apt-cache depends "linux-headers-$kernel" | sed -n 's/.*Depends: \(linux-kbuild-.*\)/\1/p')
	common=$(apt-cache depends "linux-headers-$kernel" | sed -n 's/.*Depends: \(linux-headers-.*-common\)/\1/p')
	(cd "$out" && apt-get download "linux-headers-$kernel" "$common" "$kbuild")
	for deb in "$out"/*.deb; do
		dpkg-deb -x "$deb" "$root"
	done
	# The packages refer to each other by absolute paths.
	find "$root/usr/src" "$root"/usr/lib/linux-kbuild-* -type f \( -name Makefile -o -name .kernelvariables \) -exec sed -i "s,/usr/src/,$root/usr/src/,g; s,/usr/lib/linux-kbuild,$root/usr/lib/linux-kbuild,g" {} +
fi
headers=$root/usr/src/linux-headers-$kernel
tools=$headers/tools/bpf/resolve_btfids
work=$out/module
rm -rf "$work"
mkdir -p "$work"
cp "$here/btf/ids/testdata/module/kfuncs.c" "$work/"
echo 'obj-m := kfuncs.o' >"$work/Makefile"
# Run by the build instead of resolve_btfids: keeps a copy of the file as it was before.
cat >"$work/resolve" <<EOF
#!/bin/sh
for file; do :; done
cp "\$file" "\$file.before"
exec "$tools/resolve_btfids" "\$@"
EOF
chmod +x "$work/resolve"
make -s -C "$headers" M="$work" RESOLVE_BTFIDS="$work/resolve" modules
"$bpfrun" btf resolve-ids "$work/kfuncs.ko.before" --base "$headers/vmlinux" -o "$work/ours.ko" -q
cmp "$work/kfuncs.ko" "$work/ours.ko"
echo "btf resolve-ids: equal to resolve_btfids, $(wc -c <"$work/ours.ko") bytes ($kernel)"
"$bpfrun" btf ids "$work/kfuncs.ko" --base "$headers/vmlinux"
"$bpfrun" btf gen "$work/kfuncs.ko.before" --base "$headers/vmlinux" --features var,float,decl_tag,type_tag,enum64,decl_tag_kfuncs,distilled_base --into "$work/gen.ko"
