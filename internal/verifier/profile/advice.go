package profile

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// Advice is a change that makes a program cheaper to verify.
type Advice struct {
	At   Place  `json:"at"`
	Text string `json:"text"`
	// Insns is how many instructions were processed where the change is.
	Insns int `json:"insns"`

	callee string // the function that is to be another
}

const (
	// worth is the share of all instructions from which on a place deserves advice, in percent.
	worth = 10
	// many is how many turns a loop takes until it is said to be walked turn by turn.
	many = 16
	// most is how many places get advice about states.
	most = 3
)

// advise finds what to change.
func (r *Profile) advise(k *verifier.Kernel) {
	r.adviseCalls()
	r.adviseLoops(k)
	r.adviseStates()
}

// adviseCalls: static functions that are walked again and again.
func (r *Profile) adviseCalls() {
	type fn struct {
		times, insns, sites int
		first               Call
	}
	by := map[string]*fn{}
	var order []string
	for _, c := range r.Calls {
		if c.Kind != "static" {
			continue
		}
		f := by[c.Callee]
		if f == nil {
			f = &fn{first: c}
			by[c.Callee] = f
			order = append(order, c.Callee)
		}
		f.times, f.insns, f.sites = f.times+c.Times, f.insns+c.Processed, f.sites+1
	}
	for _, name := range order {
		f := by[name]
		if f.times < 2 || r.Share(f.insns) < worth {
			continue
		}
		r.Advice = append(r.Advice, Advice{At: f.first.Place, Insns: f.insns, callee: name,
			Text: fmt.Sprintf("make %s global (not static): it was verified with each of %d calls, %d instructions in all; a global function is verified once, for all values that its arguments may have", name, f.times, f.insns)})
	}
}

// adviseLoops: loops that are walked turn by turn.
func (r *Profile) adviseLoops(k *verifier.Kernel) {
	for i := range r.Loops {
		l := &r.Loops[i]
		if r.Share(l.Processed) < 2*worth || l.Turns < many {
			continue
		}
		a := Advice{At: l.Place, Insns: l.Processed}
		switch l.Kind {
		case "counted":
			how := "walk fewer turns: Linux " + k.Release.String() + " has neither bpf_loop (5.17) nor bpf_for (6.4)"
			loop, _ := proto.Lookup(uapi.FuncLoop)
			iter, _ := proto.LookupKfunc("bpf_iter_num_new")
			switch {
			case iter.In(k.Release):
				how = "use bpf_for (6.4), whose body is verified until its states repeat, or bpf_loop (5.17)"
			case loop.In(k.Release):
				how = "use bpf_loop, whose callback is verified once or twice"
			}
			a.Text = fmt.Sprintf("all %d turns of the loop are walked, %d instructions: %s", l.Turns, l.Processed, how)
		default:
			a.Text = fmt.Sprintf("the loop is walked %d times before its states repeat", l.Turns)
			if l.Differs != "" {
				a.Text += ": set or bound before the loop what differs in each turn, " + l.Differs
			}
		}
		r.Advice = append(r.Advice, a)
	}
}

// adviseStates: what kept states apart where paths join.
func (r *Profile) adviseStates() {
	n := 0
	for i := range r.Apart {
		a := &r.Apart[i]
		if n == most || a.Loop || a.Alone == 0 || r.covered(a) {
			continue
		}
		// Each of these states was walked on from here: what that cost is not known, but how often
		// it happened is.
		if a.Alone < 2 {
			break
		}
		n++
		r.Advice = append(r.Advice, Advice{At: a.At, Insns: r.costs.Insns[a.At.Insn].Processed, Text: fmt.Sprintf("%d times only %s kept a path from being covered by another: %s", a.Alone, a.what(), a.remedy())})
	}
}

// covered reports whether the advice about a loop or a call is about the place, too.
func (r *Profile) covered(a *Apart) bool {
	for i := range r.loops {
		l := &r.loops[i]
		if !l.body[a.At.Insn] {
			continue
		}
		for _, x := range r.Advice {
			if x.At.Insn == l.head {
				return true
			}
		}
	}
	for _, x := range r.Advice {
		if x.callee == a.At.Func {
			return true
		}
	}
	return false
}

func (a *Apart) what() string {
	if a.Variable != "" {
		return fmt.Sprintf("%s in %s", a.Variable, a.Place)
	}
	return a.Place
}

// remedy says what to change about a difference.
func (a *Apart) remedy() string {
	switch a.Kind {
	case verifier.ApartValue.String():
		return fmt.Sprintf("its values %s and %s both stay, because later code needs it; bound or mask it right before its use (x &= MASK), not as a constant from here on, or move the code that needs it into a global function", a.Kept, a.Now)
	case verifier.ApartRange.String():
		return fmt.Sprintf("%s was proved, %s is wider; bound or mask it before the paths part, so that all have the same range", a.Kept, a.Now)
	case verifier.ApartType.String():
		return fmt.Sprintf("it is %s on one path and %s on the other; return early on one of them, or check for null right after the call", a.Kept, a.Now)
	case verifier.ApartUnset.String():
		return fmt.Sprintf("one path leaves it without a value, others set it (%s); set it where it is declared", a.Kept)
	case verifier.ApartLinked.String():
		return "its value is a copy of another register's on one path only; keep it in one variable, or bound it after the paths join"
	}
	return "release what is held before the paths join"
}
