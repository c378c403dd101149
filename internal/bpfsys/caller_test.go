package bpfsys_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// caller is a task on the newest kernel, with a descriptor of each kind of host file that commands
// take.
type caller struct {
	*task
	kernel *btf.Spec
}

// Descriptors of host files.
const cgroupFD, netnsFD, socketFD, bpffsFD, pidFD = 500, 501, 502, 503, 504

func newCaller(t *testing.T, spec *btf.Spec) *caller {
	k := newTaskOn(t, loader.NewTarget("7.2", spec, loader.WithVersion(7<<16|2<<8)))
	for fd, kind := range map[int32]bpfsys.FileKind{cgroupFD: bpfsys.CgroupFile, netnsFD: bpfsys.NetnsFile, socketFD: bpfsys.SocketFile, bpffsFD: bpfsys.BPFFSFile, pidFD: bpfsys.PidFile} {
		k.files[fd] = bpfsys.File{Kind: kind, Inode: uint64(fd)}
	}
	k.files[pidFD] = bpfsys.File{Kind: bpfsys.PidFile, PID: 1, TGID: 1}
	k.files[socketFD] = bpfsys.File{Kind: bpfsys.SocketFile, Inode: socketFD, Socket: &bpfsys.SocketInfo{
		Family: 2, Type: 2, Protocol: 17, State: 7, Bound: true, Reuseport: true, Cookie: 77, Local: netip.MustParseAddrPort("127.0.0.1:53"),
	}}
	return &caller{k, spec}
}

// result is what came of a call: served, or refused with notes.
type result struct {
	errno uapi.Errno
	notes []string
}

// try makes a call that a kernel would serve.
func (k *caller) try(cmd uapi.Cmd, fields ...field) (int64, result) {
	before := len(k.notes)
	v, e, _ := k.call(uint32(cmd), fields...)
	return v, result{e, k.notes[before:]}
}

// must returns a descriptor that the audited call needs.
func (k *caller) must(fd int64, e uapi.Errno) int {
	if e != 0 {
		panic(fmt.Sprintf("%s %v", e.Name(), k.notes))
	}
	return int(fd)
}

func (k *caller) hash() int { return k.must(k.createMap(uapi.MapTypeHash, 4, 8, 8, 0)) }

func (k *caller) typeID(kind btf.Kind, name string) int {
	id, ok := k.kernel.FindID(kind, name)
	if !ok {
		panic("no type " + name)
	}
	return int(id)
}

// returning are programs that return a constant.
func returning(n int32) []decode.Insn { return []decode.Insn{{Code: 0xb7, Imm: n}, {Code: 0x95}} }

// target returns the attach_btf_id of programs that are loaded for a function.
func (k *caller) target(typ uapi.ProgType, at uapi.AttachType) []field {
	id := 0
	switch {
	case typ == uapi.ProgTypeLSM:
		id = k.typeID(btf.KindFunc, "bpf_lsm_socket_bind")
	case typ == uapi.ProgTypeStructOps:
		id = k.typeID(btf.KindStruct, "tcp_congestion_ops")
	case typ != uapi.ProgTypeTracing, progtype.TracesMany(at): // for many functions, which the link names
		return nil
	case at == uapi.AttachTraceRawTp:
		id = k.typeID(btf.KindTypedef, "btf_trace_sched_switch")
	case at == uapi.AttachTraceIter:
		id = k.typeID(btf.KindFunc, "bpf_iter_bpf_map")
	case at == uapi.AttachModifyReturn:
		id = k.typeID(btf.KindFunc, "security_file_open")
	default:
		id = k.typeID(btf.KindFunc, "vfs_read")
	}
	return []field{{108, id}, {112, 0}}
}

// program loads the smallest program of a type that a kernel accepts.
func (k *caller) program(typ uapi.ProgType, at uapi.AttachType) (int64, result) {
	before := len(k.notes)
	if typ == uapi.ProgTypeExt {
		return k.extension()
	}
	var fd int64
	var e uapi.Errno
	for _, ret := range []int32{0, 1} {
		more := append([]field{{68, int(at)}}, k.target(typ, at)...)
		if typ == uapi.ProgTypeSyscall {
			more = append(more, field{44, 16}) // BPF_F_SLEEPABLE
		}
		fd, e = k.load(typ, returning(ret), more...)
		if e == 0 {
			break
		}
	}
	return fd, result{e, k.notes[before:]}
}

// extension loads a program for a global function of another program.
func (k *caller) extension() (int64, result) {
	x := k.extensible()
	return x.extend(x.sub, returning(2))
}

// extensible is a program whose functions others can replace: main returns what sub returns, which
// is 0.
type extensible struct {
	*caller
	prog      int
	main, sub int // ids of the functions
	types     int
}

func (k *caller) extensible() *extensible {
	return k.extensibleOf(uapi.ProgTypeXDP, 0, "xdp_md", []decode.Insn{{Code: 0x85, Src: 1, Imm: 1}, {Code: 0x95}, {Code: 0xb7}, {Code: 0x95}})
}

// extensibleOf is such a program of another type, of one or two functions of two instructions,
// which say that their argument is a pointer to a struct.
func (k *caller) extensibleOf(typ uapi.ProgType, at uapi.AttachType, context string, insns []decode.Insn) *extensible {
	b := btf.NewBuilder(nil)
	number := b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
	ctx := b.Add(btf.Type{Kind: btf.KindStruct, Name: context, Size: 4, Members: []btf.Member{{Name: "data", Type: number}}})
	ptr := b.Add(btf.Type{Kind: btf.KindPtr, Ref: ctx})
	proto := b.Add(btf.Type{Kind: btf.KindFuncProto, Ref: number, Params: []btf.Param{{Name: "ctx", Type: ptr}}})
	main := b.Add(btf.Type{Kind: btf.KindFunc, Name: "main", Ref: proto, Linkage: btf.LinkageGlobal})
	sub := b.Add(btf.Type{Kind: btf.KindFunc, Name: "sub", Ref: proto, Linkage: btf.LinkageGlobal})
	spec, err := b.Spec(le)
	if err != nil {
		panic(err)
	}
	raw := spec.Raw()
	types, e, _ := k.call(btfLoad, field{0, k.put(raw)}, field{16, len(raw)})
	k.must(types, e)
	x := &extensible{caller: k, main: int(main), sub: int(sub), types: int(types)}
	x.prog = k.must(k.load(typ, insns, append(x.info([]btf.ID{main, sub}[:len(insns)/2]...), field{68, int(at)})...))
	return x
}

// info returns func_info for functions of two instructions each.
func (x *extensible) info(ids ...btf.ID) []field {
	var b []byte
	for i, id := range ids {
		b = le.AppendUint32(le.AppendUint32(b, uint32(2*i)), uint32(id))
	}
	return []field{{72, x.types}, {76, 8}, {80, x.put(b)}, {88, len(ids)}}
}

// extend loads an extension for a function of the program.
func (x *extensible) extend(fn int, insns []decode.Insn) (int64, result) {
	before := len(x.notes)
	fd, e := x.load(uapi.ProgTypeExt, insns, append(x.info(btf.ID(x.sub)), field{108, fn}, field{112, x.prog})...)
	return fd, result{e, x.notes[before:]}
}
