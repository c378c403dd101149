package helpers

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var userRingHelpers = []row{
	{ID: uapi.FuncUserRingbufDrain, Do: onUserRing(userRingbufDrain)},
}

// maxUserSamples is BPF_MAX_USER_RINGBUF_SAMPLES, the maximum number of samples per call.
const maxUserSamples = 128 * 1024

// userRingbufDrain calls back with a dynptr for every sample, until the callback returns 1
// (bpf_user_ringbuf_drain). It returns the number of samples taken.
func userRingbufDrain(c *Call, ring maps.UserRing) (uint64, *vm.Action) {
	if c.Args[3]&^uint64(uapi.RbNoWakeup|uapi.RbForceWakeup) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	for _, busy := range c.Run.draining {
		if busy == ring.Addr() {
			return errnoRet(uapi.EBUSY), nil
		}
	}
	r := c.guest.Scratch(uapi.DynptrSize, "dynptr of "+ring.Spec().Name)
	if r == nil {
		return errnoRet(uapi.ENOMEM), nil
	}
	c.Run.draining = append(c.Run.draining[:len(c.Run.draining):len(c.Run.draining)], ring.Addr())
	return drain{ring: ring, fn: c.Args[1], ctx: c.Args[2], dyn: r.Base}.next(c.Thread)
}

// drain is the state of a bpf_user_ringbuf_drain between two callbacks.
type drain struct {
	ring         maps.UserRing
	fn, ctx, dyn uint64
	sample       uint64
	done         uint64
}

func (s drain) next(t *vm.Thread) (uint64, *vm.Action) {
	e := envOf(t)
	if s.done >= maxUserSamples {
		return s.end(e, s.done)
	}
	addr, size, errno := s.ring.Next()
	switch errno {
	case 0:
	case uapi.ENODATA:
		return s.end(e, s.done)
	default:
		return s.end(e, errnoRet(errno))
	}
	s.sample = addr
	if f := putDynptr(&e.guest, s.dyn, dynptr{data: addr, size: size, kind: dynptrLocal}); f != nil {
		return 0, f
	}
	return 0, t.Invoke(s.fn, [5]uint64{s.dyn, s.ctx}, s)
}

func (s drain) end(e *Env, ret uint64) (uint64, *vm.Action) {
	e.guest.EndScratch(s.dyn)
	e.Run.draining = e.Run.draining[:len(e.Run.draining)-1]
	return ret, nil
}

// Resume implements [vm.Continuation].
func (s drain) Resume(t *vm.Thread, ret uint64) (uint64, *vm.Action) {
	s.ring.Release(s.sample)
	s.done++
	if f := callbackReturned("bpf_user_ringbuf_drain", ret); f != nil {
		return 0, f
	}
	if ret != 0 {
		return s.end(envOf(t), s.done)
	}
	return s.next(t)
}
