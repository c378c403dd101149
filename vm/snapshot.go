package vm

// Snapshot is the state of a Thread at one moment: registers, frames, continuations, counters. Memory
// is not part of it (mem.Memory.Snapshot).
type Snapshot struct {
	regs      [11]uint64
	img       *Image
	pc        int
	depth     int
	insns     uint64
	status    Stop
	frames    [MaxFrames]frame
	tailCalls int
	arena     [2]uint64
	cpu       int
	fault     *Fault
	reason    string
	brokeAt   uint64
}

// Snapshot records the state. It must not be called from inside a helper.
func (t *Thread) Snapshot() *Snapshot {
	return &Snapshot{
		regs: [11]uint64(t.regs[:11]), img: t.img, pc: t.pc, depth: t.depth, insns: t.insns, status: t.status,
		frames: t.frames, tailCalls: t.tailCalls, arena: [2]uint64{t.arenaKern, t.arenaUser}, cpu: t.CPU,
		fault: t.fault, reason: t.reason, brokeAt: t.brokeAt,
	}
}

// Restore brings the thread back. The snapshot may come from another thread on the same Memory.
func (t *Thread) Restore(s *Snapshot) {
	copy(t.regs[:11], s.regs[:])
	t.img, t.pc, t.depth, t.insns, t.status = s.img, s.pc, s.depth, s.insns, s.status
	t.frames, t.tailCalls = s.frames, s.tailCalls
	t.arenaKern, t.arenaUser = s.arena[0], s.arena[1]
	t.CPU, t.fault, t.reason, t.brokeAt = s.cpu, s.fault, s.reason, s.brokeAt
	t.suspend = false
}
