package proto

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// KfuncSet is a set of kfuncs as declared in the image of a kernel or module (BTF_KFUNCS_START in
// its source). A set is registered as a whole: all of its functions are for the same programs.
type KfuncSet struct {
	Name  string
	Flags map[string]KfuncFlags
	// Programs are the program types that the set is registered for, nil if unknown.
	Programs []uapi.ProgType
}

// Declared holds the kfuncs that the image of a kernel or module declares. Their flags are those of
// this kernel, whereas the table has those of its release. A nil Declared contains nothing, so that
// only the table applies.
type Declared struct {
	rows  map[string]*Kfunc
	flags map[string]KfuncFlags
}

// Contradiction is a kfunc whose flags in an image differ from those in the table.
type Contradiction struct {
	Name        string
	File, Table KfuncFlags
}

// Declare creates rows from an image's sets: rows of the table with the image's flags, and rows for
// functions missing from the table. Who may call these follows from the program types that the set
// is registered for, or from functions of the same set in the table; if there is neither, it is
// unknown ([Kfunc.AnyCaller]).
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
			switch known, ok := kfuncs()[name]; {
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

// model returns a function of the set that is in the table, if all such functions are for the same
// programs and none is restricted further.
func (s *KfuncSet) model() (model *Kfunc, sure bool) {
	if len(s.Programs) > 0 {
		model = &Kfunc{}
		for _, t := range s.Programs {
			model.Uses = append(model.Uses, hookUses(t)...)
		}
		return model, true
	}
	for name := range s.Flags {
		k, ok := kfuncs()[name]
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

// Lookup is LookupKfunc for the kernel or module of d.
func (d *Declared) Lookup(name string) (*Kfunc, bool) {
	if d != nil {
		if k, ok := d.rows[name]; ok {
			return k, true
		}
	}
	return LookupKfunc(name)
}

// Contradictions lists the kfuncs whose flags differ from those in the table for a release, sorted
// by name.
func (d *Declared) Contradictions(release uapi.Release) []Contradiction {
	if d == nil {
		return nil
	}
	var out []Contradiction
	for name, f := range d.flags {
		k, ok := kfuncs()[name]
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

// kernelFlags are the flags in the order of the kernel's bits (KF_ACQUIRE is bit 0,
// include/linux/btf.h).
var kernelFlags = [...]KfuncFlags{
	Acquire, ReleaseArg, ReturnsNull, KptrGet, TrustedArgs, Sleepable, Destructive, RCU, IterNew, IterNext, IterDestroy,
	RCUProtected, KfuncFastCall, ArenaRet, ArenaArg1, ArenaArg2, ImplicitArgs,
}

// KfuncFlagsOf converts the kernel's bits to flags. Bits that no release uses are ignored.
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
