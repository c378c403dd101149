package loader

import (
	"github.com/bpfrun/bpfrun/corerelo"
)

// LogMatch is what an entry of a verifier log refers to.
type LogMatch struct {
	Program *LinkedProgram // nil for maps and kfuncs
	Insn    int            // in Program.Insns
	Reloc   *Reloc         // a CO-RE relocation
	Map     *Map           // a map that was not created
	Extern  *LinkedExtern  // a kfunc that was not found
}

// maxLogMatches limits the relocations that a vague entry may match.
const maxLogMatches = 8

// MatchLog finds what an entry of this object's log refers to. The log may come from a different
// kernel than the target, so a relocation is matched by its text or its position. If an entry has
// neither program nor instruction, all reachable relocations that fail on the target match.
func (l *Linked) MatchLog(e corerelo.LogEntry) []LogMatch {
	switch e.Kind {
	case corerelo.PoisonMap:
		for i, m := range l.Maps {
			if e.Name == m.Name || e.Name == "" && e.Index == i {
				return []LogMatch{{Map: m, Insn: e.Insn}}
			}
		}
	case corerelo.PoisonKfunc:
		for _, x := range l.Externs {
			if e.Name == x.Name || e.Name == "" && e.Index == x.Index {
				return []LogMatch{{Extern: x, Insn: e.Insn}}
			}
		}
	case corerelo.PoisonCORE:
		return l.matchCORE(e)
	}
	return nil
}

func (l *Linked) matchCORE(e corerelo.LogEntry) []LogMatch {
	all := l.logCandidates(e)
	if e.Spec == "" && e.Insn < 0 {
		return limitMatches(all)
	}
	// Most specific first: the log's program, then programs where the relocation fails here too.
	for _, good := range []func(m LogMatch) bool{
		func(m LogMatch) bool { return m.Program.Name == e.Program && (e.Insn < 0 || e.Insn == m.Insn) },
		func(m LogMatch) bool { return m.Program.Name == e.Program },
		func(m LogMatch) bool { return m.Reloc.Poisoned() && e.Insn == m.Insn },
		func(m LogMatch) bool { return m.Reloc.Poisoned() },
	} {
		var out []LogMatch
		for _, m := range all {
			if good(m) {
				out = append(out, m)
			}
		}
		if len(out) > 0 {
			return limitMatches(out)
		}
	}
	return limitMatches(all)
}

// logCandidates lists the relocations that an entry may refer to.
func (l *Linked) logCandidates(e corerelo.LogEntry) []LogMatch {
	var out []LogMatch
	for _, lp := range l.Programs {
		if e.Program != "" && e.Program != lp.Name && l.hasProgram(e.Program) {
			continue
		}
		reached := map[int]bool{}
		if e.Spec == "" && e.Insn < 0 {
			for _, v := range lp.PoisonVerdicts() {
				reached[v.Insn] = v.Verdict != Dead
			}
		}
		for i := range lp.Relocs {
			r := &lp.Relocs[i]
			fits := false
			switch {
			case r.Relocation == nil:
			case e.Spec != "":
				fits = r.Local.String() == e.Spec
			case e.Insn >= 0:
				fits = e.Insn == r.Insn || r.Patch.Slots == 2 && e.Insn == r.Insn+1
			default:
				fits = reached[r.Insn]
			}
			if fits {
				out = append(out, LogMatch{Program: lp, Insn: r.Insn, Reloc: r})
			}
		}
	}
	return out
}

// hasProgram reports whether the log's name is one of the object's programs: the kernel truncates
// names to 15 bytes, and the log may be of another object.
func (l *Linked) hasProgram(name string) bool {
	_, ok := l.Program(name)
	return ok
}

func limitMatches(m []LogMatch) []LogMatch { return m[:min(len(m), maxLogMatches)] }
