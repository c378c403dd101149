package helpers

import (
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// schedQueueRows are the kfuncs about dispatch queues, under the names of all releases.
func schedQueueRows() []kfuncRow {
	var rows []kfuncRow
	add := func(r kfuncRow) { rows = append(rows, r) }
	for _, n := range []string{"scx_bpf_dsq_insert", "scx_bpf_dsq_insert___v2", "scx_bpf_dispatch"} {
		add(ofSched(n, false, dsqInsert, argObject, argAny, argAny, argAny))
	}
	for _, n := range []string{"scx_bpf_dsq_insert_vtime", "scx_bpf_dispatch_vtime"} {
		add(ofSched(n, false, dsqInsertVtime, argObject, argAny, argAny, argAny, argAny))
	}
	add(ofSched("__scx_bpf_dsq_insert_vtime", false, dsqInsertArgs, argObject, argPtr))
	for _, n := range []string{"scx_bpf_dsq_move_to_local", "scx_bpf_consume"} {
		add(ofSched(n, false, dsqMoveToLocal(false), argAny))
	}
	add(ofSched("scx_bpf_dsq_move_to_local___v2", false, dsqMoveToLocal(true), argAny, argAny))
	for _, n := range []string{"scx_bpf_dsq_move", "scx_bpf_dispatch_from_dsq"} {
		add(ofSched(n, false, dsqMove(false), argIter, argObject, argAny, argAny))
	}
	for _, n := range []string{"scx_bpf_dsq_move_vtime", "scx_bpf_dispatch_vtime_from_dsq"} {
		add(ofSched(n, false, dsqMove(true), argIter, argObject, argAny, argAny))
	}
	for _, n := range []string{"scx_bpf_dsq_move_set_slice", "scx_bpf_dispatch_from_dsq_set_slice"} {
		add(ofSched(n, false, dsqMoveSet(func(v *sched.Cursor, x *uint64) { v.Slice = x }), argIter, argAny))
	}
	for _, n := range []string{"scx_bpf_dsq_move_set_vtime", "scx_bpf_dispatch_from_dsq_set_vtime"} {
		add(ofSched(n, false, dsqMoveSet(func(v *sched.Cursor, x *uint64) { v.Vtime = x }), argIter, argAny))
	}
	add(ofSched("scx_bpf_dispatch_nr_slots", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.Slots()), nil }))
	add(ofSched("scx_bpf_dispatch_cancel", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) { s.Cancel(); return 0, nil }))
	add(ofSched("scx_bpf_create_dsq", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
		return errnoRet(s.CreateDSQ(c.Args[0], cpuArg(c.Args[1]))), nil
	}, argAny, argAny))
	add(ofSched("scx_bpf_destroy_dsq", false, func(c *Call, s *Schedule) (uint64, *vm.Action) { s.DestroyDSQ(c.Args[0]); return 0, nil }, argAny))
	add(ofSched("scx_bpf_dsq_nr_queued", false, func(c *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.Queued(c.Args[0])), nil }, argAny))
	add(ofSched("scx_bpf_dsq_peek", true, func(c *Call, s *Schedule) (uint64, *vm.Action) { return s.pointer(s.Peek(c.Args[0])), nil }, argAny))
	add(ofSched("bpf_iter_scx_dsq_new", false, iterDsqNew, argIter, argAny, argAny))
	add(ofSched("bpf_iter_scx_dsq_next", true, iterDsqNext, argIter))
	add(ofSched("bpf_iter_scx_dsq_destroy", false, iterDsqDestroy, argIter))
	add(ofSched("scx_bpf_reenqueue_local", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.Reenqueue(s.CPU())), nil }))
	add(ofSched("scx_bpf_reenqueue_local___v2", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) {
		s.ReenqueueDSQ(sched.DSQLocal, 0)
		return 0, nil
	}))
	below := ofSched("scx_bpf_sub_dispatch", false, func(*Call, *Schedule) (uint64, *vm.Action) { return 0, nil }, argAny)
	below.Note = "in a schedule, where no scheduler is below another one: false, as for a cgroup without one"
	add(below)
	add(ofSched("scx_bpf_dsq_reenq", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
		s.ReenqueueDSQ(c.Args[0], c.Args[1])
		return 0, nil
	}, argAny, argAny))
	return rows
}

func dsqInsert(c *Call, s *Schedule) (uint64, *vm.Action) {
	return c.insert(s, c.Args[1], c.Args[2], 0, c.Args[3], false)
}

func dsqInsertVtime(c *Call, s *Schedule) (uint64, *vm.Action) {
	return c.insert(s, c.Args[1], c.Args[2], c.Args[3], c.Args[4], true)
}

// dsqInsertArgs reads a struct scx_bpf_dsq_insert_vtime_args.
func dsqInsertArgs(c *Call, s *Schedule) (uint64, *vm.Action) {
	a := c.guest.At(c.Args[1])
	id, slice, vtime, flags := a.U64(0), a.U64(8), a.U64(16), a.U64(24)
	if a.Fault != nil {
		return 0, a.Fault
	}
	return c.insert(s, id, slice, vtime, flags, true)
}

func (c *Call) insert(s *Schedule, id, slice, vtime, flags uint64, priq bool) (uint64, *vm.Action) {
	t := s.task(c.Args[0])
	if t == nil && c.Args[0] != 0 {
		return 0, badArg("an insertion of %#x, which is no task of the schedule", c.Args[0])
	}
	return boolRet(s.Insert(t, id, slice, vtime, flags, priq)), nil
}

func dsqMoveToLocal(flagged bool) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		var flags uint64
		if flagged {
			flags = c.Args[1]
		}
		return boolRet(s.MoveToLocal(c.Args[0], flags)), nil
	}
}

// Bits of an iterator's flags that programs may set (SCX_DSQ_ITER_REV).
const dsqIterReverse = 1 << 16

// iterDsqNew begins a visit of the tasks that are in a queue now. The iterator in the program's
// memory only names it.
func iterDsqNew(c *Call, s *Schedule) (uint64, *vm.Action) {
	it := c.guest.At(c.Args[0])
	for i := range uint64(6) {
		it.Set(8*i, 8, 0)
	}
	s.endVisit(c.Args[0])
	switch {
	case it.Fault != nil:
		return 0, it.Fault
	case c.Args[2]&^uint64(dsqIterReverse) != 0:
		return errnoRet(uapi.EINVAL), nil
	}
	v := s.Visit(c.Args[1], c.Args[2]&dsqIterReverse != 0)
	if v == nil {
		return errnoRet(uapi.ENOENT), nil
	}
	if s.cursors == nil {
		s.cursors = map[uint64]*sched.Cursor{}
	}
	s.cursors[c.Args[0]] = v
	return 0, nil
}

func iterDsqNext(c *Call, s *Schedule) (uint64, *vm.Action) {
	if v := s.cursors[c.Args[0]]; v != nil {
		return s.pointer(v.Next()), nil
	}
	return 0, nil
}

func iterDsqDestroy(c *Call, s *Schedule) (uint64, *vm.Action) {
	s.endVisit(c.Args[0])
	return 0, nil
}

// endVisit forgets the iterator at an address.
func (s *Schedule) endVisit(addr uint64) {
	if v := s.cursors[addr]; v != nil {
		v.Close()
		delete(s.cursors, addr)
	}
}

// dsqMove moves a task from the queue that an iterator visits.
func dsqMove(priq bool) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		v := s.cursors[c.Args[0]]
		if v == nil {
			return 0, nil
		}
		return boolRet(s.Move(v, s.task(c.Args[1]), c.Args[2], c.Args[3], priq)), nil
	}
}

// dsqMoveSet sets what the next move changes.
func dsqMoveSet(set func(*sched.Cursor, *uint64)) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		if v := s.cursors[c.Args[0]]; v != nil {
			x := c.Args[1]
			set(v, &x)
		}
		return 0, nil
	}
}
