package loader

import (
	"strings"

	"github.com/bpfrun/bpfrun/internal/progtype"
)

// Hooked are the programs attached to one function or system call: those at its entry and those at
// its return.
type Hooked struct{ Entries, Returns []string }

// Pairs groups programs by the function or system call they are attached to, in order of first
// occurrence.
func (l *Linked) Pairs(names []string) []Hooked {
	var out []Hooked
	at := map[string]int{}
	for _, name := range names {
		key, returns := "", false
		if lp, ok := l.Program(name); ok {
			key, returns = pairOf(lp.Program)
		}
		if key == "" {
			key = " " + name
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key], out = i, append(out, Hooked{})
		}
		if returns {
			out[i].Returns = append(out[i].Returns, name)
		} else {
			out[i].Entries = append(out[i].Entries, name)
		}
	}
	return out
}

// KernelOrder moves programs together that the kernel runs in succession: those at the entry of a
// function or system call before those at its return. Otherwise the order is kept.
func (l *Linked) KernelOrder(names []string) []string {
	var out []string
	for _, h := range l.Pairs(names) {
		out = append(append(out, h.Entries...), h.Returns...)
	}
	return out
}

// pairOf returns a key shared by the entry and the return of one function or system call, or "" for
// programs without a target.
func pairOf(p *Program) (key string, returns bool) {
	_, target, _ := strings.Cut(strings.TrimPrefix(p.Section, "?"), "/")
	if rest, ok := strings.CutPrefix(target, "syscalls/sys_enter_"); ok {
		return "syscall " + rest, false
	}
	if rest, ok := strings.CutPrefix(target, "syscalls/sys_exit_"); ok {
		return "syscall " + rest, true
	}
	return target, p.SectionFlags.Has(progtype.AtReturn)
}
