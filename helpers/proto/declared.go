package proto

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// KfuncSet is a set of kfuncs as the file of a kernel or module has it (BTF_KFUNCS_START in its source). A set is registered as a whole: all of
// its functions are for the same programs.
type KfuncSet struct {
	Name  string
	Flags map[string]KfuncFlags
	// Programs are the types of programs the set is registered for, nil when that is not known.
	Programs []uapi.ProgType
}

// Declared holds the kfuncs that the file of a kernel or module declares. Their flags are facts of that kernel, where the table has those of its release.
// A nil Declared knows nothing and leaves everything to the table.
type Declared struct {
	rows  map[string]*Kfunc
	flags map[string]KfuncFlags
}

// Contradiction is a kfunc that a file declares with other flags than the table has.
type Contradiction struct {
	Name        string
	File, Table KfuncFlags
}

// Declare makes rows of a file's sets: those of the table with the file's flags, and rows for functions the table does not know. Who may call
// these follows from the types of programs that the set is registered for, or from functions of the same set that the table knows; when there is
// neither, it is not known ([Kfunc.AnyCaller]).
func Declare(sets []KfuncSet) *Declared {
	d := &Declared{rows: map[string]*Kfunc{}, flags: map[string]KfuncFlags{}}
	for _, s := range sets {
		for name, f := range s.Flags {
			d.flags[name] |= f // the kernel merges sets
		}
	}
	for _, s := range sets {
		model, sure := s.model()
		for name := range s.Flags {
			row := d.rows[name]
			if row == nil {
				row = &Kfunc{Name: name, Topic: "declared"}
				d.rows[name] = row
			}
			switch known, ok := kfuncs[name]; {
			case ok:
				*row = *known
			case sure:
				row.Uses, row.Only = slices.Concat(row.Uses, model.Uses), model.Only
			default:
				row.AnyCaller = true
			}
			row.Flags, row.Later, row.Since, row.Until = d.flags[name], nil, 0, 0
		}
	}
	return d
}

// model returns a function of the set that the table knows, if those it knows are all for the same programs and no function is for some of them.
func (s *KfuncSet) model() (model *Kfunc, sure bool) {
	if len(s.Programs) > 0 {
		model = &Kfunc{}
		for _, t := range s.Programs {
			model.Uses = append(model.Uses, hookUses(t)...)
		}
		return model, true
	}
	for name := range s.Flags {
		k, ok := kfuncs[name]
		if !ok {
			continue
		}
		if k.Group != "" || model != nil && (k.Only != model.Only || !slices.Equal(k.Uses, model.Uses)) {
			return nil, false
		}
		model = k
	}
	return model, model != nil
}

// Lookup is LookupKfunc for the kernel or module that d is of.
func (d *Declared) Lookup(name string) (*Kfunc, bool) {
	if d != nil {
		if k, ok := d.rows[name]; ok {
			return k, true
		}
	}
	return LookupKfunc(name)
}

// Contradictions lists the kfuncs whose flags are not those of the table on a release, in the order of their names.
func (d *Declared) Contradictions(release uapi.Release) []Contradiction {
	if d == nil {
		return nil
	}
	var out []Contradiction
	for name, f := range d.flags {
		k, ok := kfuncs[name]
		if !ok {
			continue
		}
		want := k.FlagsIn(release)
		if release.Has(trustedByDefault) {
			f |= TrustedArgs
		}
		if f != want {
			out = append(out, Contradiction{Name: name, File: f, Table: want})
		}
	}
	slices.SortFunc(out, func(a, b Contradiction) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// kernelFlags are the flags in the order of the kernel's bits (KF_ACQUIRE is bit 0, include/linux/btf.h).
var kernelFlags = [...]KfuncFlags{
	Acquire, ReleaseArg, ReturnsNull, KptrGet, TrustedArgs, Sleepable, Destructive, RCU, IterNew, IterNext, IterDestroy,
	RCUProtected, KfuncFastCall, ArenaRet, ArenaArg1, ArenaArg2, ImplicitArgs,
}

// KfuncFlagsOf returns the flags that the kernel's bits stand for. Bits that no release read has are ignored.
func KfuncFlagsOf(bits uint32) KfuncFlags {
	var out KfuncFlags
	for i, f := range kernelFlags {
		if bits>>i&1 != 0 {
			out |= f
		}
	}
	return out
}

// String describes the difference: "bpf_throw: sleepable in the file, no flags in the table".
func (c Contradiction) String() string {
	text := func(f KfuncFlags) string { return cmp.Or(f.String(), "no flags") }
	return fmt.Sprintf("%s: %s in the file, %s in the table", c.Name, text(c.File), text(c.Table))
}
