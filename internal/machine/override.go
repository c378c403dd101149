package machine

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Override replaces calls of one helper or kfunc in a run. A call it does not apply to is executed
// as usual.
type Override struct {
	// FailAt selects the call that the override applies to, counted from 1 in this run; 0 means
	// every call.
	FailAt int
	// Returns are the results of successive calls that it applies to; the last one repeats. They
	// are r0 as the program sees it: a negative errno is sign-extended.
	Returns []uint64
}

// Fails returns an override that makes one call (0: every call) fail with an error.
func Fails(call int, e uapi.Errno) Override {
	return Override{FailAt: call, Returns: []uint64{uint64(e.Neg())}}
}

// value returns the result of call number n (from 1); ok is false if the call is to be executed.
func (o *Override) value(n int) (v uint64, ok bool) {
	if len(o.Returns) == 0 || o.FailAt != 0 && n != o.FailAt {
		return 0, false
	}
	if o.FailAt != 0 {
		n = 1
	}
	return o.Returns[min(n, len(o.Returns))-1], true
}

// override answers a helper call from the run's input. A failing probe read zeroes its destination,
// as in the kernel (kernel/trace/bpf_trace.c bpf_probe_read_kernel_common).
func (acc *accounts) override(name string, call int, args *[5]uint64) (uint64, *vm.Action, bool) {
	o, ok := acc.rec.run.overrides[name]
	if !ok {
		return 0, nil, false
	}
	v, ok := o.value(call)
	if !ok {
		return 0, nil, false
	}
	if int64(v) < 0 && strings.HasPrefix(name, "bpf_probe_read") {
		if f := acc.clear(args[0], uint64(uint32(args[1]))); f != nil {
			return 0, vm.MemFault(f), true
		}
	}
	return v, nil, true
}

func (acc *accounts) clear(addr, n uint64) *mem.Fault {
	if f := acc.mem.Check(addr, n, true); f != nil || n == 0 {
		return f
	}
	return acc.mem.Write(addr, make([]byte, n))
}
