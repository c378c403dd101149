//go:build linux

package check

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

const recorded = "testdata/words-6.18.44.txt.gz"

// wholes returns BTF that Linux accepts, with every kind of type and of field between them.
func wholes(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"kinds": build(t, func(b *btf.Builder) {
			i := b.Int("int", 4, 0)
			char := b.Int("char", 1, btf.IntSigned)
			p := b.Ptr(b.Mod(btf.KindConst, "", b.Mod(btf.KindVolatile, "", i)))
			b.Ptr(b.Mod(btf.KindTypeTag, "user", b.Mod(btf.KindTypedef, "t", char)))
			b.Mod(btf.KindRestrict, "", p)
			a := b.Array(char, i, 4)
			s := b.Struct("s", 24, at("a", a, 0), at("i", i, 4), at("p", p, 8), btf.Member{Name: "last", Type: char, BitOffset: 8 * 16})
			b.Add(btf.Type{Kind: btf.KindUnion, Name: "u", Size: 24, Members: []btf.Member{{Name: "s", Type: s}, {Name: "i", Type: i}}})
			b.Add(btf.Type{Kind: btf.KindStruct, Name: "bits", Size: 8, Flag: true, Members: []btf.Member{
				{Name: "x", Type: i, BitOffset: 3, BitfieldSize: 5}, {Name: "z", Type: char, BitOffset: 24, BitfieldSize: 8}, {Name: "y", Type: i, BitOffset: 32},
			}})
			e := b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Values: []btf.Enumerator{{Name: "A"}, {Name: "B", Value: 7}}})
			b.Add(btf.Type{Kind: btf.KindEnum64, Name: "e64", Size: 8, Values: []btf.Enumerator{{Name: "A64"}, {Name: "B64", Value: 1 << 40}}})
			b.Add(btf.Type{Kind: btf.KindFwd, Name: "f"})
			b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
			proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: e, Params: []btf.Param{{Name: "a", Type: p}, {Name: "b", Type: i}}})
			b.Add(btf.Type{Kind: btf.KindFuncProto, Params: []btf.Param{{Name: "fmt", Type: p}, {}}})
			fn := b.Add(btf.Type{Kind: btf.KindFunc, Name: "func", Ref: proto, Linkage: 1})
			v := b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: s, Linkage: 1})
			w := b.Add(btf.Type{Kind: btf.KindVar, Name: "w", Ref: i})
			b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 32, Vars: []btf.VarSecinfo{{Type: v, Size: 24}, {Type: w, Offset: 24, Size: 4}}})
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: s, ComponentIdx: 1})
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: fn, ComponentIdx: -1})
		}),
		"fields": build(t, func(b *btf.Builder) {
			i, lock, head, node, root, rb, ref := owned(b)
			b.Struct("plain", 8, at("l", lock, 0), at("i", i, 4))
			own := b.Struct("own", 4, at("i", i, 0))
			b.Struct("item", 64, at("n", node, 0), at("r", ref, 24), at("i", i, 28), at("rb", rb, 32))
			list := b.Struct("list", 24, at("l", lock, 0), at("h", head, 8))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:n", Ref: list, ComponentIdx: 1})
			tree := b.Struct("tree", 24, at("l", lock, 0), at("root", root, 8))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:item:rb", Ref: tree, ComponentIdx: 1})
			b.Struct("owner", 16, at("p", kptr(b, "kptr", own), 0), at("q", kptr(b, "percpu_kptr", own), 8))
		}),
		"nested": build(t, func(b *btf.Builder) {
			i, lock, _, _, _, _, _ := owned(b)
			p := kptr(b, "kptr_untrusted", b.Struct("own", 4, at("i", i, 0)))
			in := b.Struct("in", 16, at("p", p, 0), at("i", i, 8))
			b.Struct("out", 64, at("l", lock, 0), at("in", b.Array(in, i, 3), 8), at("p", p, 56))
			b.Struct("pointers", 40, at("a", b.Array(p, i, 5), 0))
			e := b.Add(btf.Type{Kind: btf.KindEnum, Name: "e", Size: 4, Flag: true, Values: []btf.Enumerator{{Name: "A", Value: 1<<64 - 1}}})
			b.Add(btf.Type{Kind: btf.KindStruct, Name: "bits", Size: 8, Flag: true, Members: []btf.Member{
				{Name: "x", Type: e, BitOffset: 3, BitfieldSize: 5}, {Name: "y", Type: e, BitOffset: 32},
			}})
		}),
		"forward": build(t, forward),
	}
}

// forward adds types. Most refer to later ones, so the kernel meets them before it resolves them.
func forward(b *btf.Builder) {
	const variable, modified, s, first, again, float, double, array, fn, second, i, proto = 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: s, ComponentIdx: 1})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "tag", Ref: fn, ComponentIdx: 0})
	b.Add(btf.Type{Kind: btf.KindVar, Name: "v", Ref: modified, Linkage: 1})
	b.Mod(btf.KindConst, "", s)
	b.Struct("s", 40, at("p", first, 0), at("f", float, 8), at("d", double, 16), at("a", array, 24))
	b.Ptr(again)
	b.Mod(btf.KindVolatile, "", second)
	b.Mod(btf.KindConst, "", double)
	b.Add(btf.Type{Kind: btf.KindFloat, Name: "double", Size: 8})
	b.Array(i, i, 4)
	b.Add(btf.Type{Kind: btf.KindFunc, Name: "func", Ref: proto, Linkage: 1})
	b.Ptr(modified)
	b.Int("int", 4, btf.IntSigned)
	b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: second, Params: []btf.Param{{Name: "a", Type: first}}})
	b.Add(btf.Type{Kind: btf.KindDatasec, Name: ".data", Size: 40, Vars: []btf.VarSecinfo{{Type: variable, Size: 40}}})
	b.Add(btf.Type{Kind: btf.KindStruct, Name: "floats", Size: 16, Flag: true, Members: []btf.Member{{Name: "f", Type: float}, {Name: "d", Type: double, BitOffset: 64}}})
	b.Add(btf.Type{Kind: btf.KindUnion, Name: "both", Size: 8, Members: []btf.Member{{Name: "d", Type: double}, {Name: "p", Type: first}}})
	b.Mod(btf.KindTypeTag, "tag", b.NextID()+1)
	b.Mod(btf.KindTypedef, "t", b.NextID()+1)
	b.Mod(btf.KindRestrict, "", first)
}

// singles returns BTF that is tried as it stands, because changing one word does not produce it:
// loops, chains, and offsets that do not fit together.
func singles(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	add := func(name string, f func(b *btf.Builder)) { out[name] = build(t, f) }
	for _, n := range []uint32{1, 2, 10, 11, 12, 64} {
		add(fmt.Sprintf("%d kptrs in an array", n), func(b *btf.Builder) {
			i := b.Int("int", 4, 0)
			p := kptr(b, "kptr_untrusted", b.Struct("own", 4, at("i", i, 0)))
			b.Struct("s", 8*n, at("a", b.Array(p, i, n), 0))
		})
		add(fmt.Sprintf("%d structs with kptrs in an array", n), func(b *btf.Builder) {
			i := b.Int("int", 4, 0)
			p := kptr(b, "kptr_untrusted", b.Struct("own", 4, at("i", i, 0)))
			in := b.Struct("in", 16, at("p", p, 0), at("i", i, 8))
			b.Struct("s", 16*n, at("a", b.Array(in, i, n), 0))
		})
	}
	for _, n := range []uint32{1, 2} {
		add(fmt.Sprintf("%d locks in an array", n), func(b *btf.Builder) {
			i, lock, _, _, _, _, _ := owned(b)
			b.Struct("s", 4*n, at("a", b.Array(lock, i, n), 0))
		})
		add(fmt.Sprintf("%d nodes in an array", n), func(b *btf.Builder) {
			i, _, _, node, _, _, _ := owned(b)
			b.Struct("s", 24*n, at("a", b.Array(node, i, n), 0))
		})
	}
	for _, where := range []uint32{0, 4, 8} {
		add(fmt.Sprintf("a lock beside a resilient one at %d", where), func(b *btf.Builder) {
			i, lock, _, _, _, _, _ := owned(b)
			res := b.Struct("bpf_res_spin_lock", 8, at("val", i, 0), at("pad", i, 4))
			b.Struct("s", 16, at("l", lock, where), at("r", res, 8))
		})
	}
	for _, depth := range []int{1, 7, 8, 9, 15, 16, 17, 31, 32, 33} {
		add(fmt.Sprintf("a lock %d structs down", depth), func(b *btf.Builder) {
			_, lock, _, _, _, _, _ := owned(b)
			for n := range depth {
				lock = b.Struct(fmt.Sprintf("s%d", n), 8, at("in", lock, 0))
			}
		})
		add(fmt.Sprintf("%d modifiers", depth), func(b *btf.Builder) {
			to := b.Int("int", 4, 0)
			for range depth {
				to = b.Mod(btf.KindConst, "", to)
			}
			b.Struct("s", 4, at("in", to, 0))
		})
		add(fmt.Sprintf("%d lists of lists", depth), func(b *btf.Builder) {
			_, lock, head, node, _, _, _ := owned(b)
			for n := range depth {
				id := b.Struct(fmt.Sprintf("s%d", n), 48, at("l", lock, 0), at("h", head, 8), at("n", node, 24))
				b.Add(btf.Type{Kind: btf.KindDeclTag, Name: fmt.Sprintf("contains:s%d:n", n+1), Ref: id, ComponentIdx: 1})
			}
			b.Struct(fmt.Sprintf("s%d", depth), 24, at("n", node, 0))
		})
	}
	for _, end := range []string{"", "s", "item", "none"} {
		add("a list that contains "+end, func(b *btf.Builder) {
			_, lock, head, node, _, _, _ := owned(b)
			b.Struct("item", 24, at("n", node, 0))
			id := b.Struct("s", 48, at("l", lock, 0), at("h", head, 8), at("n", node, 24))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:" + end + ":n", Ref: id, ComponentIdx: 1})
		})
	}
	add("modifiers in a ring", func(b *btf.Builder) {
		b.Mod(btf.KindConst, "", 2)
		b.Mod(btf.KindVolatile, "", 1)
	})
	add("lists that contain each other", func(b *btf.Builder) {
		_, lock, head, node, _, _, _ := owned(b)
		for _, other := range []string{"b", "a"} {
			id := b.Struct(map[string]string{"a": "b", "b": "a"}[other], 48, at("l", lock, 0), at("h", head, 8), at("n", node, 24))
			b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:" + other + ":n", Ref: id, ComponentIdx: 1})
		}
	})
	for c := range 255 {
		for _, name := range []string{string([]byte{byte(c + 1)}), "a" + string([]byte{byte(c + 1)})} {
			add(fmt.Sprintf("a struct named %x", name), func(b *btf.Builder) { b.Struct(name, 0) })
			add(fmt.Sprintf("a section named %x", name), func(b *btf.Builder) {
				b.Add(btf.Type{Kind: btf.KindDatasec, Name: name, Size: 4})
			})
		}
	}
	for _, bit := range []uint32{0, 1, 8, 31, 32} {
		for _, flag := range []bool{false, true} {
			for _, special := range []bool{false, true} {
				add(fmt.Sprintf("a field at bit %d, %v, %v", bit, flag, special), func(b *btf.Builder) {
					i, lock, _, _, _, _, _ := owned(b)
					p := kptr(b, "kptr_untrusted", b.Struct("own", 4, at("i", i, 0)))
					which := lock
					if special {
						which = p
					}
					b.Add(btf.Type{Kind: btf.KindStruct, Name: "s", Size: 24, Flag: flag, Members: []btf.Member{at("q", p, 16), {Name: "f", Type: which, BitOffset: bit}}})
				})
			}
		}
	}
	out["nothing"] = nil
	return out
}

// all calls f with all BTF that is asked about.
func all(t testing.TB, f func(name string, raw []byte)) {
	for _, name := range []string{"fields", "forward", "kinds", "nested"} {
		f(name, wholes(t)[name])
		changes(wholes(t)[name], func(change string, changed []byte) { f(name+" "+change, changed) })
	}
	one := singles(t)
	for _, name := range slices.Sorted(maps.Keys(one)) {
		f(name, one[name])
	}
}

// changes calls f with copies of BTF in which one place differs: a number that is next to the right
// one or at an end of its range, one bit, a byte of a string, or the length.
func changes(raw []byte, f func(name string, changed []byte)) {
	header := int(binary.LittleEndian.Uint32(raw[4:]))
	strings := header + int(binary.LittleEndian.Uint32(raw[16:]))
	for at := 0; at+4 <= strings; at += 4 {
		w := binary.LittleEndian.Uint32(raw[at:])
		values := []uint32{0, 1, 2, 3, 1<<32 - 1, w + 1, w - 1, w + 2, w + 4, w * 2}
		for _, bit := range []int{2, 3, 4, 5, 15, 16, 17, 18, 23, 24, 25, 26, 27, 28, 30, 31} {
			values = append(values, w^1<<bit)
		}
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			c := bytes.Clone(raw)
			binary.LittleEndian.PutUint32(c[at:], v)
			f(fmt.Sprintf("%d=%x", at, v), c)
		}
	}
	for at := strings; at < len(raw); at++ {
		for _, v := range []byte{0, '.', 0x1f} {
			c := bytes.Clone(raw)
			c[at] = v
			f(fmt.Sprintf("%d=%x", at, v), c)
		}
	}
	for n := range len(raw) {
		f(fmt.Sprintf("first %d bytes", n), raw[:n])
	}
	f("a byte more", append(bytes.Clone(raw), 0))
}

// host asks the running kernel, with a pause after some questions.
type host struct{ asked int }

// load loads BTF.
func (h *host) load(raw []byte) string {
	var pin runtime.Pinner
	defer pin.Unpin()
	attr := struct {
		btf, log       uint64
		size, logSize  uint32
		logLevel, true uint32
	}{size: uint32(len(raw))}
	if len(raw) > 0 {
		pin.Pin(&raw[0])
		attr.btf = uint64(uintptr(unsafe.Pointer(&raw[0])))
	}
	if h.asked++; h.asked%32 == 0 {
		time.Sleep(20 * time.Millisecond)
	}
	const load = 18
	fd, _, e := unix.Syscall(unix.SYS_BPF, load, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	if e != 0 {
		return uapi.Errno(e).Name()
	}
	unix.Close(int(fd))
	return "ok"
}

// TestChangedWordsAreRefusedAsByTheKernel compares verdicts on BTF, most with one change, with those of
// Linux 6.18.44, where they were recorded with -record.
func TestChangedWordsAreRefusedAsByTheKernel(t *testing.T) {
	if *recording.Flag {
		var h host
		var out strings.Builder
		all(t, func(name string, raw []byte) { fmt.Fprintln(&out, name, h.load(raw)) })
		recording.Write(t, recorded, out.String())
	}
	want := map[string]string{}
	for line := range strings.Lines(recording.Read(t, recorded)) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		want[line[:i]] = line[i+1:]
	}
	// Types of fields are those of the kernel, too.
	options := Options{Release: r(6, 18), InKernel: func(kind btf.Kind, name string) bool {
		return kind == btf.KindStruct && strings.HasPrefix(name, "bpf_")
	}}
	tried := 0
	all(t, func(name string, raw []byte) {
		tried++
		got := "ok"
		if err := BTF(raw, options); err != nil {
			var p *Problem
			require.True(t, errors.As(err, &p))
			got = p.Errno.Name()
		}
		assert.Equal(t, want[name], got, name)
	})
	for name := range wholes(t) {
		assert.Equal(t, "ok", want[name], name)
	}
	assert.Len(t, want, tried)
}
