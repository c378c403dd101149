//go:build linux

package bpfsys_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// branchy returns a program of two functions, the second of which begins at sub, whose branches
// compare constants: some instructions are never reached.
func branchy(rng *rand.Rand) (insns []decode.Insn, sub int) {
	function := func(size int, more ...decode.Insn) {
		insns = append(insns, decode.Insn{Code: 0xb7, Imm: int32(rng.IntN(2))})
		for left := size; left > 0; left-- {
			far := int16(rng.IntN(left))
			insns = append(insns, slices.Concat(more, []decode.Insn{
				{Code: 0xb7, Imm: int32(rng.IntN(2))},                                  // r0 = 0 or 1
				{Code: 0x15, Off: far, Imm: int32(rng.IntN(2))},                        // if r0 == 0 or 1
				{Code: 0x55, Off: far, Imm: int32(rng.IntN(2))},                        // if r0 != 0 or 1
				{Code: 0x16, Off: far, Imm: int32(rng.IntN(2))},                        // if w0 == 0 or 1
				{Code: []byte{0x05, 0xe5}[rng.IntN(2)], Off: far * int16(rng.IntN(2))}, // goto, may_goto
				{Code: 0x06, Imm: int32(far)},                                          // gotol
			})[rng.IntN(6+len(more))])
		}
		insns = append(insns, decode.Insn{Code: 0x95})
	}
	function(2 + rng.IntN(8))
	sub = len(insns)
	calls := 1 + rng.IntN(sub-2)
	insns[calls] = decode.Insn{Code: 0x85, Src: 1, Imm: int32(sub - calls - 1)}
	function(rng.IntN(6))
	return insns, sub
}

// left is what the information of a loaded program has of it: its instructions, and where its
// functions and lines begin. Each instruction has a line, with its number, except every third.
func left(t *testing.T, k *task, types int64, fn btf.ID, text uint32, insns []decode.Insn, sub int) string {
	t.Helper()
	words := func(v ...uint32) (out []byte) {
		for _, w := range v {
			out = le.AppendUint32(out, w)
		}
		return out
	}
	var lines []byte
	for i := range insns {
		if i%3 != 2 || i == sub {
			lines = append(lines, words(uint32(i), text, text, uint32(i+1)<<10)...)
		}
	}
	fd, e := k.load(uapi.ProgTypeSocketFilter, insns, field{72, int(types)}, field{76, 8}, field{80, k.put(words(0, uint32(fn), uint32(sub), uint32(fn)))}, field{88, 2},
		field{92, 16}, field{96, k.put(lines)}, field{104, len(lines) / 16})
	if e != 0 {
		return e.Name()
	}
	defer k.close(fd)
	const most = 64
	at, code, funcs, shown := k.room(232), k.room(8*most), k.room(8*most), k.room(16*most)
	for off, v := range map[uint64]uint64{20: 8 * most, 132: 8, 144: most, 148: most, 172: 16} {
		le.PutUint32(k.at(at+off, 4), uint32(v))
	}
	for off, v := range map[uint64]uint64{32: code, 136: funcs, 152: shown} {
		le.PutUint64(k.at(at+off, 8), v)
	}
	_, e, _ = k.call(infoByFD, field{0, int(fd)}, field{4, 232}, field{8, at})
	require.Zero(t, e)
	n := func(off uint64) uint64 { return uint64(le.Uint32(k.at(at+off, 4))) }
	var out strings.Builder
	for i := range n(20) / 8 {
		b := k.at(code+8*i, 8)
		if b[0] == 0xe5 || b[0] == 0x7a { // which kernels expand to stores and more
			return "may_goto"
		}
		fmt.Fprintf(&out, "%02x", b[0])
		if b[0] != 0x85 { // a call's immediate is what the JIT made of it
			fmt.Fprintf(&out, "%+d,%d", int16(le.Uint16(b[2:])), int32(le.Uint32(b[4:])))
		}
		out.WriteByte(' ')
	}
	out.WriteString("functions")
	for i := range n(144) {
		fmt.Fprintf(&out, " %d", le.Uint32(k.at(funcs+8*i, 4)))
	}
	out.WriteString(" lines")
	for i := range n(148) {
		b := k.at(shown+16*i, 16)
		fmt.Fprintf(&out, " %d:%d", le.Uint32(b), le.Uint32(b[12:])>>10)
	}
	return out.String()
}

const recordedDeadCode = "testdata/deadcode-6.18.44.txt.gz"

// TestInformationLacksDeadCode compares what is left of random programs with what Linux 6.18.44
// leaves of them, where it was recorded with -record.
func TestInformationLacksDeadCode(t *testing.T) {
	b := btf.NewBuilder(nil)
	num := b.Int("int", 4, btf.IntSigned)
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: num, Params: []btf.Param{{Name: "ctx", Type: b.Ptr(0)}}})
	fn := b.Add(btf.Type{Kind: btf.KindFunc, Name: "f", Ref: proto, Linkage: btf.LinkageStatic})
	raw, err := b.Marshal(le)
	require.NoError(t, err)
	text := uint32(bytes.Index(raw, []byte("\x00f\x00")) + 1 - 24 - int(le.Uint32(raw[16:])))
	all := func(k *task) string {
		types, e, _ := k.call(btfLoad, field{0, k.put(raw)}, field{16, len(raw)}, field{24, 0})
		require.Zero(t, e)
		rng, start := rand.New(rand.NewPCG(35, 1)), k.used
		var out strings.Builder
		for range 600 {
			insns, sub := branchy(rng)
			k.used = start
			clear(k.mem[start:])
			fmt.Fprintln(&out, left(t, k, types, fn, text, insns, sub))
		}
		return out.String()
	}
	if *recording.Flag {
		recording.Write(t, recordedDeadCode, all(hostTask(t, 1, 2*time.Millisecond)))
	}
	got := all(newTaskOn(t, loader.NewTarget("linux-6.18.44", newestKernel(t), loader.WithVersion(6<<16|18<<8|44))))
	want := recording.Read(t, recordedDeadCode)
	assert.Greater(t, strings.Count(want, "functions"), 200, "programs that load")
	assert.Equal(t, strings.Split(want, "\n"), strings.Split(got, "\n"))
}
