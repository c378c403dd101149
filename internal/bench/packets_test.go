package bench

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// parser prepares the XDP parser for replays of packets.
func parser(t testing.TB) (*machine.Machine, *machine.Replay) {
	t.Helper()
	obj, err := loader.Open("testdata/net/parser.bpf.o")
	require.NoError(t, err)
	linked, err := obj.Load(target(t), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Uncovered: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	r, _, err := m.Replay("parser", machine.Input{})
	require.NoError(t, err)
	return m, r
}

// traffic are TCP packets of several flows and sizes.
func traffic(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for _, expr := range []string{
		"eth/ip(src=10.0.0.1)/tcp(flags=S)", "eth/ip(src=10.0.0.2)/tcp(sport=4000,flags=A)/'x'*400", "eth/ip(src=10.0.0.3)/tcp(sport=4001,flags=A)/'x'*100",
		"eth/ip(dst=10.0.0.4)/tcp(dport=443,flags=PA)/'x'*1400",
	} {
		p, err := packet.Parse(expr)
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

// capture is a pcap file of so many packets in memory.
func capture(t testing.TB, packets [][]byte, n int) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := packet.NewWriter(&file, true)
	require.NoError(t, err)
	for i := range n {
		p := packets[i%len(packets)]
		require.NoError(t, w.Write(packet.Captured{Data: p, Wire: len(p)}, p, packet.Verdict{}))
	}
	require.NoError(t, w.Close())
	return file.Bytes()
}

// packetWays are ways to bring packets to the parser, each as a function that runs one.
func packetWays(t testing.TB, packets [][]byte) map[string]func() {
	t.Helper()
	ctx := context.Background()
	m, alone := parser(t)
	_, err := alone.Run(ctx, packets[0])
	require.NoError(t, err)
	img, _ := m.ImageOf("parser")
	th, r1 := m.Thread(), alone.Context().Addr
	th.Track(false) // as after its first runs
	_, direct := parser(t)
	_, replayed := parser(t)
	file := capture(t, packets, 10000)
	open := func() *packet.Reader {
		in, err := packet.NewReader(bytes.NewReader(file), "memory")
		require.NoError(t, err)
		return in
	}
	in := open()
	i := 0
	run := func(r *machine.Replay, p []byte) {
		if out, err := r.Run(ctx, p); err != nil {
			t.Fatal(err)
		} else if out.Fault != nil {
			t.Fatal(out.Fault)
		}
	}
	return map[string]func(){
		"insns": func() {
			th.Start(img, r1)
			if th.Run(1<<30) != vm.Done {
				t.Fatal(th.Fault())
			}
		},
		"direct": func() {
			run(direct, packets[i%len(packets)])
			i++
		},
		"pcap": func() {
			c, err := in.Next()
			if err == io.EOF {
				in = open()
				c, err = in.Next()
			}
			if err != nil {
				t.Fatal(err)
			}
			run(replayed, c.Data)
		},
	}
}

// BenchmarkPacket is one packet through the parser: its instructions alone, with everything around
// them, and read from a capture in memory.
func BenchmarkPacket(b *testing.B) {
	for _, name := range []string{"insns", "direct", "pcap"} {
		b.Run(name, func(b *testing.B) {
			run := packetWays(b, traffic(b))[name]
			for b.Loop() {
				run()
			}
		})
	}
}

// TestPacketTime measures the same when BENCH_PACKETS=1, the best of many short windows that
// alternate, beside the time of an instruction of the benchmark programs.
func TestPacketTime(t *testing.T) {
	if os.Getenv("BENCH_PACKETS") == "" {
		t.Skip("BENCH_PACKETS is not set")
	}
	m, r := parser(t)
	_, err := r.Run(context.Background(), traffic(t)[0])
	require.NoError(t, err)
	insns := float64(m.Thread().Insns())
	ways := map[string]func(){}
	for size, packets := range map[string][][]byte{"54 bytes": traffic(t)[:1], "54 to 1454 bytes": traffic(t)} {
		for name, run := range packetWays(t, packets) {
			ways[name+", "+size] = run
		}
	}
	for _, name := range names(t) {
		if usesMaps(name) {
			continue
		}
		p := load(t, name)
		p.run(1 << 40)
		n := p.m.Thread().Insns()
		// As many instructions at a time as fit into a window.
		ways["program "+name] = func() {
			p.m.Thread().Start(p.img, p.mem.Base, memSize)
			p.m.Thread().Run(min(n, 100_000))
		}
	}
	const rounds = 200
	best := map[string]float64{}
	for range rounds {
		for name, run := range ways {
			repeat := 2000
			if strings.HasPrefix(name, "program") {
				repeat = 1
			}
			begin := time.Now()
			for range repeat {
				run()
			}
			if ns := float64(time.Since(begin).Nanoseconds()) / float64(repeat); best[name] == 0 || ns < best[name] {
				best[name] = ns
			}
		}
	}
	var logs float64
	programs := 0
	for name, ns := range best {
		if strings.HasPrefix(name, "program") {
			p := load(t, strings.TrimPrefix(name, "program "))
			p.run(1 << 40)
			logs += math.Log(ns / float64(min(p.m.Thread().Insns(), 100_000)))
			programs++
		}
	}
	perInsn := math.Exp(logs / float64(programs))
	t.Logf("%.2f ns per instruction, geometric mean of %d programs; %.0f instructions a packet", perInsn, programs, insns)
	for _, name := range slices.Sorted(maps.Keys(best)) {
		if !strings.HasPrefix(name, "program") {
			t.Logf("%-24s %6.1f ns  %.2f of the instructions", name, best[name], best[name]/(perInsn*insns))
		}
	}
}
