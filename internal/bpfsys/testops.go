package bpfsys

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// testedOps is the struct whose functions test runs can call, and testedState that of their first
// argument (net/bpf/bpf_dummy_struct_ops.c).
const testedOps, testedState = "bpf_dummy_ops", "bpf_dummy_ops_state"

// testOps test-runs a function of bpf_dummy_ops (bpf_struct_ops_test_run). ctx_in holds its
// arguments, a word each. The first is the address of a state in the caller's memory, which is
// copied before and after the run, or 0. All other attributes are ignored.
func (s *System) testOps(c Caller, a bpfattr.Test, p *Prog) Result {
	if p.hook.obj == nil || p.hook.name != testedOps {
		return fail(uapi.EOPNOTSUPP)
	}
	spec := p.hook.obj.spec
	members := spec.MustType(p.hook.id).Members
	if int(p.expected) >= len(members) {
		return fail(uapi.EINVAL)
	}
	member := members[p.expected]
	ptr := spec.SkipMods(member.Type)
	if ptr == nil || ptr.Kind != btf.KindPtr || spec.SkipMods(ptr.Ref).Kind != btf.KindFuncProto {
		return fail(uapi.EINVAL)
	}
	params := spec.SkipMods(ptr.Ref).Params
	size := a.CtxSizeIn()
	if int(size) != 8*len(params) {
		return fail(uapi.EINVAL)
	}
	args := make([]byte, size)
	if !c.Read(a.CtxIn(), args) {
		return fail(uapi.EFAULT)
	}
	in := machine.Input{Current: s.taskOf(c)}
	at := le.Uint64(args)
	state, e := s.readState(c, at)
	if e != 0 {
		return fail(e)
	}
	for i := range params {
		v := le.Uint64(args[8*i:])
		switch {
		case v == 0 && s.neverNull(spec, member.Name, params, i):
			return fail(uapi.EINVAL)
		case i == 0 && v != 0:
			in.Values = append(in.Values, state)
		default:
			in.Values = append(in.Values, kobject.Pointer(v))
		}
	}
	name := testedOps + "." + member.Name
	in.Hook = &machine.Hook{AttachTo: name, Section: "struct_ops/" + name}
	res, err := s.run(c, p, in)
	switch {
	case err != nil:
		return s.testFailed(p, err)
	case at != 0 && !c.Write(at, state.Bytes()), !a.PutRetval(uint32(res.Ret)):
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// readState copies the state at an address of the caller to the object that stands for it; nil at
// address 0.
func (s *System) readState(c Caller, at uint64) (*kobject.Object, uapi.Errno) {
	if at == 0 {
		return nil, 0
	}
	o, err := s.testObject(testedState, 0)
	if err != nil {
		return nil, uapi.ENOMEM
	}
	b := make([]byte, len(o.Bytes()))
	if !c.Read(at, b) {
		return nil, uapi.EFAULT
	}
	if err := o.SetBytes("val", b); err != nil { // its only member
		return nil, uapi.ENOMEM
	}
	return o, 0
}

// neverNull reports whether a test run may not pass 0 for an argument: since Linux 6.10, for
// pointers that the function in the kernel does not mark as nullable (check_test_run_args).
func (s *System) neverNull(spec *btf.Spec, member string, params []btf.Param, i int) bool {
	if t := spec.SkipMods(params[i].Type); !s.has(since.OpsTestNull) || t == nil || t.Kind != btf.KindPtr {
		return false
	}
	stub, _, ok := spec.FuncProto(testedOps + "__" + member)
	return !ok || i >= len(stub.Params) || !strings.HasSuffix(stub.Params[i].Name, "__nullable")
}
