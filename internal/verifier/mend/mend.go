// Package mend finds changes with which a refused program loads: the check that is missing, and
// where. A change is made to the program's instructions and verified before it is suggested.
//
// It knows which changes answer which refusal; whether they do is what package verifier says.
//
// Start from [Suggest].
package mend

import (
	"context"
	"fmt"
	"path"

	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// Change is a change to the source.
type Change struct {
	Code   string // "if (!v) return 0;"
	Text   string // in place of code: a change of a definition in words
	Where  string // "after", "before", "instead of", or "" for a change of a definition
	File   string
	Line   int
	Source string // the text of the line
}

// String returns the change in a sentence.
func (c Change) String() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.Where == "" || c.Line == 0:
		return "`" + c.Code + "`"
	}
	return fmt.Sprintf("`%s` %s %s:%d", c.Code, c.Where, path.Base(c.File), c.Line)
}

// Suggestion is a list of changes that were verified together.
type Suggestion struct {
	Changes []Change
	// Next is the refusal that is left with them; nil if the program loads.
	Next *verifier.Verdict
}

// Text describes a suggestion in a sentence.
func (s *Suggestion) Text() string {
	var list []string
	for _, c := range s.Changes {
		list = append(list, c.String())
	}
	text := "with " + strings.Join(list, " and ")
	if s.Next == nil {
		return text + " the program loads"
	}
	return text + " the verifier gets further: then " + s.Next.Summary()
}

// Names returns the variable in a register ("R3") at an instruction, or "".
type Names func(insn int, place string) string

// maxChanges limits how many refusals one after the other are mended.
const maxChanges = 4

// Suggest returns changes with which a program gets past a refusal, nil if none is known. names may
// be nil.
func Suggest(ctx context.Context, k *verifier.Kernel, p *verifier.Program, v *verifier.Verdict, names Names) (*Suggestion, error) {
	if v.Outcome != verifier.Refused || v.Insn < 0 || v.Errno == uapi.E2BIG {
		return nil, nil
	}
	for _, ref := range p.Refs {
		if ref.Map != nil && ref.Map.Slots != nil {
			return nil, nil // jump tables are not moved
		}
	}
	if names == nil {
		names = func(int, string) string { return "" }
	}
	out := &Suggestion{Next: v}
	w := &work{p: p, origin: make([]int, len(p.Insns))}
	for i := range w.origin {
		w.origin[i] = i
	}
	for len(out.Changes) < maxChanges {
		history, err := verifier.RefusalHistory(ctx, k, w.p, v)
		if err != nil {
			return nil, err
		}
		c := &problem{work: w, v: v, history: history, names: names}
		next, change, verdict, err := c.best(ctx, k)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		out.Changes = append(out.Changes, change)
		w, v = next, verdict
		if v.Outcome == verifier.Accepted {
			out.Next = nil
			return out, nil
		}
		out.Next = v
	}
	if len(out.Changes) == 0 {
		return nil, nil
	}
	return out, nil
}

// problem is a refusal to be mended.
type problem struct {
	*work

	v       *verifier.Verdict
	history []verifier.Cause
	names   Names
}

// candidate is a change that may help.
type candidate struct {
	next   *work
	change Change
	// whole: it is right only if the program loads with it; elsewhere it would be in the way of
	// later code.
	whole bool
}

// best returns the first change that the program loads with, else the first that gets past the
// refusal.
func (c *problem) best(ctx context.Context, k *verifier.Kernel) (*work, Change, *verifier.Verdict, error) {
	var further *candidate
	var left *verifier.Verdict
	for _, x := range c.candidates() {
		v, err := verifier.Verify(ctx, k, x.next.p, verifier.Options{})
		if err != nil {
			return nil, Change{}, nil, err
		}
		// A refusal of the inserted code, or of a register that it used, says nothing about the
		// source.
		switch {
		case v.Outcome == verifier.Accepted:
			return x.next, x.change, v, nil
		case v.Outcome == verifier.Refused && !x.whole && further == nil && v.Insn >= 0 && v.ProcessedInsns > c.v.ProcessedInsns && !c.same(x.next, v) && x.next.origin[v.Insn] >= 0 && v.Refusal != refusal.ReadOk:
			further, left = &x, v
		}
	}
	if further == nil {
		return nil, Change{}, nil, nil
	}
	return further.next, further.change, left, nil
}

// same reports whether a verdict on a changed program is the refusal that was to be mended.
func (c *problem) same(next *work, v *verifier.Verdict) bool {
	return v.Refusal == c.v.Refusal && v.Insn < len(next.origin) && next.origin[v.Insn] == c.origin[c.v.Insn]
}

var (
	reReg    = lazyre.New(`\bR(\d+)\b`)
	rePacket = lazyre.New(`^invalid access to packet`)
	reStack  = lazyre.New(`^invalid (?:indirect )?read from stack (?:R\d+ )?off (-?\d+)\+\d+ size (\d+)$`)
	reSize   = lazyre.New(`\b(?:vs|sz|mem_size)=(\d+)`)
	reOff    = lazyre.New(`\boff=(\d+)`)
	reAssign = lazyre.New(`(\w+)\s*=[^=].*\(`)
	reMap    = lazyre.New(`\bmap=([^,)]*)`)
	reIndex  = lazyre.New(`\[(\w+)\]`)
)

// candidates lists changes for the refusal, the most likely first.
func (c *problem) candidates() []candidate {
	text := c.v.Message
	reg := -1
	if m := reReg.FindStringSubmatch(text); m != nil {
		reg = number(m[1])
	}
	if reg < 0 && strings.Contains(text, "zero-sized read") { // older releases do not say which
		reg = c.sizeArgument()
	}
	switch {
	case strings.Contains(text, "_or_null") || strings.Contains(text, "null-check it first") || strings.Contains(text, "Possibly NULL"):
		return c.nullCheck()
	case rePacket.MatchString(text), reg >= 0 && strings.HasPrefix(c.state(reg), "pkt("):
		return c.packetCheck(reg)
	case strings.Contains(text, "unbounded memory access"), strings.Contains(text, "outside of the allowed memory range"), strings.Contains(text, "min value is negative"), strings.Contains(text, "zero-sized read"):
		return c.boundsCheck(reg)
	case strings.HasSuffix(text, "!read_ok"):
		return c.unsetRegister(reg)
	case reStack.MatchString(text):
		return c.unsetStack(text)
	case len(c.history) > 0 && strings.HasPrefix(c.history[len(c.history)-1].What, "reference "):
		return c.release(c.history[len(c.history)-1].Insn)
	case strings.Contains(text, "GPL-restricted function"), strings.Contains(text, "from non-GPL compatible program"):
		next := c.copied()
		next.p.License = "GPL"
		return []candidate{{next, Change{Code: `char LICENSE[] SEC("license") = "GPL";`}, false}}
	case strings.HasPrefix(text, "write into map forbidden"):
		return c.writable(reg)
	case !c.p.Sleepable && (strings.Contains(text, "cannot use helper") || strings.Contains(text, "unknown func") || strings.Contains(text, "sleep")):
		next := c.copied()
		next.p.Sleepable = true
		helper := "the function"
		if in := c.p.Insns[c.v.Insn]; in.Op() == decode.OpCallHelper {
			helper = uapi.FuncID(in.Imm).String()
		}
		at := Change{Text: fmt.Sprintf("a section whose name ends in `.s` before the slash (`fentry.s/`, `lsm.s/`), because %s may sleep,", helper)}
		return []candidate{{next, at, false}}
	}
	return nil
}

// state returns what is known of a register at the refused instruction.
func (c *problem) state(reg int) string { return verifier.StateOf(c.v.Regs, fmt.Sprintf("R%d", reg)) }

// place is a change at the line of an instruction.
func (c *problem) place(where string, insn int) Change {
	out := Change{Where: where}
	for _, l := range c.p.Lines {
		if l.Insn > insn {
			break
		}
		out.File, out.Line, out.Source = l.File, l.Line, strings.TrimSpace(l.Text)
	}
	return out
}

// name returns the variable in a register, or a fallback.
func (c *problem) name(insn, reg int, fallback string) string {
	if insn >= 0 && insn < len(c.origin) && c.origin[insn] >= 0 {
		if n := c.names(c.origin[insn], fmt.Sprintf("R%d", reg)); n != "" {
			return n
		}
	}
	return fallback
}

// first returns the first group of a pattern in a text, or a fallback.
func first(re *lazyre.Regexp, text, fallback string) string {
	if m := re.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return fallback
}

// returns is the value that a program returns to do nothing, as a number and in source.
func (c *problem) returns() (int32, string) {
	if c.function(c.v.Insn) == 0 && c.p.Type == uapi.ProgTypeXDP {
		return 2, "XDP_PASS"
	}
	return 0, "0"
}

// function returns the first slot of the function that contains an instruction.
func (c *problem) function(insn int) int {
	start := 0
	for _, f := range c.p.Funcs {
		if f.Insn <= insn {
			start = max(start, f.Insn)
		}
	}
	return start
}

// spare returns a register that keeps its value over calls and is not used in a function, or -1.
func (c *problem) spare(start int, not ...int) int {
	end := len(c.p.Insns)
	for _, f := range c.p.Funcs {
		if f.Insn > start {
			end = min(end, f.Insn)
		}
	}
	for reg := 9; reg >= 6; reg-- {
		used := slices.ContainsFunc(c.p.Insns[start:end], func(in insn) bool { return int(in.Dst) == reg || int(in.Src) == reg && in.Code != 0x85 })
		if !used && !slices.Contains(not, reg) {
			return reg
		}
	}
	return -1
}

func base(file string) string { return path.Base(file) }
