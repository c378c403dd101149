package schedule

import (
	"errors"
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/helpers/proto"
	bpfmaps "github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Sizes of what the kernel puts into the arena of a scheduler that knows CPUs by cid: it takes four
// pages at a time (SCX_ARENA_GROW_PAGES), and allocates from these; a struct scx_cmask is base,
// nr_cids, alloc_words and words of bits, one more than the CPUs need, as its base may be in the
// middle of a word.
const (
	arenaPages = 4
	arenaPage  = 4096
	cmaskBits  = 16
)

// cmasks is where the kernel keeps a struct scx_cmask for each CPU, in the scheduler's arena
// (set_cmask_scratch).
type cmasks struct {
	arena bpfmaps.Arena
	at    []uint64 // user addresses, by CPU; none before ops.init has returned
	words int      // of bits
}

// findArena finds the arena of a scheduler that knows CPUs by cid: its programs use exactly one
// (bpf_scx_reg_cid).
func (d *driver) findArena() error {
	for _, op := range slices.Sorted(maps.Keys(d.Progs())) {
		a := d.M.ArenaOf(d.Progs()[op])
		switch {
		case a == nil:
		case d.cmasks.arena != nil && d.cmasks.arena != a:
			return errors.New("its programs use several arenas, and the kernel allows one for a struct " + proto.SchedOpsCid)
		default:
			d.cmasks.arena = a
		}
	}
	if d.cmasks.arena == nil {
		return errors.New("none of its programs uses an arena, and a struct " + proto.SchedOpsCid + " needs one (BPF_MAP_TYPE_ARENA)")
	}
	return nil
}

// Prepare is scx_set_cmask_scratch_alloc: after ops.init, the kernel takes pages of the arena.
func (d *driver) Prepare() uapi.Errno {
	c := &d.cmasks
	if c.arena == nil {
		return 0
	}
	c.words = (d.state.CPUs()+63)/64 + 1
	b := make([]byte, cmaskBits+8*c.words)
	order := d.M.Memory().ByteOrder()
	order.PutUint32(b[4:], uint32(d.state.CPUs()))
	order.PutUint32(b[8:], uint32(c.words))
	chunk, left := uint64(0), 0
	for cpu := range d.state.CPUs() {
		if left < len(b) {
			if chunk = c.arena.AllocPages(0, arenaPages); chunk == 0 {
				return uapi.ENOMEM
			}
			left = arenaPages * arenaPage
		}
		c.at = append(c.at, chunk)
		chunk, left = chunk+uint64(len(b)), left-len(b)
		if err := c.arena.Poke(c.offset(cpu), b); err != nil {
			d.M.Kernel().Fail(err)
		}
	}
	return 0
}

// offset returns where the struct scx_cmask of a CPU is in the arena.
func (c *cmasks) offset(cpu int) uint64 { return c.at[cpu] - c.arena.UserBase() }

// cmask writes CPUs into the struct scx_cmask of the CPU that calls ops.set_cmask and returns its
// address as the arena's programs know it, the lower 32 bits (scx_call_op_set_cpumask). What the
// scheduler has written to base and nr_cids counts, and nothing happens if it has freed the page.
func (d *driver) cmask(cpu int, cpus sched.Mask) uint64 {
	c, order := &d.cmasks, d.M.Memory().ByteOrder()
	if cpu >= len(c.at) {
		return 0
	}
	off := c.offset(cpu)
	b := make([]byte, cmaskBits+8*c.words)
	if c.arena.Peek(off, b) == nil {
		base, n := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
		words, cids := make([]uint64, c.words), d.state.CidMask(cpus)
		for i := range cids.All {
			if cid := uint64(i); cid >= base && cid < base+n {
				words[cid/64-base/64] |= 1 << (cid % 64)
			}
		}
		used := uint64(0)
		if n > 0 {
			used = (base+n-1)/64 - base/64 + 1
		}
		for i := range min(used, uint64(c.words)) {
			order.PutUint64(b[cmaskBits+8*i:], words[i])
		}
		_ = c.arena.Poke(off+cmaskBits, b[cmaskBits:]) // the page is there, as it could be read
	}
	return uint64(uint32(c.at[cpu]))
}
