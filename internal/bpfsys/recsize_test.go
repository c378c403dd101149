package bpfsys_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSizesOfRecordsAreTold: who passes longer records of functions or lines than the kernel knows,
// with something in the rest, gets the size that the kernel knows. Error numbers, sizes and logs are
// those of Linux 6.18.44.
func TestSizesOfRecordsAreTold(t *testing.T) {
	d := describedTask(t)
	words := func(v ...int) []byte {
		var b []byte
		for _, n := range v {
			b = le.AppendUint32(b, uint32(n))
		}
		return b
	}
	fn, line := []int{0, int(d.fn)}, []int{0, 1, 1, 1 << 10}
	with := func(v []int, more ...int) []byte { return words(append(v[:len(v):len(v)], more...)...) }
	for _, tt := range []struct {
		name               string
		funcs, lines       []byte
		funcSize, lineSize int // as passed
		funcKnown          int // as told
		lineKnown          int
		errno              uapi.Errno
		log                string
	}{
		{name: "the kernel's sizes", funcs: with(fn), lines: with(line), funcSize: 8, lineSize: 16, funcKnown: 8, lineKnown: 16},
		{name: "longer records of zeros", funcs: with(fn, 0), lines: with(line, 0), funcSize: 12, lineSize: 20, funcKnown: 12, lineKnown: 20},
		{name: "more of a function", funcs: with(fn, 1), lines: with(line), funcSize: 12, lineSize: 16, funcKnown: 8, lineKnown: 16, errno: uapi.E2BIG, log: "nonzero tailing record in func info"},
		{name: "more of a line", funcs: with(fn), lines: with(line, 1), funcSize: 8, lineSize: 20, funcKnown: 8, lineKnown: 16, errno: uapi.E2BIG, log: "nonzero tailing record in line_info"},
		{name: "no multiple of a word", funcs: with(fn), lines: with(line), funcSize: 6, lineSize: 16, funcKnown: 6, lineKnown: 16, errno: uapi.EINVAL, log: "invalid func info rec size 6\n"},
		{name: "functions too long", funcs: with(fn), lines: with(line), funcSize: 256, lineSize: 16, funcKnown: 256, lineKnown: 16, errno: uapi.EINVAL, log: "invalid func info rec size 256\n"},
		{name: "lines too short", funcs: with(fn), lines: with(line), funcSize: 8, lineSize: 12, funcKnown: 8, lineKnown: 12, errno: uapi.EINVAL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newCaller(t, newestKernel(t))
			types, e, _ := k.call(btfLoad, field{0, k.put(d.raw)}, field{16, len(d.raw)})
			require.Zero(t, e)
			log, code := k.room(4096), decode.Marshal(returning(1), le)
			_, e, a := k.call(progLoad, field{0, int(uapi.ProgTypeXDP)}, field{4, len(code) / 8}, field{8, k.put(code)}, field{16, k.text("GPL")},
				field{24, 1}, field{28, 4096}, field{32, log}, field{72, int(types)},
				field{76, tt.funcSize}, field{80, k.put(tt.funcs)}, field{88, 1}, field{92, tt.lineSize}, field{96, k.put(tt.lines)}, field{104, 1})
			require.Equal(t, tt.errno, e, "%v", k.notes)
			assert.EqualValues(t, tt.funcKnown, le.Uint32(a[76:]))
			assert.EqualValues(t, tt.lineKnown, le.Uint32(a[92:]))
			text, _, _ := strings.Cut(string(k.at(log, 4096)), "\x00")
			text, _, _ = strings.Cut(text, "processed ")
			assert.Equal(t, tt.log, text)
		})
	}
}

// sealed is a task whose memory cannot be written where its last attribute is.
type sealed struct {
	*task
	from uint64
}

func (s sealed) Write(addr uint64, p []byte) bool { return addr < s.from && s.task.Write(addr, p) }

// TestSizesOfRecordsThatCannotBeTold: what the kernel cannot write into the attribute is EFAULT.
func TestSizesOfRecordsThatCannotBeTold(t *testing.T) {
	d := describedTask(t)
	for _, tt := range []struct {
		name               string
		funcSize, lineSize int
		want               uapi.Errno
	}{{"the kernel's sizes", 8, 16, 0}, {"more of a function", 12, 16, uapi.EFAULT}, {"more of a line", 8, 20, uapi.EFAULT}} {
		k := newCaller(t, newestKernel(t))
		types, e, _ := k.call(btfLoad, field{0, k.put(d.raw)}, field{16, len(d.raw)})
		require.Zero(t, e)
		funcs, lines := make([]byte, tt.funcSize), make([]byte, tt.lineSize)
		le.PutUint32(funcs[4:], uint32(d.fn))
		le.PutUint32(lines[4:], 1)
		le.PutUint32(lines[8:], 1)
		le.PutUint32(lines[12:], 1<<10)
		for _, rest := range [][]byte{funcs[8:], lines[16:]} {
			for i := range rest {
				rest[i] = 1
			}
		}
		code := decode.Marshal(returning(1), le)
		attr := union(field{0, int(uapi.ProgTypeXDP)}, field{4, len(code) / 8}, field{8, k.put(code)}, field{16, k.text("GPL")}, field{72, int(types)},
			field{76, tt.funcSize}, field{80, k.put(funcs)}, field{88, 1}, field{92, tt.lineSize}, field{96, k.put(lines)}, field{104, 1})
		addr := k.put(attr)
		r := k.s.Call(sealed{k.task, uint64(addr)}, progLoad, addr, uint32(len(attr)), 0, 0)
		assert.Equal(t, tt.want, r.Errno, "%s: %v", tt.name, k.notes)
	}
}
