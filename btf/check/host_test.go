//go:build linux

package check

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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
	"github.com/bpfrun/bpfrun/internal/uapi"
)

var record = flag.Bool("record", false, "ask the running kernel, which must be the release of the recording, as root")

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

// TestChangedWordsAreRefusedAsByTheKernel compares verdicts on BTF with one change with those of
// Linux 6.18.44, where they were recorded with -record.
func TestChangedWordsAreRefusedAsByTheKernel(t *testing.T) {
	if *record {
		var h host
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
		require.NoError(t, err)
		for _, name := range []string{"fields", "kinds"} {
			raw := wholes(t)[name]
			require.NoError(t, BTF(raw, Options{Release: r(6, 18)}), name)
			require.Equal(t, "ok", h.load(raw), name)
			changes(raw, func(change string, changed []byte) { fmt.Fprintln(z, name, change, h.load(changed)) })
		}
		require.NoError(t, z.Close())
		require.NoError(t, os.WriteFile(recorded, out.Bytes(), 0o644))
	}
	raw, err := os.ReadFile(recorded)
	require.NoError(t, err)
	z, err := gzip.NewReader(bytes.NewReader(raw))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		want[line[:i]] = line[i+1:]
	}
	// Types of fields are those of the kernel, too.
	options := Options{Release: r(6, 18), InKernel: func(kind btf.Kind, name string) bool {
		return kind == btf.KindStruct && strings.HasPrefix(name, "bpf_")
	}}
	tried := 0
	for _, name := range []string{"fields", "kinds"} {
		raw := wholes(t)[name]
		changes(raw, func(change string, changed []byte) {
			tried++
			got := "ok"
			if err := BTF(changed, options); err != nil {
				var p *Problem
				require.True(t, errors.As(err, &p))
				got = p.Errno.Name()
			}
			assert.Equal(t, want[name+" "+change], got, "%s %s", name, change)
		})
	}
	assert.Len(t, want, tried)
}
