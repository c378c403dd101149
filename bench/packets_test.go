package bench

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/packet"
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

// BenchmarkPacket is one packet through the parser: instructions alone, with everything around them, and read from a capture in
// memory.
func BenchmarkPacket(b *testing.B) {
	packets := traffic(b)
	b.Run("insns", func(b *testing.B) {
		m, r := parser(b)
		_, err := r.Run(context.Background(), packets[0])
		require.NoError(b, err)
		img, _ := m.ImageOf("parser")
		th := m.Thread()
		ctx := r.Context().Addr
		for b.Loop() {
			th.Start(img, ctx)
			if th.Run(1<<30) != vm.Done {
				b.Fatal(th.Fault())
			}
		}
		b.ReportMetric(float64(th.Insns()), "insns")
	})
	b.Run("direct", func(b *testing.B) {
		_, r := parser(b)
		ctx := context.Background()
		i := 0
		for b.Loop() {
			if _, err := r.Run(ctx, packets[i%len(packets)]); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("pcap", func(b *testing.B) {
		_, r := parser(b)
		ctx := context.Background()
		var file bytes.Buffer
		w, err := packet.NewWriter(&file, true)
		require.NoError(b, err)
		for i := range 10000 {
			p := packets[i%len(packets)]
			require.NoError(b, w.Write(packet.Captured{Data: p, Wire: len(p)}, p, packet.Verdict{}))
		}
		require.NoError(b, w.Close())
		open := func() *packet.Reader {
			in, err := packet.NewReader(bytes.NewReader(file.Bytes()), "memory")
			require.NoError(b, err)
			return in
		}
		in := open()
		for b.Loop() {
			c, err := in.Next()
			if err == io.EOF {
				in = open()
				c, err = in.Next()
			}
			if err != nil {
				b.Fatal(err)
			}
			if _, err := r.Run(ctx, c.Data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
