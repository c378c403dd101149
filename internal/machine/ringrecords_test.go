package machine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/testing/testsize"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// recordMaker writes a random program that works on two ring buffers in a loop. r6 counts the turns, r7
// sums up what the program sees, addresses included, and r8 and r9 are records.
type recordMaker struct {
	*rand.Rand
	strings.Builder
	labels int
	wild   int // one in so many steps is a mistake, 0 for none
	turns  int
}

func (m *recordMaker) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *recordMaker) label() string {
	m.labels++
	return fmt.Sprintf("l%d", m.labels)
}

var recordSizes = []int{1, 4, 7, 8, 12, 16, 24, 40, 57, 64, 100, 127, 128, 136, 512}

// program returns the text of a program whose turns make the same steps.
func (m *recordMaker) program() string {
	sizes := make([]int, 1+m.IntN(3))
	for i := range sizes {
		sizes[i] = recordSizes[m.IntN(len(recordSizes))]
	}
	m.turns = 20 + m.IntN(400)
	m.line(".map rb ringbuf 0 0 4096\n.map rc ringbuf 0 0 %d\n.map sums array 4 8 4\n.license GPL\n.prog p tc", 4096<<m.IntN(3))
	m.line("r6 = 0\nr7 = 0\nr8 = 0\nr9 = 0\n*(u64 *)(r10 - 8) = 0\n*(u64 *)(r10 - 16) = 0\n*(u64 *)(r10 - 24) = 0\nagain:")
	for range 1 + m.IntN(4) {
		m.step(sizes[m.IntN(len(sizes))])
	}
	m.line("r6 += 1\nif r6 < %d goto again", m.turns)
	m.line("*(u32 *)(r10 - 8) = 1\nr2 = r10\nr2 += -8\nr1 = map_fd(sums)\ncall bpf_map_lookup_elem\nif r0 == 0 goto out\n*(u64 *)(r0 + 0) = r7\nout: r0 = r7\nexit")
	m.line("fill: *(u8 *)(r1 + 0) = r2\nr0 = 1\nexit\npoke: *(u8 *)(r1 + 0) = r2\nr0 = 3\nexit\nfinish: call bpf_ringbuf_submit\nr0 = 2\nexit")
	return m.String()
}

func (m *recordMaker) ring() string { return []string{"rb", "rc"}[m.IntN(2)] }

func (m *recordMaker) step(size int) {
	if m.IntN(6) == 0 {
		m.output(size)
		return
	}
	skip := m.label()
	m.reserve(8, size, skip)
	m.use(8, size)
	switch m.IntN(7) {
	case 0: // another one before this ends
		inner := m.label()
		m.reserve(9, recordSizes[m.IntN(6)], inner)
		m.use(9, 1)
		if m.IntN(2) == 0 {
			m.end(9)
			m.line("%s:", inner)
			m.end(8)
		} else {
			m.end(8)
			m.end(9)
			m.line("goto %s", skip)
			m.line("%s:", inner)
			m.end(8)
		}
	case 1:
		m.line("call bpf_get_prandom_u32") // leaves native code
		m.use(8, size)
		m.end(8)
	case 2:
		m.line("call bpf_ktime_get_ns\nr7 += r0")
		m.end(8)
	default:
		m.end(8)
	}
	if m.IntN(4) == 0 && size >= 8 { // a loop over the bytes before it ends would be the fill of one
		m.line("r7 *= 3")
	}
	m.line("%s:", skip)
}

// reserve reserves a record in a register, or jumps.
func (m *recordMaker) reserve(reg, size int, none string) {
	m.line("r1 = map_fd(%s)\nr2 = %d\nr3 = 0", m.ring(), size)
	if m.IntN(20) == 0 {
		m.line("r3 = 1")
	}
	m.line("call bpf_ringbuf_reserve\nr7 *= 5\nr7 += r0\nif r0 == 0 goto %s\nr%d = r0", none, reg)
}

// use reads, stores and reads again.
func (m *recordMaker) use(reg, size int) {
	widths := []int{1, 2, 4, 8}
	for range m.IntN(4) {
		w := widths[m.IntN(4)]
		if w > size {
			w = 1
		}
		off := m.IntN(size - w + 1)
		if m.wild > 0 && m.IntN(m.wild) == 0 {
			// beyond the bounds, at one turn
			ok := m.label()
			m.line("if r6 != %d goto %s\nr1 = *(u%d *)(r%d + %d)\n%s:", m.IntN(m.turns), ok, 8*w, reg, size-w+1+m.IntN(24), ok)
		}
		m.line("r1 = *(u%d *)(r%d + %d)\nr7 += r1\n*(u%d *)(r%d + %d) = r6\nr1 = *(u%d *)(r%d + %d)\nr7 *= 3\nr7 += r1", 8*w, reg, off, 8*w, reg, off, 8*w, reg, off)
	}
	switch m.IntN(8) {
	case 0:
		m.line("r1 = r%d\nr2 = r6\ncall fill\nr7 += r0", reg)
	case 1: // a loop that gets guards
		again := m.label()
		m.line("r1 = r%d\nr2 = %d\n%s: *(u8 *)(r1 + 0) = r2\nr1 += 1\nr2 += -1\nif r2 != 0 goto %s", reg, size, again, again)
	}
}

// end ends the record in a register.
func (m *recordMaker) end(reg int) {
	if m.wild > 0 && m.IntN(m.wild) == 0 {
		ok := m.label()
		m.line("if r6 != %d goto %s", m.IntN(m.turns), ok)
		switch m.IntN(6) {
		case 4: // used afterwards by a function whose check has just seen it
			m.line("r1 = r%d\nr2 = r6\ncall poke\nr1 = r%d\nr2 = 0\ncall bpf_ringbuf_submit\nr1 = r%d\nr2 = 1\ncall poke", reg, reg, reg)
		case 5: // ended in the middle of a loop that goes on with it
			again, on := m.label(), m.label()
			m.line("*(u64 *)(r10 - 32) = 0\n%s: *(u8 *)(r%d + 0) = 5\nr1 = *(u64 *)(r10 - 32)\nr1 += 1\n*(u64 *)(r10 - 32) = r1\nif r1 != 9 goto %s\nr1 = r%d\nr2 = 0\ncall %s\n%s: r1 = *(u64 *)(r10 - 32)\nif r1 < 20 goto %s", again, reg, on, reg, []string{"bpf_ringbuf_submit", "finish"}[m.IntN(2)], on, again)
		case 0: // twice
			m.line("r1 = r%d\nr2 = 0\ncall bpf_ringbuf_submit", reg)
		case 1: // not at all
			m.line("r0 = 7\nexit")
		case 2: // what is none
			m.line("r%d += 8", reg)
		case 3: // used afterwards
			m.line("r1 = r%d\nr2 = 0\ncall bpf_ringbuf_discard\nr1 = *(u8 *)(r%d + 0)", reg, reg)
		}
		m.line("%s:", ok)
	}
	m.line("r1 = r%d\nr2 = %d", reg, []int{0, 0, 1, 2, 77}[m.IntN(5)])
	switch m.IntN(5) {
	case 0:
		m.line("call finish\nr7 += r0")
	case 1, 2:
		m.line("call bpf_ringbuf_discard")
	default:
		m.line("call bpf_ringbuf_submit")
	}
	if m.wild > 0 && m.IntN(2*m.wild) == 0 {
		ok := m.label()
		m.line("if r6 != %d goto %s\nr1 = *(u8 *)(r%d + 0)\n%s:", m.IntN(m.turns), ok, reg, ok)
	}
}

func (m *recordMaker) output(size int) {
	m.line("*(u64 *)(r10 - 24) = r6\nr1 = map_fd(%s)\nr2 = r10\nr2 += -24\nr3 = %d\nr4 = %d\ncall bpf_ringbuf_output\nr7 += r0", m.ring(), min(size, 24), m.IntN(2))
}

// recordsOutcome is what can be seen of a run that works on ring buffers.
type recordsOutcome struct {
	Result *machine.Result
	Fault  string
	Rings  []ringSeen
}

type ringSeen struct {
	Queries [4]uint64
	Records []maps.Record
	Lost    uint64
	Open    []uint64
}

func runRecords(t *testing.T, m *machine.Machine, l *loader.Linked) recordsOutcome {
	t.Helper()
	res, err := m.Run(context.Background(), "p", machine.Input{})
	require.NoError(t, err)
	out := recordsOutcome{Result: res}
	if res.Fault != nil {
		out.Fault = res.Fault.Error()
		res.Fault = nil // its region differs between machines
	}
	for _, name := range []string{"rb", "rc"} {
		def, ok := l.Map(name)
		require.True(t, ok)
		b, ok := m.Map(def)
		require.True(t, ok)
		ring := b.(maps.RingBuffer)
		s := ringSeen{Records: ring.Records(), Lost: ring.Lost(), Open: ring.Open()}
		for i, what := range []uint64{uapi.RbAvailData, uapi.RbRingSize, uapi.RbConsPos, uapi.RbProdPos} {
			s.Queries[i] = ring.Query(what)
		}
		out.Rings = append(out.Rings, s)
	}
	return out
}

// TestRecordsOnEveryEngine: records that native code reserves and ends are those of the helpers:
// addresses, contents, times, order, what is lost when the buffer is full, faults, and what is left
// open; also after a snapshot was restored, and however user space reads.
func TestRecordsOnEveryEngine(t *testing.T) {
	seeds := testsize.Pick(2000, 120, 40)
	for seed := range seeds {
		m := &recordMaker{Rand: rand.New(rand.NewPCG(11, uint64(seed)))}
		if seed%2 == 1 {
			m.wild = 6
		}
		text := m.program()
		consume := maps.ConsumeMode(m.IntN(3))
		restore := m.IntN(3) == 0
		spec, err := embedded.Spec()
		require.NoError(t, err)
		data, err := assembly.Object("records.s", text, spec)
		require.NoError(t, err, text)
		o, err := loader.OpenBytes("records.o", data)
		require.NoError(t, err)
		l, err := o.Load(target(t, embedded.Name), loader.LoadOptions{})
		require.NoError(t, err)
		var want []recordsOutcome
		for i, cfg := range []machine.Config{{}, {Engine: machine.EngineJIT}, {Engine: machine.EngineJIT, EagerLoops: true}, {Engine: machine.EngineBoth, OnDifference: func(s string) { t.Error(s) }}} {
			cfg.Seed, cfg.CPUs, cfg.Consume = 3, 2, consume
			m := compose(t, l, cfg)
			machine.Untracked(m, true) // tracked runs begin on the interpreter
			var got []recordsOutcome
			for n := range 5 {
				got = append(got, runRecords(t, m, l))
				if restore && n == 2 {
					state := m.Snapshot()
					got = append(got, runRecords(t, m, l))
					m.Restore(state)
				}
			}
			if i == 0 {
				want = got
				continue
			}
			for n := range got {
				dropLeaks([][]machine.Result{{*want[n].Result}, {*got[n].Result}})
				want[n].Result.Findings, got[n].Result.Findings = nil, nil
				if !assert.ObjectsAreEqual(want[n], got[n]) {
					assert.Equal(t, want[n], got[n], "seed %d, engine %d, run %d\n%s", seed, i, n, text)
					return
				}
			}
		}
	}
}
