package bench

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/vm"
)

// xdpParse is a program as firewalls begin: Ethernet, IPv4, UDP; bounds, types and a port are
// checked. r1 is the start of the packet, r2 its end.
const xdpParse = `
	r0 = 2
	r3 = r1
	r3 += 42
	if r3 > r2 goto out
	r4 = *(u16 *)(r1 + 12)
	if r4 != 8 goto out
	r4 = *(u8 *)(r1 + 14)
	r5 = r4
	r5 &= 240
	if r5 != 64 goto out
	r4 &= 15
	if r4 != 5 goto out
	r4 = *(u8 *)(r1 + 23)
	if r4 != 17 goto out
	r4 = *(u32 *)(r1 + 26)
	r5 = *(u32 *)(r1 + 30)
	r4 ^= r5
	r5 = *(u16 *)(r1 + 36)
	if r5 == 13568 goto out
	r0 = 1
out:	exit`

// TestJITCosts measures what is around native code: BENCH_JIT=1.
func TestJITCosts(t *testing.T) {
	if os.Getenv("BENCH_JIT") == "" {
		t.Skip("BENCH_JIT is not set")
	}
	m, err := mem.New(mem.Config{Size: 16 << 20})
	require.NoError(t, err)
	defer m.Close()
	e, err := jit.New(m)
	if err != nil {
		t.Skip(err)
	}
	defer e.Close()
	packet, err := m.Alloc(64, mem.Region{Kind: mem.Packet, Name: "packet"})
	require.NoError(t, err)
	b := m.Bytes(packet)
	b[12], b[14], b[23] = 8, 0x45, 17
	lower := func(text string) *vm.Image {
		insns, err := decode.Assemble(text)
		require.NoError(t, err)
		img, err := vm.Lower(vm.LowerConfig{Insns: insns, Fuse: true})
		require.NoError(t, err)
		return img
	}
	best := func(img *vm.Image, engine vm.Engine, args ...uint64) float64 {
		th := vm.NewThread(m, vm.ThreadConfig{})
		th.SetEngine(engine)
		ns := 0.0
		for range 20 {
			got := window(func() {
				th.Start(img, args...)
				if th.Run(1<<40) != vm.Done {
					t.Fatal(th.Fault())
				}
			})
			if ns == 0 || got < ns {
				ns = got
			}
		}
		return ns
	}
	tiny, parse := lower("r0 = 0\nexit"), lower(xdpParse)
	fmt.Println("| | JIT | interpreter |")
	fmt.Println("|---|---:|---:|")
	fmt.Printf("| run of two instructions, start included, ns | %.0f | %.0f |\n", best(tiny, e), best(tiny, nil))
	args := []uint64{packet.Base, packet.Base + packet.Size}
	fmt.Printf("| parsing Ethernet, IPv4 and UDP, 19 instructions, start included, ns | %.0f | %.0f |\n", best(parse, e, args...), best(parse, nil, args...))
	printCallCosts(t)
	var c *jit.Compiled
	for _, loops := range []bool{false, true} {
		total, insns, what := 0.0, 0, ""
		if loops {
			what = ", again with loops"
		}
		for _, name := range names(t) {
			p := load(t, name)
			ns := 0.0
			for range 10 {
				got := window(func() {
					if c, err = jit.Compile(p.img, nil, loops, c); err != nil {
						t.Fatal(err)
					}
				})
				if ns == 0 || got < ns {
					ns = got
				}
			}
			total += ns
			insns += p.img.Len()
		}
		fmt.Printf("| compilation of 1000 instructions (all %d of the programs)%s, µs | %.0f | – |\n", insns, what, total/float64(insns))
	}
}
