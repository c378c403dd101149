package bpfsys

import (
	"crypto/sha1"
	"crypto/sha256"
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// Prog is a loaded program.
type Prog struct {
	object
	streams  map[uint64][]byte // what waits to be read, by stream
	unique   string            // name in the machine
	typ      uapi.ProgType
	expected uapi.AttachType
	flags    uint32
	license  string
	insns    []byte // as the caller passed them, with ids in place of descriptors
	tag      [8]byte
	lp       *loader.LinkedProgram
	types    *BTF
	btfs     []*BTF // other BTF objects that it refers to
	maps     []*Map
	funcs    []byte // func_info and line_info as the caller passed them
	funcRec  uint32
	lines    []byte
	lineRec  uint32
	hook     target
	ext      *Prog // the program that it extends or traces
	loaded   uint64
	verified uint32
	reliable []int // where static functions begin whose types the verifier found to be those of their calls
	untyped  bool  // nor is the type of the first function that of a program
	// exceptionCB is where the exception callback begins, 0 if there is none.
	exceptionCB int
	ctxSize     int  // how many bytes of the context it may access
	bound       bool // it may be attached only where it said when it was loaded
	assoc       *Map // the struct_ops that its kfuncs act for, or nil
	runs        uint64
	nanos       uint64
	members     opsMember
	raw         *loader.Raw
	consumed    bool // an extension that was attached to the function it was loaded for
}

// target is the type that a program's attach_btf_id refers to.
type target struct {
	id     btf.ID
	obj    *BTF // nil if there is none
	name   string
	module string
}

// Unique returns the program's name in the machine.
func (p *Prog) Unique() string { return p.unique }

// Flags of BPF_PROG_LOAD (BPF_F_*).
const (
	flagStrictAlign, flagAnyAlign, flagTestRndHi32, flagTestState, flagSleepable, flagFrags, flagDevBound, flagTestReg, flagToken = 1, 2, 4, 8, 16, 32, 64, 128, 1 << 16
)

// progFlags are the flags of a load that the release knows: others must be 0, so that they can get
// a meaning (bpf_prog_load).
func (s *System) progFlags() uint32 {
	f := uint32(flagStrictAlign | flagAnyAlign | flagTestRndHi32 | flagTestState | flagSleepable)
	if s.has(since.XDPFrags) {
		f |= flagFrags
	}
	if s.has(since.DevBound) {
		f |= flagDevBound
	}
	if s.has(since.TestRegFlag) {
		f |= flagTestReg
	}
	if s.has(since.Tokens) {
		f |= flagToken
	}
	return f
}

// maxInsns is BPF_COMPLEXITY_LIMIT_INSNS.
const maxInsns = 1_000_000

// progLoad loads a program (bpf_prog_load), with its checks in the kernel's order: of several
// faults the first one is reported.
func (s *System) progLoad(c Caller, a bpfattr.ProgLoad) Result {
	typ, expected, flags := a.ProgType(), a.ExpectedAttachType(), a.ProgFlags()
	if flags&^s.progFlags() != 0 {
		return fail(uapi.EINVAL)
	}
	if _, e := s.tokenOf(c, flags&flagToken != 0, a.ProgTokenFd(), uapi.CmdProgLoad, func(d Delegation) bool {
		return bit(d.Progs, uint32(typ)) && bit(d.Attaches, uint32(expected))
	}, progNeeds(typ)...); e != 0 {
		return fail(e)
	}
	count := a.InsnCnt()
	if count == 0 || count > maxInsns {
		return fail(uapi.E2BIG)
	}
	p := &Prog{typ: typ, expected: s.fixAttach(typ, expected), flags: flags}
	if e := s.attachTarget(c, a, p); e != 0 {
		return fail(e)
	}
	if e := s.checkExpected(p); e != 0 {
		return fail(e)
	}
	raw := make([]byte, 8*int(count))
	if !c.Read(a.Insns(), raw) {
		return fail(uapi.EFAULT)
	}
	license, ok := cstring(c, a.License(), 128)
	if !ok && license == "" {
		return fail(uapi.EFAULT)
	}
	p.license = license
	if a.ProgIfindex() != 0 {
		return Result{Errno: uapi.EINVAL, Note: "programs offloaded to a device (prog_ifindex) are not simulated"}
	}
	if !s.target.HasProgType(typ) || typ == 0 {
		return fail(uapi.EINVAL)
	}
	name, ok := validName(a.ProgName())
	if !ok {
		return fail(uapi.EINVAL)
	}
	if s.full(KindProg) || len(raw) > maxLoaded-s.loaded {
		return fail(uapi.ENOMEM)
	}
	log := logArgs{level: a.LogLevel(), size: a.LogSize(), buf: a.LogBuf()}
	if a.HasLogTrueSize() {
		log.putTrueSize = a.PutLogTrueSize
	}
	out, e := newLog(c, log, s.rules)
	if e != 0 {
		return fail(e)
	}
	r := s.load(c, a, p, name, raw, out)
	if r.Errno != 0 && !out.ended { // the verifier's last line comes in any case (print_verification_stats)
		out.printf("processed 0 insns (limit %d) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0\n", maxInsns)
	}
	if e := out.finish(s.rules); e != 0 && (r.Errno == 0 || e == uapi.EFAULT) {
		if r.Errno == 0 {
			s.put(p)
		}
		return fail(e)
	}
	return r
}

// fixAttach fills in the attach type as bpf_prog_load_fixup_attach_type does.
func (s *System) fixAttach(typ uapi.ProgType, expected uapi.AttachType) uapi.AttachType {
	switch {
	case typ == uapi.ProgTypeCgroupSock && expected == 0:
		return uapi.AttachCgroupInetSockCreate
	case typ == uapi.ProgTypeSkReuseport && expected == 0:
		return uapi.AttachSkReuseportSelect
	}
	return expected
}

// attachTarget resolves the BTF and the program that attach_btf_id refers to.
func (s *System) attachTarget(c Caller, a bpfattr.ProgLoad, p *Prog) uapi.Errno {
	id, fd := btf.ID(a.AttachBtfId()), a.AttachProgFd() // or attach_btf_obj_fd, the same field
	p.hook.id = id
	if fd != 0 {
		f := c.File(fd)
		switch o := f.Object.(type) {
		case *Prog:
			p.ext = o
			if p.typ != uapi.ProgTypeTracing && p.typ != uapi.ProgTypeLSM && p.typ != uapi.ProgTypeExt {
				return uapi.EINVAL
			}
		case *BTF:
			// A program's own types are not what it can attach to.
			if !o.kernel {
				return uapi.EOPNOTSUPP
			}
			p.hook.obj = o
		default:
			return uapi.EINVAL // also without such a descriptor (bpf_prog_load)
		}
	} else if id != 0 {
		// Without a descriptor the id is one of the kernel itself.
		if p.hook.obj = s.vmlinux; p.hook.obj == nil {
			return uapi.EINVAL
		}
	}
	if progtype.TracesMany(p.expected) && s.target.HasAttachType(p.expected) {
		return s.multiTarget(p)
	}
	if p.hook.obj == nil && id == 0 {
		return 0
	}
	switch p.typ {
	case uapi.ProgTypeTracing, uapi.ProgTypeLSM, uapi.ProgTypeStructOps, uapi.ProgTypeExt:
	default:
		if id != 0 {
			return uapi.EINVAL
		}
		return 0
	}
	if id == 0 {
		return uapi.EINVAL
	}
	spec := (*btf.Spec)(nil)
	switch {
	case p.ext != nil:
		if p.ext.types == nil {
			return uapi.EINVAL
		}
		spec = p.ext.types.spec
	default:
		spec, p.hook.module = p.hook.obj.spec, p.hook.obj.name
	}
	if int(id) < spec.NumTypes() {
		p.hook.name = spec.Name(id)
	}
	return 0
}

// checkExpected checks the attach type as bpf_prog_load_check_attach does.
func (s *System) checkExpected(p *Prog) uapi.Errno {
	row := progtype.Of(p.typ)
	switch p.typ {
	case uapi.ProgTypeCgroupSock, uapi.ProgTypeCgroupSockAddr, uapi.ProgTypeCgroupSockopt, uapi.ProgTypeSkLookup, uapi.ProgTypeSkReuseport, uapi.ProgTypeNetfilter:
		at := row.Attached(p.expected)
		if at == nil || !s.release.Has(at.Since) {
			return uapi.EINVAL
		}
	case uapi.ProgTypeCgroupSkb:
		// 0 is ingress, and what programs of before attach types pass.
		if p.expected > uapi.AttachCgroupInetEgress {
			return uapi.EINVAL
		}
	case uapi.ProgTypeSyscall, uapi.ProgTypeExt:
		if p.expected != 0 {
			return uapi.EINVAL
		}
	}
	return 0
}

// load verifies the program and adds it to the machine.
func (s *System) load(c Caller, a bpfattr.ProgLoad, p *Prog, name string, raw []byte, out *userLog) Result {
	insns, err := decode.Unmarshal(raw, le)
	if err != nil {
		return fail(uapi.EINVAL)
	}
	spec := &loader.Raw{
		Name: name, Type: p.typ, Attach: p.expected, License: p.license, Flags: p.flags, Insns: insns, Refs: map[int]loader.Ref{},
		AttachID: p.hook.id, AttachModule: p.hook.module,
	}
	if e := s.debugInfo(c, a, p, spec, out); e != 0 {
		return fail(e)
	}
	if changed, r := s.relocate(c, a, p, spec, out); r.Errno != 0 {
		return r
	} else if changed {
		raw = decode.Marshal(insns, le)
	}
	res := resolver{s: s, c: c, a: a, p: p, raw: spec, log: out, dump: slices.Clone(raw)}
	if e := res.resolve(); e != 0 {
		return fail(e)
	}
	p.insns, p.tag = res.dump, s.tagOf(raw, insns)
	s.describe(p, spec)
	note, e := s.verify(p, spec, out)
	if e != 0 {
		return Result{Errno: e, Note: note}
	}
	if !s.usesCompatible(p) {
		return fail(uapi.EINVAL)
	}
	// From here on the program has an id, and others can find it.
	s.add(p, KindProg, name, func() { s.freeProg(p) })
	if name == "" {
		name = "prog"
	}
	p.unique = name + "#" + utoa(uint64(p.id))
	spec.Name = p.unique
	p.raw, p.lp = spec, spec.Link(s.target)
	p.lp.Funcs[0].Name, p.lp.Reliable, p.lp.Untyped, p.lp.ExceptionCallback = name, p.reliable, p.untyped, p.exceptionCB
	if p.ext != nil {
		p.lp.AttachProg = p.ext.lp
	}
	if err := s.machine.AddProgram(p.lp); err != nil {
		return Result{Errno: uapi.ENOMEM, Note: err.Error()}
	}
	s.loaded += len(p.insns)
	p.loaded = s.machine.Kernel().Clock().Boot()
	for _, m := range p.maps {
		s.hold(m)
	}
	for _, b := range p.btfs {
		s.hold(b)
	}
	if p.ext != nil {
		s.hold(p.ext)
	}
	r := s.newFile(p, ReadWrite)
	r.Note = note
	if err := s.machine.ProgramError(p.unique); err != nil && r.Note == "" {
		r.Note = "program " + name + " was loaded but cannot run: " + err.Error()
	}
	return r
}

// freeProg lets go what the program holds (bpf_prog_free_deferred).
func (s *System) freeProg(p *Prog) {
	s.machine.RemoveProgram(p.unique)
	s.loaded -= len(p.insns)
	for _, m := range p.maps {
		s.put(m)
	}
	for _, b := range p.btfs {
		s.put(b)
	}
	if p.ext != nil {
		s.put(p.ext)
	}
	if p.assoc != nil {
		s.put(p.assoc)
	}
}

// tagOf computes the program tag (bpf_prog_calc_tag): a hash of the instructions without the parts
// that differ between loads; SHA-1 before 6.18.
func (s *System) tagOf(raw []byte, insns []decode.Insn) (tag [8]byte) {
	b := slices.Clone(raw)
	for i := range insns {
		switch insns[i].Op() {
		case decode.OpLdMapFD, decode.OpLdMapValue, decode.OpLdMapIdx, decode.OpLdMapIdxValue:
			// Descriptors and addresses of maps.
			clear(b[8*i+4 : 8*i+8])
			if 8*i+16 <= len(b) {
				clear(b[8*i+12 : 8*i+16])
			}
		}
	}
	if s.has(since.TagSHA256) {
		h := sha256.Sum256(b)
		copy(tag[:], h[:])
		return tag
	}
	h := sha1.Sum(b)
	copy(tag[:], h[:])
	return tag
}

// Sizes in bytes of the kernel's struct bpf_func_info and struct bpf_line_info.
const (
	funcInfoRecord = 8
	lineInfoRecord = 16
)

// debugInfo reads the program's BTF, func_info and line_info (check_btf_info).
func (s *System) debugInfo(c Caller, a bpfattr.ProgLoad, p *Prog, raw *loader.Raw, out *userLog) uapi.Errno {
	nf, nl := a.FuncInfoCnt(), a.LineInfoCnt()
	fd := a.ProgBtfFd()
	if nf == 0 && nl == 0 { // the kernel then ignores the descriptor
		return 0
	}
	b, e := userTypes(c, fd)
	if e != 0 {
		return e
	}
	p.types, raw.Types = b, b.spec
	p.btfs = append(p.btfs, b)
	if p.funcs, e = records(c, a.FuncInfo(), nf, a.FuncInfoRecSize(), funcInfoRecord); e != 0 {
		switch {
		case e == uapi.EINVAL:
			out.printf("invalid func info rec size %d\n", a.FuncInfoRecSize())
		case e == uapi.E2BIG:
			out.printf("nonzero tailing record in func info")
			if !a.PutFuncInfoRecSize(funcInfoRecord) {
				return uapi.EFAULT
			}
		}
		return e
	}
	if p.lines, e = records(c, a.LineInfo(), nl, a.LineInfoRecSize(), lineInfoRecord); e != 0 {
		if e == uapi.E2BIG {
			out.printf("nonzero tailing record in line_info")
			if !a.PutLineInfoRecSize(lineInfoRecord) {
				return uapi.EFAULT
			}
		}
		return e
	}
	if nf > 0 {
		p.funcRec = funcInfoRecord
	}
	if nl > 0 {
		p.lineRec = lineInfoRecord
	}
	n := len(raw.Insns)
	var funcs []verifier.FuncInfo
	for i := 0; i < int(nf); i++ {
		r := p.funcs[i*int(p.funcRec):]
		at, id := int(le.Uint32(r)), btf.ID(le.Uint32(r[4:]))
		funcs = append(funcs, verifier.FuncInfo{Insn: at, Type: id})
		if why := verifier.BadFuncInfo(b.spec, funcs, i, n); why != "" {
			out.printf("%s\n", why)
			return uapi.EINVAL
		}
		if i > 0 {
			raw.Funcs[i-1].Len = at - raw.Funcs[i-1].Start
		}
		raw.Funcs = append(raw.Funcs, loader.Func{Name: b.spec.Name(id), Start: at, Len: n - at, Type: id})
	}
	for i := 0; i < int(nl); i++ {
		r := p.lines[i*int(p.lineRec):]
		at := le.Uint32(r)
		if int(at) >= n || i > 0 && 8*at <= raw.Lines[i-1].InsnOff {
			out.printf("Invalid line_info[%d].insn_off:%d\n", i, at)
			return uapi.EINVAL
		}
		file, ok1 := b.spec.String(le.Uint32(r[4:]))
		text, ok2 := b.spec.String(le.Uint32(r[8:]))
		if !ok1 || !ok2 {
			return uapi.EINVAL
		}
		col := le.Uint32(r[12:])
		raw.Lines = append(raw.Lines, btf.LineInfo{InsnOff: 8 * at, File: file, Text: text, Line: col >> 10, Col: col & 0x3ff})
	}
	return 0
}

// records copies an array of records whose size the caller chooses: bytes beyond the kernel's
// record size must be zero (bpf_check_uarg_tail_zero), or else the caller learns that size.
func records(c Caller, at uint64, n, size, want uint32) ([]byte, uapi.Errno) {
	if n == 0 {
		return nil, 0
	}
	if size < want || size > 252 || size%4 != 0 || n > maxInsns {
		return nil, uapi.EINVAL
	}
	out := make([]byte, 0, int(n)*int(want))
	chunk := make([]byte, size)
	for i := range uint64(n) {
		if !c.Read(at+i*uint64(size), chunk) {
			return nil, uapi.EFAULT
		}
		if !zeroFrom(chunk, int(want)) {
			return nil, uapi.E2BIG
		}
		out = append(out, chunk[:want]...)
	}
	return out, 0
}
