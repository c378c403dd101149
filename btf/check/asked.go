package check

import (
	"math"

	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// rules are those of a release as maintained today. They are all that a check knows of the release,
// and note what it asks: on a release whose answers are the same, it would do the same.
type rules struct {
	release Release
	set     *since.Set
	asked   since.Set
	exact   bool // it asked for the release itself
}

func rulesOf(release Release) *rules { return &rules{release: release, set: setOf(release)} }

func setOf(release Release) *since.Set {
	return since.Version{Release: release, Patch: math.MaxUint8}.Rules()
}

func (r *rules) has(rule since.Rule) bool {
	r.asked[rule] = true
	return r.set.Has(rule)
}

// exactly returns the release, for tables with releases of their own.
func (r *rules) exactly() Release {
	r.exact = true
	return r.release
}

// answersAs reports whether another release answers all that was asked in the same way.
func (r *rules) answersAs(release Release) bool {
	if release == r.release {
		return true
	}
	if r.exact {
		return false
	}
	other := setOf(release)
	for rule, asked := range r.asked {
		if asked && other[rule] != r.set[rule] {
			return false
		}
	}
	return true
}

// Loading is what becomes of BTF that is loaded into a kernel.
type Loading struct {
	// Changes are libbpf's replacements ([Sanitise]).
	Changes []Change
	// Err is why the kernel refuses the result ([BTF]).
	Err error

	rules *rules
}

// Load does what libbpf and the kernel do with BTF.
func Load(raw []byte, opts Options) *Loading {
	l := &Loading{rules: rulesOf(opts.Release)}
	if raw, l.Changes, l.Err = sanitise(raw, l.rules); l.Err == nil {
		l.Err = kernel(raw, opts, l.rules)
	}
	return l
}

// Holds reports whether the same becomes of it on another release: no rule that mattered is
// different there. What else is in Options must be equal.
func (l *Loading) Holds(release Release) bool { return l.rules.answersAs(release) }
