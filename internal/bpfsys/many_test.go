package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Listing all objects of a kind and closing them cost the same for each, however many there are.
func TestListingAndClosingAreLinear(t *testing.T) {
	b := btf.NewBuilder(nil)
	b.Int("int", 4, btf.IntSigned)
	types, err := b.Marshal(le)
	require.NoError(t, err)
	cost := func(n int, next uapi.Cmd, create func(k *task) (int64, uapi.Errno)) int {
		k := newTask(t)
		var fds []int64
		start := k.s.Looks()
		for range n {
			k.used = 0
			fd, e := create(k)
			require.Zero(t, e, "%v", k.notes)
			fds = append(fds, fd)
		}
		listed, id := 0, uint32(0)
		for {
			k.used = 0
			_, e, a := k.call(uint32(next), field{0, int(id)}, field{4, 0})
			if e == uapi.ENOENT {
				break
			}
			require.Zero(t, e)
			listed, id = listed+1, le.Uint32(a[4:])
		}
		assert.GreaterOrEqual(t, listed, n)
		for _, fd := range fds {
			k.close(fd)
		}
		return k.s.Looks() - start
	}
	for name, kind := range map[string]struct {
		next   uapi.Cmd
		create func(k *task) (int64, uapi.Errno)
	}{
		"map":  {uapi.CmdMapGetNextId, func(k *task) (int64, uapi.Errno) { return k.createMap(uapi.MapTypeHash, 4, 4, 1, 1) }},
		"prog": {uapi.CmdProgGetNextId, func(k *task) (int64, uapi.Errno) { return k.load(uapi.ProgTypeSocketFilter, exitZero) }},
		"btf": {uapi.CmdBtfGetNextId, func(k *task) (int64, uapi.Errno) {
			fd, e, _ := k.call(btfLoad, field{0, k.put(types)}, field{16, len(types)})
			return fd, e
		}},
		"link": {uapi.CmdLinkGetNextId, func(k *task) (int64, uapi.Errno) {
			prog, e := k.load(uapi.ProgTypeRawTracepoint, exitZero)
			require.Zero(t, e)
			link, e, _ := k.call(rawOpen, field{0, k.text("sched_switch")}, field{8, int(prog)})
			k.close(prog)
			return link, e
		}},
	} {
		few, many := cost(50, kind.next, kind.create), cost(200, kind.next, kind.create)
		assert.LessOrEqual(t, many, 5*few, name)
		assert.GreaterOrEqual(t, many, 3*few, name)
	}
}
