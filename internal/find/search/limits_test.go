package search

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/assembly"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
)

// textMachine makes a machine for an assembly text.
func textMachine(t testing.TB, text string) *machine.Machine {
	t.Helper()
	data, err := assembly.Object("x.s", text, nil)
	require.NoError(t, err)
	o, err := loader.OpenBytes("x.o", data)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	l, err := o.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestChangedPacketsHaveRightChecksums: a change before, behind and next to a checksum mends it, one
// of its own bytes does not.
func TestChangedPacketsHaveRightChecksums(t *testing.T) {
	frame, err := packet.Parse(`eth/ip(ttl=7)/udp(dport=53)/"abcd"`)
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		off     int
		data    []byte
		ip, udp packet.SumState
	}{
		{"nothing", 0, nil, packet.SumRight, packet.SumRight},
		{"the ttl", 22, []byte{9}, packet.SumRight, packet.SumRight},
		{"the byte before", 23, []byte{17}, packet.SumRight, packet.SumRight},
		{"the checksum", 24, []byte{1, 2}, packet.SumWrong, packet.SumRight},
		{"its first byte", 24, []byte{frame[24] + 1}, packet.SumWrong, packet.SumRight},
		{"its last byte", 25, []byte{frame[25] + 1}, packet.SumWrong, packet.SumRight},
		{"the bytes behind", 26, []byte{10, 1}, packet.SumRight, packet.SumRight},
		{"the checksum and the bytes around", 23, []byte{17, 1, 2, 10}, packet.SumWrong, packet.SumRight},
		{"the payload", 42, []byte("x"), packet.SumRight, packet.SumRight},
		{"the other checksum", 40, []byte{1, 2}, packet.SumRight, packet.SumWrong},
	} {
		out := framed(frame, 0, []Override{{Kind: Memory, Place: Place{Input: Packet, Off: tt.off}, Data: tt.data}})
		h := packet.Decode(out, packet.Ethernet)
		ip, _ := h.Sum(out, 1)
		udp, _ := h.Sum(out, 2)
		assert.Equal(t, [2]packet.SumState{tt.ip, tt.udp}, [2]packet.SumState{ip, udp}, tt.name)
	}
	for n, want := range map[int]int{0: len(frame), len(frame): len(frame), len(frame) + 1: len(frame) + 1, 100: 100} {
		assert.Len(t, framed(frame, 0, []Override{{Kind: Length, Value: uint64(n)}}), want)
		assert.Len(t, framed(frame, 14, []Override{{Kind: Length, Value: uint64(n)}}), max(len(frame), 14+n))
	}
}

// TestBytesOfPacketsAsText: a field as packets show it, up to the last byte of the packet; what is
// behind it, and bytes of several fields, in hex.
func TestBytesOfPacketsAsText(t *testing.T) {
	m := textMachine(t, ".prog p xdp\nr0 = 2\nexit\n")
	frame, err := packet.Parse("eth/arp")
	require.NoError(t, err)
	run, _, err := m.Begin("p", machine.Input{Packet: frame})
	require.NoError(t, err)
	defer run.Leave()
	trace := NewTrace(m, run.Context(), nil)
	end := len(run.Context().Packet.Bytes())
	require.Equal(t, 42, end)
	for _, tt := range []struct {
		path string
		off  int
		data []byte
		want string
	}{
		{"arp.dst_ip", end - 4, []byte{10, 0, 0, 9}, "10.0.0.9"}, {"", end - 4, []byte{10, 0, 0, 9}, "10.0.0.9"}, {"", end - 3, []byte{10, 0, 0, 9}, "0x0a000009"}, {"", end, []byte{1}, "0x01"},
		{"eth.src", 6, []byte{2, 0, 0, 0, 0, 9}, "02:00:00:00:00:09"}, {"", 0, []byte{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, "0x010101010101010101010101"},
	} {
		assert.Equal(t, tt.want, trace.packetText(&Place{Input: Packet, Off: tt.off, Path: tt.path}, tt.data), "%s at %d", tt.path, tt.off)
	}
}

// TestElementsOfASearchWereThereBefore the run: what the program did to them is what changed.
func TestElementsOfASearchWereThereBefore(t *testing.T) {
	const text = ".map h hash 4 8 4\n.map p percpu_hash 4 8 4\n.map l hash 8 8 4\n.prog x xdp\nr0 = 2\nexit\n"
	key, zeros, one := []byte{1, 0, 0, 0}, make([]byte, 8), []byte{1, 0, 0, 0, 0, 0, 0, 0}
	for _, tt := range []struct {
		name string
		in   string
		key  []byte
		now  []byte // in the map after the run
		did  []machine.Change
		want []machine.Change
	}{
		{name: "it kept the element", in: "h", key: key, now: zeros},
		{name: "it deleted it", in: "h", key: key, want: []machine.Change{{Map: "h", Key: key, CPU: -1, Old: zeros}}},
		{name: "it looked at it", in: "h", key: key, now: zeros, did: []machine.Change{{Map: "h", Key: key, New: zeros}}},
		{name: "it changed it", in: "h", key: key, now: one, did: []machine.Change{{Map: "h", Key: key, New: one}}, want: []machine.Change{{Map: "h", Key: key, Old: zeros, New: one}}},
		{name: "a map of each CPU", in: "p", key: key, did: []machine.Change{{Map: "p", Key: key, New: one}}, want: []machine.Change{{Map: "p", Key: key, New: one}}},
		{name: "a map of each CPU without it", in: "p", key: key},
		{name: "a key of another length", in: "l", key: key},
		{name: "no map", key: key},
	} {
		m := textMachine(t, text)
		o := Override{Kind: Element, Map: tt.in, Key: tt.key}
		if b, ok := m.MapByName(tt.in); ok {
			o.addr = b.Addr()
			if tt.now != nil {
				require.Zero(t, b.Update(maps.AllCPUs, tt.key, tt.now, 0))
			}
		}
		res := &machine.Result{Changes: tt.did}
		s := &searching{m: m}
		s.inserted(res, []Override{o})
		assert.Equal(t, len(tt.want), len(res.Changes), tt.name)
		for i := range tt.want {
			assert.Equal(t, tt.want[i], res.Changes[i], tt.name)
		}
		s.inserted(res, []Override{{Kind: Memory, Map: tt.in, Key: tt.key}})
		assert.Len(t, res.Changes, len(tt.want), "%s: no element", tt.name)
	}
}

// TestLoopsAreTriedTwice: of a branch that a loop executes, the first two times that something
// changes it are candidates.
func TestLoopsAreTriedTwice(t *testing.T) {
	m := textMachine(t, `.prog p xdp
    r2 = *(u32 *)(r1 + 4)
    r1 = *(u32 *)(r1 + 0)
    r0 = 2
    r3 = r1
    r3 += 8
    if r3 > r2 goto out
    r4 = 8
again:
    r5 = *(u8 *)(r1 + 0)
    if r5 == 77 goto out
    r1 += 1
    r4 += -1
    if r4 != 0 goto again
    r0 = 1
out:
    exit
`)
	frame, err := packet.Parse("eth/ip/udp")
	require.NoError(t, err)
	s := &searching{m: m, name: "p", in: machine.Input{Packet: frame}, opt: Options{Runs: 10, Insns: 1 << 20}}
	s.loop, _, err = m.Loop("p", s.in)
	require.NoError(t, err)
	defer s.loop.Close()
	s.frame = s.loop.Context().FrameIn()
	trace, ok, err := s.run(context.Background(), nil)
	require.NoError(t, err)
	require.True(t, ok)
	count := map[Site]int{}
	for _, c := range s.next(trace, nil) {
		count[c.other]++
	}
	most := 0
	for _, n := range count {
		most = max(most, n)
	}
	assert.Equal(t, 2, most, "%v", count)
}
