package bpfsys

import (
	"errors"
	"slices"

	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// testFunction is a function that the kernel calls in a test run of a tracing program. It returns
// the sum of its arguments and of more, where a pointer to an object counts as the number in it.
type testFunction struct {
	name string
	args []any // numbers, and names of objects
	more uint64
	// increments is set when the body first adds 1 to the number that its argument b points to.
	increments bool
}

// The functions of bpf_prog_test_run_tracing (net/bpf/test_run.c) with what it passes, in its
// order.
var (
	fentryFunctions = []testFunction{
		{name: "bpf_fentry_test1", args: []any{1}, more: 1}, {name: "bpf_fentry_test2", args: []any{2, 3}}, {name: "bpf_fentry_test3", args: []any{4, 5, 6}},
		{name: "bpf_fentry_test4", args: []any{7, 8, 9, 10}}, {name: "bpf_fentry_test5", args: []any{11, 12, 13, 14, 15}},
		{name: "bpf_fentry_test6", args: []any{16, 17, 18, 19, 20, 21}}, {name: "bpf_fentry_test7", args: []any{0}},
		{name: "bpf_fentry_test8", args: []any{"bpf_fentry_test_t"}}, {name: "bpf_fentry_test9", args: []any{"u32"}},
		{name: "bpf_fentry_test10", args: []any{0}},
	}
	modifyFunctions = []testFunction{
		{name: "bpf_modify_return_test", args: []any{1, "s32"}, increments: true},
		{name: "bpf_modify_return_test2", args: []any{1, "s32", 3, 4, 5, 6, 7}, increments: true},
	}
)

// modifyStart is the number that the second argument of the functions in modifyFunctions points to.
const modifyStart = 2

// testTracing test-runs fentry, fexit, fsession and fmod_ret programs: the kernel calls its own test
// functions, which such programs trace, and returns what those changed and returned in the two
// halves of retval (bpf_prog_test_run_tracing).
func (s *System) testTracing(c Caller, a bpfattr.Test, p *Prog) Result {
	if a.Flags() != 0 || a.Cpu() != 0 || a.BatchSize() != 0 {
		return fail(uapi.EINVAL)
	}
	functions := fentryFunctions
	switch p.expected {
	case uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachTraceFsession:
	case uapi.AttachModifyReturn:
		functions = modifyFunctions
	default:
		return fail(uapi.EINVAL)
	}
	effects, sum := uint16(0), uint16(0)
	for i := range functions {
		ret, ran, err := s.call(c, &functions[i])
		if err != nil {
			return s.testFailed(p, err)
		}
		if functions[i].increments {
			sum += uint16(ret)
			if ran {
				effects++
			}
		}
	}
	if !a.PutRetval(uint32(effects)<<16 | uint32(sum)) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// call calls a test function: the programs at its entry, those that modify its return value until
// one does, its body if none did, and the programs at its return. ran is set if the body ran.
// Functions that the kernel does not have return 0.
func (s *System) call(c Caller, f *testFunction) (ret int32, ran bool, err error) {
	proto, _, ok := s.cfg.Target.BTF.FuncProto(f.name)
	if !ok || len(proto.Params) != len(f.args) {
		return 0, false, nil
	}
	e := Event{Hook: f.name, Args: map[string]any{}, Task: callerTask(c)}
	result := f.more
	for i, v := range f.args {
		switch v := v.(type) {
		case int:
			result += uint64(v)
			e.Args[proto.Params[i].Name] = v
		case string:
			start := uint64(0)
			if f.increments {
				start = modifyStart
			}
			o, err := s.testObject(v, start)
			if err != nil {
				return 0, false, err
			}
			result += start
			e.Args[proto.Params[i].Name] = o
		}
	}
	at := func(h *attachment) bool { return exactly(h, f.name) }
	if _, err := s.phase(e, func(h *attachment) bool { return at(h) && !atReturn(h) }); err != nil {
		return 0, false, err
	}
	e.Args["ret"] = 0
	for _, m := range slices.Collect(s.hooks.All()) {
		if !at(m) || !modifies(m) || ret != 0 {
			continue
		}
		fired, err := s.phase(e, func(h *attachment) bool { return h == m })
		if err != nil {
			return 0, false, err
		}
		for _, p := range fired {
			ret = int32(uint32(p.Ret))
		}
	}
	if ran = ret == 0; ran {
		ret = int32(uint32(result))
		if f.increments {
			ret++
		}
	}
	e.Args["ret"] = int64(ret)
	_, err = s.phase(e, func(h *attachment) bool { return at(h) && atReturn(h) && !modifies(h) })
	return ret, ran, err
}

// phase runs some of the programs at a hook, none if there are none.
func (s *System) phase(e Event, fits func(*attachment) bool) ([]Fired, error) {
	fired, err := s.fireOn(e, func(h *attachment, _ string) bool { return fits(h) })
	if errors.Is(err, ErrNoHook) {
		return nil, nil
	}
	for _, f := range fired {
		if f.Err != nil {
			s.note("%v", f.Err)
		}
	}
	return fired, err
}

// modifies reports whether the return value of an attached program replaces that of the function.
func modifies(h *attachment) bool {
	at := progtype.Of(h.prog.typ).Attached(h.prog.expected)
	return at != nil && at.Modifies && h.prog.typ == uapi.ProgTypeTracing
}

// testObject returns the object that an argument of a test function points to, which begins with a
// number.
func (s *System) testObject(typ string, start uint64) (*kobject.Object, error) {
	o := s.testArgs[typ]
	if o == nil {
		var err error
		if o, err = s.machine.Kernel().NewObjectNamed("argument of a test function", typ); err != nil {
			return nil, err
		}
		if s.testArgs == nil {
			s.testArgs = map[string]*kobject.Object{}
		}
		s.testArgs[typ] = o
	}
	if o.Has("a") { // struct bpf_fentry_test_t
		return o, o.Set("a", nil)
	}
	return o, o.SetUint("[0]", start)
}
