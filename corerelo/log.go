package corerelo

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Log returns the lines that libbpf writes to its debug log about this relocation, without log
// levels: spec, search, candidates, and what Apply did or why it failed. prog is the name of the
// program or subprogram, num the number of the record within its section of .BTF.ext. patch and err
// are the results of Apply; a nil patch means that Apply was not called.
func (rel *Relocation) Log(prog string, num int, patch *Patch, err error) []string {
	var lines []string
	prefix := "prog '" + prog + "': relo #" + strconv.Itoa(num) + ": "
	add := func(format string, args ...any) { lines = append(lines, prefix+fmt.Sprintf(format, args...)) }
	for _, c := range rel.Found {
		lines = append(lines, rel.foundLine(c))
	}
	var failed *Error
	if errors.As(rel.Err, &failed) && (failed.Stage == StageParse || failed.Stage == StageSearch) {
		lines = append(lines, failed.logLines(prog, prefix)...)
		add("failed to relocate: %s", errnoName(eINVAL))
		return lines
	}
	lines = append(lines, rel.steps(prog, prefix, patch, err)...)
	switch {
	case failed != nil:
		add("failed to relocate: %s", errnoName(failed.Errno))
	case patch != nil && errors.As(err, &failed):
		add("failed to patch insn #%d: %s", patch.Insn, errnoName(failed.Errno))
	}
	return lines
}

// steps returns the lines about a record whose access string was parsed: libbpf's and the kernel's.
func (rel *Relocation) steps(prog, prefix string, patch *Patch, err error) []string {
	lines := []string{prefix + rel.Local.String()}
	if rel.Kind != TypeIDLocal {
		lines = append(lines, rel.candidateLines(prefix)...)
	}
	var failed *Error
	errors.As(rel.Err, &failed)
	unmatched := rel.Kind != TypeIDLocal && len(rel.Targets) == 0
	if unmatched && (failed == nil || failed.Stage == StageValue) {
		lines = append(lines, prefix+"no matching targets found")
	}
	switch {
	case failed != nil:
		lines = append(lines, failed.logLines(prog, prefix)...)
	case patch != nil:
		lines = append(lines, rel.patchLines(prefix, patch, err)...)
	}
	return lines
}

// logLines returns libbpf's warnings. Those that start with "relo " are prefixed with the program's
// name only.
func (e *Error) logLines(prog, prefix string) []string {
	var lines []string
	for line := range strings.SplitSeq(e.log, "\n") {
		switch {
		case strings.HasPrefix(line, "relo "):
			lines = append(lines, "prog '"+prog+"': "+line)
		case line != "":
			lines = append(lines, prefix+line)
		}
	}
	return lines
}

func (rel *Relocation) foundLine(c Candidate) string {
	return fmt.Sprintf("CO-RE relocating [%d] %s %s: found target candidate [%d] %s %s in [%s]",
		rel.TypeID, kindWord(rel.Local.BTF.Kind(rel.TypeID)), rel.Local.BTF.Name(rel.TypeID),
		c.ID, kindWord(c.BTF.Kind(c.ID)), c.BTF.Name(c.ID), c.Source)
}

// candidateLines merges matching and rejected candidates in order of their numbers.
func (rel *Relocation) candidateLines(prefix string) []string {
	var lines []string
	matched, rejected := 0, 0
	for matched < len(rel.Targets) || rejected < len(rel.Rejected) {
		word, num, spec := "matching", 0, (*Spec)(nil)
		if rejected == len(rel.Rejected) || matched < len(rel.Targets) && rel.nums[matched] < rel.Rejected[rejected].Num {
			num, spec = rel.nums[matched], &rel.Targets[matched]
			matched++
		} else {
			word, num, spec = "non-matching", rel.Rejected[rejected].Num, &rel.Rejected[rejected].Spec
			rejected++
		}
		lines = append(lines, fmt.Sprintf("%s%s candidate #%d %s", prefix, word, num, spec.String()))
	}
	return lines
}

func (rel *Relocation) patchLines(prefix string, p *Patch, err error) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, prefix+fmt.Sprintf(format, args...)) }
	var failed *Error
	switch {
	case errors.As(err, &failed):
		lines = append(lines, failed.logLines("", prefix)...)
	case p.Poisoned:
		if p.memSize {
			add("insn #%d (LDX/ST/STX) accesses field incorrectly. Make sure you are accessing pointers, unsigned integers, or fields of matching type and size.", p.Insn)
		}
		for slot := p.Slots - 1; slot >= 0; slot-- {
			add("substituting insn #%d w/ invalid insn", p.Insn+slot)
		}
	default:
		now := p.New
		if p.Field == FieldImm {
			now = rel.Result.New
		}
		add("patched insn #%d (%s) %s %d -> %d", p.Insn, p.class, p.Field, p.Old, now)
		if p.OldSize != p.NewSize {
			add("patched insn #%d (LDX/ST/STX) mem_sz %d -> %d", p.Insn, p.OldSize, p.NewSize)
		}
	}
	return lines
}

// FixupText returns the text with which libbpf replaces, in a verifier log, the refusal of the
// poison call at instruction insn of the program.
func (rel *Relocation) FixupText(insn int) string {
	return fmt.Sprintf("%d: <%s>\nfailed to resolve CO-RE relocation %s\n", insn, PoisonCORE, rel.Local.String())
}
