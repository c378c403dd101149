package machine_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
)

func example(t *testing.T, name string) *machine.Machine {
	t.Helper()
	return compose(t, load(t, "../../examples/"+name+"/"+name+".bpf.o", target(t, embedded.Name)), machine.Config{Uncovered: true})
}

// live counts the regions of a machine and their bytes.
func live(m *machine.Machine) (n int, size uint64) {
	m.Memory().Regions(func(r *mem.Region) bool {
		n++
		size += r.Size
		return true
	})
	return n, size
}

func TestRepeatedRunsKeepNoRegions(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		m := compose(t, load(t, file, target(t, embedded.Name)), machine.Config{Uncovered: true})
		for _, name := range m.Names() {
			repeat := func(n int) {
				for range n {
					_, err := m.Run(context.Background(), name, machine.Input{})
					require.NoError(t, err)
				}
			}
			repeat(50) // what is made once: objects, elements of maps
			n, size := live(m)
			repeat(20)
			n2, size2 := live(m)
			assert.Equal(t, n, n2, "%s of %s: regions", name, file)
			assert.Equal(t, size, size2, "%s of %s: bytes", name, file)
		}
	}
}

func TestThousandsOfPacketsTakeTheMemoryOfAFew(t *testing.T) {
	for _, c := range []struct{ object, prog string }{{"xdp", "filter"}, {"nat", "outbound"}} {
		m := example(t, c.object)
		repeat := func(n int) uint64 {
			for range n {
				run(t, m, c.prog)
			}
			var s runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&s)
			return s.HeapAlloc
		}
		heap := repeat(3000) // freed memory waits so long before it serves again
		used := m.Memory().Used()
		more := repeat(3000)
		assert.Equal(t, used, m.Memory().Used(), c.object)
		assert.Less(t, more, heap+(1<<20), c.object)
	}
}

func TestRepeatedRunsAreAllAlike(t *testing.T) {
	m := example(t, "xdp")
	began := m.Kernel().Clock().Mono()
	first := run(t, m, "filter")
	took := m.Kernel().Clock().Mono() - began
	const more = 999
	for range more {
		res := run(t, m, "filter")
		require.Equal(t, []any{first.Ret, first.Insns, first.Helpers, first.PacketOut, first.CtxOut}, []any{res.Ret, res.Insns, res.Helpers, res.PacketOut, res.CtxOut})
	}
	assert.Equal(t, began+(more+1)*took, m.Kernel().Clock().Mono(), "time passes with the calls of helpers")
	verdicts, ok := m.MapByName("verdicts")
	require.True(t, ok)
	entries := verdicts.Entries()
	require.Len(t, entries, 1)
	assert.EqualValues(t, more+1, m.Memory().ByteOrder().Uint64(entries[0].PerCPU[0]))
}

// TestAPacketStaysUntilTheNextRun: what a run leaves can be looked at; afterwards it is gone, as
// other freed memory.
func TestAPacketStaysUntilTheNextRun(t *testing.T) {
	m := example(t, "xdp")
	packet := func() *mem.Region {
		var found *mem.Region
		m.Memory().Regions(func(r *mem.Region) bool {
			if r.Kind == mem.Packet {
				found = r
			}
			return true
		})
		require.NotNil(t, found)
		return found
	}
	run(t, m, "filter")
	old := packet()
	_, fault := m.Memory().Load(old.Base, 1)
	require.Nil(t, fault)
	before := m.Snapshot()
	run(t, m, "filter")
	again := packet().Base
	assert.NotEqual(t, old.Base, again)
	_, fault = m.Memory().Load(old.Base, 1)
	require.NotNil(t, fault)
	assert.Equal(t, mem.UseAfterFree, fault.Kind)

	m.Restore(before)
	_, fault = m.Memory().Load(old.Base, 1)
	require.Nil(t, fault, "the snapshot has the packet")
	run(t, m, "filter")
	assert.Equal(t, again, packet().Base, "a run from a snapshot is the same run")
}

// TestAPacketsSocketTakesItsStorageAlong: the socket a packet is given for its run is another one
// each time, even where its address was that of an earlier one.
func TestAPacketsSocketTakesItsStorageAlong(t *testing.T) {
	const packets = 5000
	check := func(t *testing.T, m *machine.Machine) {
		sent, ok := m.MapByName("sent")
		require.True(t, ok)
		assert.Len(t, sent.Entries(), 1)
		bss, ok := m.MapByName(".bss")
		require.True(t, ok)
		value := bss.Entries()[0].Value
		order, size := m.Memory().ByteOrder(), uint64(len(net.DefaultPacket())-14)
		assert.ElementsMatch(t, []uint64{packets * size, size}, []uint64{order.Uint64(value), order.Uint64(value[8:])}, "total and last")
	}
	t.Run("runs", func(t *testing.T) {
		m := example(t, "egress")
		for range packets {
			run(t, m, "egress")
		}
		check(t, m)
	})
	t.Run("replay", func(t *testing.T) {
		m := example(t, "egress")
		r, _, err := m.Replay("egress", machine.Input{})
		require.NoError(t, err)
		for range packets {
			_, err := r.Run(context.Background(), net.DefaultPacket())
			require.NoError(t, err)
		}
		check(t, m)
		r.Close()
	})
}
