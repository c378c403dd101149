package bpfsys_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/bpfsys"
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/rewrite"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
)

// caller is a task on the newest kernel, with a descriptor of each kind of host file that commands take.
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
	k.files[pidFD] = bpfsys.File{Kind: bpfsys.PidFile, PID: 1}
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
	case typ != uapi.ProgTypeTracing:
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

// extensible is a program whose functions others can replace: main returns what sub returns, which is 0.
type extensible struct {
	*caller
	prog      int
	main, sub int // ids of the functions
	types     int
}

func (k *caller) extensible() *extensible {
	b := btf.NewBuilder(nil)
	number := b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
	ctx := b.Add(btf.Type{Kind: btf.KindStruct, Name: "xdp_md", Size: 4, Members: []btf.Member{{Name: "data", Type: number}}})
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
	x.prog = k.must(k.load(uapi.ProgTypeXDP, []decode.Insn{{Code: 0x85, Src: 1, Imm: 1}, {Code: 0x95}, {Code: 0xb7}, {Code: 0x95}}, x.info(main, sub)...))
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

// subject is an entry of an enumeration of the kernel's interface. The call that it is tried with must succeed, or be refused with a note that
// names it.
type subject struct {
	name string
	try  func(k *caller) result
	// word is what a refusal must mention; empty means the name.
	word string
}

// outcome is what a subject's call shows.
type outcome struct {
	kind, name string
	served     bool
	note       string
}

func audit(t *testing.T, spec *btf.Spec, kind string, subjects []subject) []outcome {
	var out []outcome
	for _, s := range subjects {
		t.Run(kind+"/"+s.name, func(t *testing.T) {
			if s.try == nil {
				t.Fatalf("%s %s is new: add a call that the kernel serves", kind, s.name)
			}
			k := newCaller(t, spec)
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("what the call needs: %v", r)
				}
			}()
			r := s.try(k)
			o := outcome{kind: kind, name: s.name, served: r.errno == 0}
			if r.errno != 0 {
				word := s.word
				if word == "" {
					word = s.name
				}
				i := slices.IndexFunc(r.notes, func(n string) bool { return strings.Contains(n, word) })
				if assert.GreaterOrEqual(t, i, 0, "%s is not served (%s), and no note names it: %q", s.name, r.errno.Name(), r.notes) {
					o.note = r.notes[i]
				}
			}
			out = append(out, o)
		})
	}
	return out
}

func newestKernel(t *testing.T) *btf.Spec {
	spec, err := btffile.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz", nil)
	require.NoError(t, err)
	return spec
}

// TestTheWholeInterfaceIsServedOrRefusedByName goes through the kernel's enumerations, which package uapi generates from the newest kernel's BTF: every
// entry has a call that the kernel serves, and that call is served here or refused with a note that names the entry. The table in docs/exec.md lists the refused entries.
func TestTheWholeInterfaceIsServedOrRefusedByName(t *testing.T) {
	spec := newestKernel(t)
	var all []outcome
	for _, part := range []struct {
		kind     string
		subjects []subject
	}{
		{"command", commandSubjects()}, {"map type", mapSubjects()}, {"element of a map", elementSubjects()}, {"program type", programSubjects()},
		{"attach type", attachSubjects()}, {"link type", linkSubjects()}, {"perf event", perfSubjects()}, {"request on a perf event", perfIoctlSubjects()},
	} {
		all = append(all, audit(t, spec, part.kind, part.subjects)...)
	}
	if t.Failed() {
		return
	}
	checkTable(t, "../docs/exec.md", "bpf", table(all))
}

var plural = map[string]string{
	"command": "commands", "map type": "map types", "element of a map": "elements of maps, by type", "program type": "program types", "attach type": "attach types",
	"link type": "link types", "perf event": "perf events", "request on a perf event": "requests on perf events",
}

// table renders the outcomes for docs/exec.md.
func table(all []outcome) string {
	var b strings.Builder
	b.WriteString("| of the kernel's | served | refused by name |\n|---|---:|---|\n")
	for len(all) > 0 {
		kind, served := all[0].kind, 0
		var refused []string
		for len(all) > 0 && all[0].kind == kind {
			if all[0].served {
				served++
			} else {
				refused = append(refused, "`"+all[0].name+"`")
			}
			all = all[1:]
		}
		if len(refused) == 0 {
			refused = []string{"-"}
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", plural[kind], served, strings.Join(refused, ", "))
	}
	return b.String()
}

// checkTable compares the text between the marks of a document, or writes it there.
func checkTable(t *testing.T, file, name, want string) {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	begin, end := []byte("<!-- served:"+name+" -->\n"), []byte("<!-- end -->\n")
	head, rest, ok := bytes.Cut(raw, begin)
	require.True(t, ok, "%s has no line %s", file, begin)
	got, tail, ok := bytes.Cut(rest, end)
	require.True(t, ok)
	if *rewrite.Flag && string(got) != want {
		require.NoError(t, os.WriteFile(file, slices.Concat(head, begin, []byte(want), end, tail), 0o644))
		return
	}
	assert.Equal(t, want, string(got), "update with -update")
}

func commandSubjects() []subject {
	prog := func(k *caller) int { return k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)) }
	path := func(k *caller) uint64 { return k.text("/sys/fs/bpf/x") }
	one := func(k *caller) uint64 { return k.put([]byte{1, 0, 0, 0, 0, 0, 0, 0}) }
	filled := func(k *caller) int {
		fd := k.hash()
		_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, one(k)}, field{16, one(k)}, field{24, uint64(0)})
		k.must(0, r.errno)
		return fd
	}
	call := func(cmd uapi.Cmd, fields func(k *caller) []field) func(k *caller) result {
		return func(k *caller) result {
			f := fields(k)
			_, r := k.try(cmd, f...)
			return r
		}
	}
	types := func(k *caller) int {
		raw := smallTypes(k)
		fd, r := k.try(uapi.CmdBtfLoad, field{0, k.put(raw)}, field{16, len(raw)})
		return k.must(fd, r.errno)
	}
	tcx := func(k *caller) int {
		p := k.must(k.load(uapi.ProgTypeSchedCls, exitZero, field{68, int(uapi.AttachTcxIngress)}))
		fd, r := k.try(uapi.CmdLinkCreate, field{0, p}, field{4, 1}, field{8, int(uapi.AttachTcxIngress)}, field{12, 0})
		return k.must(fd, r.errno)
	}
	elem := func(cmd uapi.Cmd) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			return []field{{0, filled(k)}, {8, one(k)}, {16, k.room(64)}, {24, uint64(0)}}
		})
	}
	batch := func(cmd uapi.Cmd) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			keys := one(k)
			if cmd == uapi.CmdMapLookupBatch || cmd == uapi.CmdMapLookupAndDeleteBatch {
				fd := filled(k)
				for i := range 4 {
					key := k.put([]byte{byte(10 + i), 0, 0, 0})
					_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, key}, field{16, one(k)}, field{24, uint64(0)})
					k.must(0, r.errno)
				}
				return []field{{0, uint64(0)}, {8, k.room(8)}, {16, k.room(64)}, {24, k.room(64)}, {32, 2}, {36, fd}, {48, uint64(0)}}
			}
			return []field{{16, keys}, {24, one(k)}, {32, 1}, {36, filled(k)}, {48, uint64(0)}}
		})
	}
	next := func(cmd uapi.Cmd, open func(k *caller) int) func(k *caller) result {
		return call(cmd, func(k *caller) []field { open(k); return []field{{0, 0}, {4, 0}} })
	}
	byID := func(cmd uapi.Cmd, kind bpfsys.Kind, open func(k *caller) int) func(k *caller) result {
		return call(cmd, func(k *caller) []field {
			open(k)
			list := k.s.Objects(kind)
			return []field{{0, int(list[len(list)-1].ID())}}
		})
	}
	known := map[uapi.Cmd]func(k *caller) result{
		uapi.CmdMapCreate:     call(uapi.CmdMapCreate, func(*caller) []field { return []field{{0, int(uapi.MapTypeHash)}, {4, 4}, {8, 8}, {12, 1}} }),
		uapi.CmdMapLookupElem: elem(uapi.CmdMapLookupElem), uapi.CmdMapUpdateElem: elem(uapi.CmdMapUpdateElem),
		uapi.CmdMapDeleteElem:          call(uapi.CmdMapDeleteElem, func(k *caller) []field { return []field{{0, filled(k)}, {8, one(k)}} }),
		uapi.CmdMapGetNextKey:          call(uapi.CmdMapGetNextKey, func(k *caller) []field { return []field{{0, filled(k)}, {8, uint64(0)}, {16, k.room(8)}} }),
		uapi.CmdMapLookupAndDeleteElem: elem(uapi.CmdMapLookupAndDeleteElem),
		uapi.CmdMapFreeze:              call(uapi.CmdMapFreeze, func(k *caller) []field { return []field{{0, filled(k)}} }),
		uapi.CmdMapLookupBatch:         batch(uapi.CmdMapLookupBatch), uapi.CmdMapLookupAndDeleteBatch: batch(uapi.CmdMapLookupAndDeleteBatch),
		uapi.CmdMapUpdateBatch: batch(uapi.CmdMapUpdateBatch), uapi.CmdMapDeleteBatch: batch(uapi.CmdMapDeleteBatch),
		uapi.CmdProgLoad: func(k *caller) result { _, r := k.program(uapi.ProgTypeSocketFilter, 0); return r },
		uapi.CmdObjPin:   call(uapi.CmdObjPin, func(k *caller) []field { return []field{{0, path(k)}, {8, k.hash()}} }),
		uapi.CmdObjGet: call(uapi.CmdObjGet, func(k *caller) []field {
			_, r := k.try(uapi.CmdObjPin, field{0, path(k)}, field{8, k.hash()})
			k.must(0, r.errno)
			return []field{{0, path(k)}}
		}),
		uapi.CmdProgAttach: call(uapi.CmdProgAttach, func(k *caller) []field {
			return []field{{0, cgroupFD}, {4, k.must(k.load(uapi.ProgTypeCgroupDevice, exitZero))}, {8, int(uapi.AttachCgroupDevice)}, {12, 0}}
		}),
		uapi.CmdProgDetach: call(uapi.CmdProgDetach, func(k *caller) []field {
			p := k.must(k.load(uapi.ProgTypeCgroupDevice, exitZero))
			_, r := k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, p}, field{8, int(uapi.AttachCgroupDevice)}, field{12, 0})
			k.must(0, r.errno)
			return []field{{0, cgroupFD}, {4, p}, {8, int(uapi.AttachCgroupDevice)}}
		}),
		uapi.CmdProgTestRun:    call(uapi.CmdProgTestRun, func(k *caller) []field { return []field{{0, prog(k)}, {8, 64}, {16, k.room(64)}, {68, 0}} }),
		uapi.CmdProgGetNextId:  next(uapi.CmdProgGetNextId, prog),
		uapi.CmdMapGetNextId:   next(uapi.CmdMapGetNextId, (*caller).hash),
		uapi.CmdBtfGetNextId:   next(uapi.CmdBtfGetNextId, types),
		uapi.CmdLinkGetNextId:  next(uapi.CmdLinkGetNextId, tcx),
		uapi.CmdProgGetFdById:  byID(uapi.CmdProgGetFdById, bpfsys.KindProg, prog),
		uapi.CmdMapGetFdById:   byID(uapi.CmdMapGetFdById, bpfsys.KindMap, (*caller).hash),
		uapi.CmdBtfGetFdById:   byID(uapi.CmdBtfGetFdById, bpfsys.KindBTF, types),
		uapi.CmdLinkGetFdById:  byID(uapi.CmdLinkGetFdById, bpfsys.KindLink, tcx),
		uapi.CmdObjGetInfoByFd: call(uapi.CmdObjGetInfoByFd, func(k *caller) []field { return []field{{0, k.hash()}, {4, 88}, {8, k.room(88)}} }),
		uapi.CmdProgQuery:      call(uapi.CmdProgQuery, func(k *caller) []field { return []field{{0, cgroupFD}, {4, int(uapi.AttachCgroupDevice)}, {24, 0}} }),
		uapi.CmdRawTracepointOpen: call(uapi.CmdRawTracepointOpen, func(k *caller) []field {
			return []field{{0, k.text("sched_switch")}, {8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))}}
		}),
		uapi.CmdBtfLoad: func(k *caller) result { types(k); return result{} },
		uapi.CmdTaskFdQuery: call(uapi.CmdTaskFdQuery, func(k *caller) []field {
			fd, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))})
			return []field{{0, 1}, {4, k.must(fd, r.errno)}, {40, uint64(0)}}
		}),
		uapi.CmdLinkCreate: func(k *caller) result { tcx(k); return result{} },
		uapi.CmdLinkUpdate: call(uapi.CmdLinkUpdate, func(k *caller) []field {
			return []field{{0, tcx(k)}, {4, k.must(k.load(uapi.ProgTypeSchedCls, exitZero, field{68, int(uapi.AttachTcxIngress)}))}}
		}),
		uapi.CmdLinkDetach:  call(uapi.CmdLinkDetach, func(k *caller) []field { return []field{{0, tcx(k)}} }),
		uapi.CmdEnableStats: call(uapi.CmdEnableStats, func(*caller) []field { return []field{{0, 0}} }),
		uapi.CmdIterCreate: call(uapi.CmdIterCreate, func(k *caller) []field {
			p, r := k.program(uapi.ProgTypeTracing, uapi.AttachTraceIter)
			k.must(p, r.errno)
			fd, r := k.try(uapi.CmdLinkCreate, field{0, int(p)}, field{8, int(uapi.AttachTraceIter)}, field{12, 0})
			return []field{{0, k.must(fd, r.errno)}, {4, 0}}
		}),
		uapi.CmdProgBindMap: call(uapi.CmdProgBindMap, func(k *caller) []field { return []field{{0, prog(k)}, {4, k.hash()}, {8, 0}} }),
		uapi.CmdTokenCreate: call(uapi.CmdTokenCreate, func(k *caller) []field {
			k.userNS, k.caps = 7, ^uint64(0)
			root, e := k.s.NewBPFFS(7, bpfsys.Delegation{Maps: 1 << uapi.MapTypeHash})
			k.must(0, e)
			k.files[bpffsFD] = bpfsys.File{Kind: bpfsys.BPFFSFile, Path: root}
			return []field{{0, 0}, {4, bpffsFD}}
		}),
		uapi.CmdProgStreamReadByFd: call(uapi.CmdProgStreamReadByFd, func(k *caller) []field { return []field{{0, k.room(16)}, {8, 16}, {12, 1}, {16, prog(k)}} }),
		uapi.CmdProgAssocStructOps: call(uapi.CmdProgAssocStructOps, func(k *caller) []field { return []field{{0, k.hash()}, {4, prog(k)}, {8, 0}} }),
	}
	var out []subject
	for _, c := range uapi.Cmds() {
		out = append(out, subject{name: c.String(), try: known[c]})
	}
	return out
}

// smallTypes returns BTF with one type.
func smallTypes(*caller) []byte {
	b := btf.NewBuilder(nil)
	b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
	spec, err := b.Spec(le)
	if err != nil {
		panic(err)
	}
	return spec.Raw()
}

// shape are the sizes that a kernel accepts for maps of a type.
type shape struct{ key, value, entries, flags int }

func shapeOf(typ uapi.MapType) shape {
	switch typ {
	case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf:
		return shape{0, 0, 4096, 0}
	case uapi.MapTypeArena:
		return shape{0, 0, 4, uapi.MapMmapable}
	case uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeBloomFilter:
		return shape{0, 8, 4, 0}
	case uapi.MapTypeLPMTrie:
		return shape{8, 8, 4, uapi.MapNoPrealloc}
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage:
		return shape{4, 8, 0, uapi.MapNoPrealloc}
	case uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage:
		return shape{16, 8, 0, 0}
	case uapi.MapTypeStackTrace:
		return shape{4, 80, 4, 0}
	case uapi.MapTypeProgArray, uapi.MapTypePerfEventArray, uapi.MapTypeCgroupArray, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps, uapi.MapTypeXskmap, uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap, uapi.MapTypeSockmap, uapi.MapTypeSockhash:
		return shape{4, 4, 4, 0}
	case uapi.MapTypeRhash:
		return shape{4, 8, 4, uapi.MapNoPrealloc}
	case uapi.MapTypeInsnArray:
		return shape{4, 16, 4, 0}
	}
	return shape{4, 8, 4, 0}
}

// create makes a map of a type.
func (k *caller) create(typ uapi.MapType) (int64, result) {
	s := shapeOf(typ)
	var more []field
	switch typ {
	case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
		more = []field{{20, k.hash()}}
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage:
		b := btf.NewBuilder(nil)
		number := b.Add(btf.Type{Kind: btf.KindInt, Name: "int", Size: 4, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 32}})
		value := b.Add(btf.Type{Kind: btf.KindInt, Name: "long", Size: 8, Int: btf.IntInfo{Encoding: btf.IntSigned, Bits: 64}})
		spec, err := b.Spec(le)
		if err != nil {
			panic(err)
		}
		fd, r := k.try(uapi.CmdBtfLoad, field{0, k.put(spec.Raw())}, field{16, len(spec.Raw())})
		more = []field{{48, k.must(fd, r.errno)}, {52, int(number)}, {56, int(value)}}
	case uapi.MapTypeStructOps:
		id := k.typeID(btf.KindStruct, "bpf_struct_ops_tcp_congestion_ops")
		s.value, s.entries = int(k.kernel.MustType(btf.ID(id)).Size), 1
		more = []field{{60, id}}
	}
	before := len(k.notes)
	fd, e := k.createMap(typ, s.key, s.value, s.entries, s.flags, more...)
	return fd, result{e, k.notes[before:]}
}

func linkSubjects() []subject {
	ways := map[uapi.LinkType]uapi.AttachType{
		uapi.LinkTracing: uapi.AttachTraceFentry, uapi.LinkCgroup: uapi.AttachCgroupSysctl, uapi.LinkIter: uapi.AttachTraceIter, uapi.LinkNetns: uapi.AttachSkLookup,
		uapi.LinkXDP: uapi.AttachXDP, uapi.LinkPerfEvent: uapi.AttachPerfEvent, uapi.LinkKprobeMulti: uapi.AttachTraceKprobeMulti, uapi.LinkStructOps: uapi.AttachStructOps,
		uapi.LinkNetfilter: uapi.AttachNetfilter, uapi.LinkTcx: uapi.AttachTcxIngress, uapi.LinkUprobeMulti: uapi.AttachTraceUprobeMulti, uapi.LinkNetkit: uapi.AttachNetkitPrimary,
		uapi.LinkTracingMulti: uapi.AttachTraceFentryMulti,
	}
	var out []subject
	for _, typ := range uapi.LinkTypes()[1:] {
		at, ok := ways[typ]
		try := func(k *caller) result { return k.attachTo(at) }
		word := at.String()
		switch typ {
		case uapi.LinkRawTracepoint:
			ok, try = true, func(k *caller) result {
				_, r := k.try(uapi.CmdRawTracepointOpen, field{0, k.text("sched_switch")}, field{8, k.must(k.load(uapi.ProgTypeRawTracepoint, exitZero))})
				return r
			}
		case uapi.LinkSockmap:
			ok, try = true, func(k *caller) result {
				fd, r := k.program(uapi.ProgTypeSkMsg, uapi.AttachSkMsgVerdict)
				m := k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 4, 0))
				_, r = k.try(uapi.CmdLinkCreate, field{0, k.must(fd, r.errno)}, field{4, m}, field{8, int(uapi.AttachSkMsgVerdict)}, field{12, 0})
				return r
			}
		}
		if !ok {
			try = nil
		}
		out = append(out, subject{typ.String(), func(k *caller) result {
			r := try(k)
			if r.errno == 0 {
				links := k.s.Objects(bpfsys.KindLink)
				info := k.room(64)
				fd, got := k.try(uapi.CmdLinkGetFdById, field{0, int(links[len(links)-1].ID())})
				_, got = k.try(uapi.CmdObjGetInfoByFd, field{0, k.must(fd, got.errno)}, field{4, 64}, field{8, info})
				if k.must(0, got.errno); uapi.LinkType(le.Uint32(k.at(info, 4))) != typ {
					panic("its info has another type")
				}
			}
			return r
		}, word})
		if try == nil {
			out[len(out)-1].try = nil
		}
	}
	return out
}

func mapSubjects() []subject {
	var out []subject
	for _, typ := range uapi.MapTypes() {
		out = append(out, subject{name: typ.String(), try: func(k *caller) result { _, r := k.create(typ); return r }})
	}
	return out
}

// elementSubjects are the map types whose elements user space may write, one way or another.
func elementSubjects() []subject {
	var out []subject
	for _, typ := range uapi.MapTypes() {
		value := func(k *caller) uint64 {
			fd := func(n int) uint64 { return k.put(le.AppendUint64(nil, uint64(n))) }
			switch typ {
			case uapi.MapTypeProgArray:
				return fd(k.must(k.load(uapi.ProgTypeSocketFilter, exitZero)))
			case uapi.MapTypePerfEventArray:
				ev, r := k.event(uapi.PerfTypeSoftware, uint64(uapi.PerfSoftwareBpfOutput))
				return fd(k.must(ev, r.errno))
			case uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
				return fd(k.hash())
			case uapi.MapTypeCgroupArray:
				return fd(cgroupFD)
			case uapi.MapTypeSockmap, uapi.MapTypeSockhash, uapi.MapTypeXskmap, uapi.MapTypeReuseportSockarray:
				return fd(socketFD)
			case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash:
				return fd(1)
			case uapi.MapTypeStructOps:
				return k.room(4096)
			}
			return k.room(256)
		}
		key := func(k *caller) uint64 {
			n := map[uapi.MapType]int{uapi.MapTypeSkStorage: socketFD, uapi.MapTypeInodeStorage: socketFD, uapi.MapTypeTaskStorage: pidFD, uapi.MapTypeCgrpStorage: cgroupFD, uapi.MapTypeCgroupStorage: cgroupFD, uapi.MapTypePercpuCgroupStorage: cgroupFD}[typ]
			b := make([]byte, 16)
			le.PutUint32(b, uint32(n))
			return k.put(b)
		}
		switch typ {
		case uapi.MapTypeRingbuf, uapi.MapTypeUserRingbuf, uapi.MapTypeArena: // read and written through their mappings
			out = append(out, subject{name: typ.String(), try: func(k *caller) result {
				fd, r := k.create(typ)
				k.must(fd, r.errno)
				before := len(k.notes)
				if typ == uapi.MapTypeArena {
					return result{k.s.MapArena(k.files[int32(fd)].Object.(*bpfsys.Map), 0, 0, 4*uapi.PageSize, false), k.notes[before:]}
				}
				off := uint64(0)
				if typ == uapi.MapTypeUserRingbuf { // the first page is the kernel's to write
					off = uapi.PageSize
				}
				e := k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, off, uapi.PageSize, true, false)
				return result{e, k.notes[before:]}
			}})
			continue
		case uapi.MapTypeStackTrace: // only programs store; user space reads and deletes
			out = append(out, subject{name: typ.String(), try: func(k *caller) result {
				fd, r := k.create(typ)
				k.must(fd, r.errno)
				_, r = k.try(uapi.CmdMapGetNextKey, field{0, int(fd)}, field{8, uint64(0)}, field{16, k.room(8)})
				if r.errno == uapi.ENOENT {
					r.errno = 0
				}
				return r
			}})
			continue
		}
		out = append(out, subject{name: typ.String(), try: func(k *caller) result {
			fd, r := k.create(typ)
			if r.errno != 0 {
				return r
			}
			at := key(k)
			if typ == uapi.MapTypeCgroupStorage || typ == uapi.MapTypePercpuCgroupStorage { // an element exists once a program that uses the map is attached
				at = k.put(k.cgroupStorageKey(int(fd)))
			}
			if shapeOf(typ).key == 0 {
				at = 0
			}
			_, r = k.try(uapi.CmdMapUpdateElem, field{0, int(fd)}, field{8, at}, field{16, value(k)}, field{24, uint64(0)})
			return r
		}})
	}
	return out
}

// cgroupStorageKey attaches a program that uses a map to the cgroup and returns the key of its storage.
func (k *caller) cgroupStorageKey(m int) []byte {
	p := k.must(k.load(uapi.ProgTypeCgroupSkb, []decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, {Code: 0xb7, Imm: 1}, {Code: 0x95}}))
	_, r := k.try(uapi.CmdProgAttach, field{0, cgroupFD}, field{4, p}, field{8, int(uapi.AttachCgroupInetEgress)}, field{12, 0})
	k.must(0, r.errno)
	key := make([]byte, 16)
	le.PutUint64(key, cgroupFD)
	le.PutUint32(key[8:], uint32(uapi.AttachCgroupInetEgress))
	return key
}

func programSubjects() []subject {
	var out []subject
	for _, row := range progtype.All() {
		at := row.Attach
		if len(row.Attaches) > 0 && row.Attached(at) == nil {
			at = row.Attaches[0].Type
		}
		if row.Type == uapi.ProgTypeExt || row.Type == uapi.ProgTypeSyscall {
			at = 0
		}
		out = append(out, subject{name: row.Type.String(), try: func(k *caller) result { _, r := k.program(row.Type, at); return r }})
	}
	return out
}

// ownerOf returns the program type of an attach type.
func ownerOf(at uapi.AttachType) uapi.ProgType {
	switch at {
	case uapi.AttachTcxIngress, uapi.AttachTcxEgress, uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		return uapi.ProgTypeSchedCls
	case uapi.AttachPerfEvent:
		return uapi.ProgTypePerfEvent
	case uapi.AttachSkSkbVerdict, uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict:
		return uapi.ProgTypeSkSkb
	case uapi.AttachCgroupInetIngress:
		return uapi.ProgTypeCgroupSkb
	}
	for _, row := range progtype.All() {
		if row.Attached(at) != nil {
			return row.Type
		}
	}
	for _, row := range progtype.All() {
		if row.Attach == at {
			return row.Type
		}
	}
	return 0
}

func attachSubjects() []subject {
	var out []subject
	for _, at := range uapi.AttachTypes() {
		out = append(out, subject{name: at.String(), try: func(k *caller) result { return k.attachTo(at) }})
	}
	return out
}

// attachTo attaches a program by the command that kernels have for an attach type.
func (k *caller) attachTo(at uapi.AttachType) result {
	if at == uapi.AttachStructOps {
		return k.registerOps()
	}
	typ := ownerOf(at)
	if typ == 0 {
		return result{uapi.EINVAL, []string{"no program type of " + at.String() + " in progtype"}}
	}
	fd, r := k.program(typ, at)
	if r.errno != 0 {
		return r
	}
	link := func(target int, more ...field) result {
		_, r := k.try(uapi.CmdLinkCreate, append([]field{{0, int(fd)}, {4, target}, {8, int(at)}, {12, 0}}, more...)...)
		return r
	}
	attach := func(target int) result {
		_, r := k.try(uapi.CmdProgAttach, field{0, target}, field{4, int(fd)}, field{8, int(at)}, field{12, 0})
		return r
	}
	name := k.put(le.AppendUint64(nil, k.text("vfs_read")))
	switch at {
	case uapi.AttachTraceRawTp, uapi.AttachTraceFentry, uapi.AttachTraceFexit, uapi.AttachTraceFsession, uapi.AttachModifyReturn, uapi.AttachLSMMac, uapi.AttachTraceIter:
		return link(0)
	case uapi.AttachXDP, uapi.AttachTcxIngress, uapi.AttachTcxEgress:
		return link(1)
	case uapi.AttachNetkitPrimary, uapi.AttachNetkitPeer:
		return link(k.newDevice(0, "netkit"))
	case uapi.AttachFlowDissector, uapi.AttachSkLookup:
		return link(netnsFD)
	case uapi.AttachNetfilter:
		return link(0, field{16, 2}, field{20, 0}, field{24, 1}, field{28, 0})
	case uapi.AttachPerfEvent:
		ev, r := k.event(uapi.PerfTypeSoftware, 0)
		return link(k.must(ev, r.errno))
	case uapi.AttachTraceKprobeMulti, uapi.AttachTraceKprobeSession:
		return link(0, field{16, 0}, field{20, 1}, field{24, name})
	case uapi.AttachTraceUprobeMulti, uapi.AttachTraceUprobeSession:
		return link(0, field{16, k.text("/bin/sh")}, field{24, k.put(make([]byte, 8))}, field{48, 1}, field{52, 0})
	case uapi.AttachSkSkbVerdict, uapi.AttachSkSkbStreamParser, uapi.AttachSkSkbStreamVerdict, uapi.AttachSkMsgVerdict:
		return attach(k.must(k.createMap(uapi.MapTypeSockmap, 4, 4, 4, 0)))
	case uapi.AttachSkReuseportSelect, uapi.AttachSkReuseportSelectOrMigrate, uapi.AttachXDPDevmap, uapi.AttachXDPCpumap:
		return r // loaded for it; attached by setsockopt(2) or through a map
	case uapi.AttachLircMode2:
		return attach(socketFD)
	}
	return link(cgroupFD)
}

// registerOps creates and registers a struct_ops map with a link.
func (k *caller) registerOps() result {
	id := k.typeID(btf.KindStruct, "bpf_struct_ops_tcp_congestion_ops")
	size := int(k.kernel.MustType(btf.ID(id)).Size)
	fd := k.must(k.createMap(uapi.MapTypeStructOps, 4, size, 1, uapi.MapLink, field{60, id}))
	_, r := k.try(uapi.CmdMapUpdateElem, field{0, fd}, field{8, k.room(4)}, field{16, k.room(size)}, field{24, uint64(0)})
	k.must(0, r.errno)
	_, r = k.try(uapi.CmdLinkCreate, field{0, fd}, field{4, 0}, field{8, int(uapi.AttachStructOps)}, field{12, 0})
	return r
}

// event opens a perf event.
func (k *caller) event(typ uapi.PerfType, config uint64) (int64, result) {
	a := make([]byte, 136)
	le.PutUint32(a, uint32(typ))
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], config)
	le.PutUint64(a[16:], 1000) // period
	return k.openEvent(a, -1)
}

// openEvent calls perf_event_open(2) with a struct perf_event_attr.
func (k *caller) openEvent(a []byte, group int32) (int64, result) {
	before := len(k.notes)
	r := k.s.PerfEventOpen(k, k.put(a), -1, 0, group, 0)
	if r.Note != "" {
		k.notes = append(k.notes, r.Note)
	}
	if r.File != nil {
		k.files[k.next] = *r.File
		r.Val = int64(k.next)
		k.next++
	}
	return r.Val, result{r.Errno, k.notes[before:]}
}

// perfSubjects are the types of events, and what open(2) of them may ask for besides.
func perfSubjects() []subject {
	var out []subject
	for _, typ := range uapi.PerfTypes() {
		config := uint64(0)
		out = append(out, subject{name: typ.String(), try: func(k *caller) result {
			if typ == uapi.PerfTypeTracepoint {
				b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
				_, err := fmt.Sscan(string(b), &config)
				if err != nil {
					panic(err)
				}
			}
			_, r := k.event(typ, config)
			return r
		}})
	}
	for _, sw := range uapi.PerfSoftwareEvents() {
		out = append(out, subject{name: sw.String(), try: func(k *caller) result { _, r := k.event(uapi.PerfTypeSoftware, uint64(sw)); return r }})
	}
	probe := func(typ uint32, name string) func(k *caller) result {
		return func(k *caller) result {
			a := make([]byte, 136)
			le.PutUint32(a, typ)
			le.PutUint32(a[4:], 136)
			le.PutUint64(a[56:], k.text(name))
			_, r := k.openEvent(a, -1)
			return r
		}
	}
	return append(out,
		subject{name: "kprobe", try: probe(8, "vfs_read")}, subject{name: "uprobe", try: probe(9, "/bin/sh")},
		subject{name: "a group of events", word: "group", try: func(k *caller) result {
			leader, r := k.event(uapi.PerfTypeSoftware, 0)
			k.must(leader, r.errno)
			a := make([]byte, 136)
			le.PutUint32(a, uint32(uapi.PerfTypeSoftware))
			le.PutUint32(a[4:], 136)
			_, r = k.openEvent(a, int32(leader))
			return r
		}},
	)
}

func perfIoctlSubjects() []subject {
	var out []subject
	for _, req := range uapi.PerfIoctls() {
		out = append(out, subject{name: req.String(), try: func(k *caller) result {
			b, _ := k.s.ReadFile("/sys/kernel/tracing/events/sched/sched_switch/id")
			id := uint64(0)
			if _, err := fmt.Sscan(string(b), &id); err != nil {
				panic(err)
			}
			ev, r := k.event(uapi.PerfTypeTracepoint, id)
			fd := k.must(ev, r.errno)
			arg := k.room(256)
			switch req {
			case uapi.PerfIoctlSetBPF:
				arg = uint64(k.must(k.load(uapi.ProgTypeTracepoint, exitZero)))
			case uapi.PerfIoctlSetOutput:
				other, r := k.event(uapi.PerfTypeSoftware, uint64(uapi.PerfSoftwareBpfOutput))
				arg = uint64(k.must(other, r.errno))
				k.must(0, k.s.MapRange(k.files[int32(arg)].Object, bpfsys.ReadWrite, 0, 2*uapi.PageSize, true, false))
			case uapi.PerfIoctlPauseOutput:
				k.must(0, k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, 0, 2*uapi.PageSize, true, false))
			case uapi.PerfIoctlPeriod:
				arg = k.put(le.AppendUint64(nil, 100))
			case uapi.PerfIoctlQueryBPF:
				le.PutUint32(k.at(arg, 4), 4)
			case uapi.PerfIoctlSetFilter:
				arg = k.text("common_pid > 0")
			}
			res := k.s.PerfIoctl(k, k.files[int32(fd)].Object.(*bpfsys.PerfEvent), 0x2400|uint32(req), arg)
			return result{res.Errno, []string{res.Note}}
		}})
	}
	return out
}
