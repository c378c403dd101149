package bpfsys

import (
	"context"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/loader"
)

// describe sets the program's section name and the name of its attach target, as far as they are
// known at load time.
func (s *System) describe(p *Prog, raw *loader.Raw) {
	row := progtype.Of(p.typ)
	sleeps := p.flags&flagSleepable != 0
	best := ""
	for i := range row.Sections {
		sec := &row.Sections[i]
		if sec.Attach != p.expected && len(row.Attaches) > 0 || sec.Flags.Has(progtype.Sleeps) != sleeps || sec.Flags&(progtype.User|progtype.SyscallName) != 0 {
			continue
		}
		if best == "" { // probes at the entry come before those at the return, which only the link tells apart
			best = sec.Name
		}
	}
	if best == "" && len(row.Sections) > 0 {
		best = row.Sections[0].Name
	}
	raw.Section = best
	name := p.hook.name
	switch {
	case name == "":
	case p.typ == uapi.ProgTypeTracing && p.expected == uapi.AttachTraceRawTp:
		name = trimPrefix(name, "btf_trace_")
	case p.typ == uapi.ProgTypeTracing && p.expected == uapi.AttachTraceIter:
		name = trimPrefix(name, "bpf_iter_")
	case p.typ == uapi.ProgTypeLSM:
		name = trimPrefix(name, "bpf_lsm_")
	case p.typ == uapi.ProgTypeStructOps:
		if t := p.hook.obj; t != nil {
			if st := t.spec.SkipMods(p.hook.id); st != nil && int(p.expected) < len(st.Members) {
				p.members = opsMember{typ: st.Name, member: st.Members[p.expected].Name}
				name = st.Name + "." + p.members.member
			}
		}
	}
	raw.AttachTo = name
	if name != "" && best != "" {
		raw.Section = best + "/" + name
	}
}

func trimPrefix(s, prefix string) string {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// opsMember is the member that a struct_ops program implements.
type opsMember struct{ typ, member string }

// verify runs the verifier of the release. A program whose verdict is unknown is accepted with a
// note that names the missing rule.
func (s *System) verify(p *Prog, raw *loader.Raw, out *userLog) (note string, e uapi.Errno) {
	if p.typ == uapi.ProgTypeStructOps && !p.supportsOps() {
		out.printf("attach_btf_id %d is not a supported struct\n", p.hook.id)
		return "", uapi.ENOTSUPP
	}
	v := &verifier.Program{
		Name: raw.Name, Type: p.typ, Attach: p.expected, AttachTo: raw.AttachTo, AttachID: p.hook.id, AttachModule: p.hook.module,
		License: p.license, Flags: p.flags, Sleepable: p.flags&flagSleepable != 0, HasFrags: p.flags&flagFrags != 0,
		Insns: raw.Insns, BTF: raw.Types, Refs: make(map[int]verifier.Ref, len(raw.Refs)),
	}
	if p.typ == uapi.ProgTypeLSM || p.typ == uapi.ProgTypeTracing {
		v.AttachTo = raw.AttachTo
	}
	if p.typ == uapi.ProgTypeStructOps && p.members.member != "" {
		v.StructOps = &verifier.StructOpsMember{Struct: p.members.typ, Member: p.members.member, Type: p.hook.id, Index: int(p.expected), Module: p.hook.module}
	}
	if p.ext != nil {
		v.AttachProg = p.ext.verifiable()
	}
	done := map[*loader.Map]*verifier.Map{}
	for pc, r := range raw.Refs {
		v.Refs[pc] = verifierRef(r, p.maps, done)
	}
	for _, f := range raw.Funcs {
		v.Funcs = append(v.Funcs, verifier.FuncInfo{Insn: f.Start, Type: f.Type, Name: f.Name})
	}
	for _, l := range raw.Lines {
		v.Lines = append(v.Lines, verifier.Line{Insn: int(l.InsnOff / 8), File: l.File, Line: int(l.Line), Text: l.Text})
	}
	opts := verifier.Options{Memory: 512 << 20}
	if out.level != 0 {
		opts.Log, opts.Stats, opts.Emptied = out, out.level&logStats != 0, out.empty
		opts.LogLevel = min(int(out.level&logLevel), 2)
	}
	ctx, stop := context.WithTimeout(context.Background(), s.cfg.Time)
	defer stop()
	verdict, err := verifier.Verify(ctx, s.kernel, v, opts)
	out.ended = err == nil
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("program %s: not verified within %v; accepted", raw.Name, s.cfg.Time), 0
	case err != nil:
		return "", uapi.EINVAL
	}
	p.verified, p.reliable, p.untyped, p.exceptionCB = uint32(verdict.ProcessedInsns), verdict.Reliable, verdict.Untyped, verdict.ExceptionCallback
	p.ctxSize, p.bound = verdict.CtxSize, verdict.Bound
	switch verdict.Outcome {
	case verifier.Refused:
		return "", verdict.Errno
	case verifier.Unknown:
		if why := s.kernel.WhyNot("the simulated kernel"); why != "" {
			return fmt.Sprintf("program %s: accepted unverified: %s", raw.Name, why), 0
		}
		return fmt.Sprintf("program %s: accepted unverified: bpfrun's verifier has no rule for %s", raw.Name, verdict.Missing), 0
	}
	s.withoutDead(p, verdict.Reached)
	return "", 0
}

// verifiable returns the program's description for the verification of programs that attach to it.
func (p *Prog) verifiable() *verifier.Program {
	v := &verifier.Program{Name: p.name, Type: p.typ, Attach: p.expected, License: p.license, Flags: p.flags, Insns: p.lp.Insns, Sleepable: p.flags&flagSleepable != 0, Reliable: p.reliable, Untyped: p.untyped, ExceptionCallback: p.exceptionCB}
	if p.types != nil {
		v.BTF = p.types.spec
	}
	if p.ext != nil {
		v.AttachProg = &verifier.Program{Type: p.ext.typ, Attach: p.ext.expected}
	}
	for _, f := range p.lp.Funcs {
		if f.Type != 0 {
			v.Funcs = append(v.Funcs, verifier.FuncInfo{Insn: f.Start, Type: f.Type, Name: f.Name})
		}
	}
	return v
}

func verifierRef(r loader.Ref, used []*Map, done map[*loader.Map]*verifier.Map) verifier.Ref {
	out := verifier.Ref{Off: r.Off, Func: r.Func, Name: r.Name, TypeID: r.TypeID, Module: r.Module, Missing: !r.Resolved}
	switch r.Kind {
	case loader.RefMap:
		out.Kind = verifier.RefMap
	case loader.RefMapValue:
		out.Kind = verifier.RefMapValue
	case loader.RefFunc:
		out.Kind = verifier.RefFunc
	case loader.RefKsymBTF:
		out.Kind = verifier.RefBTF
	case loader.RefKfunc:
		out.Kind = verifier.RefKfunc
	}
	if r.Map != nil {
		for _, m := range used {
			if m.def == r.Map {
				out.Map = verifierMap(m.def, m.types, m.innerTypes, done)
			}
		}
	}
	return out
}

func verifierMap(d *loader.Map, types, inner *BTF, done map[*loader.Map]*verifier.Map) *verifier.Map {
	if v := done[d]; v != nil {
		return v
	}
	v := &verifier.Map{
		Name: d.Name, Type: d.Type, KeySize: d.KeySize, ValueSize: d.ValueSize, MaxEntries: d.MaxEntries, Flags: d.Flags, Extra: d.Extra,
		KeyType: d.KeyType, ValueType: d.ValueType,
	}
	done[d] = v
	if types != nil {
		v.BTF = types.spec
		if t := types.spec.SkipMods(d.ValueType); t != nil && t.Kind == btf.KindDatasec {
			for _, x := range t.Vars {
				v.Vars = append(v.Vars, verifier.MapVar{Type: x.Type, Off: x.Offset, Size: x.Size})
			}
		}
	}
	if d.Frozen() {
		v.Frozen = d.Data
	}
	if d.Inner != nil {
		v.Inner = verifierMap(d.Inner, inner, nil, done).Template()
	}
	return v
}
