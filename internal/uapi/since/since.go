// Package since has one row for each rule that a release of Linux changed: the verifier's, those of
// bpf(2) and its objects, and those of helpers and kernel objects at run time.
//
// It does not implement the rules. Code that applies one asks for it by name, never for a release:
//
//	if u.has(since.LazyGlobals) { ... }
//
// Start from [Rule] and [Version.Has]. What a release added as a name of its own (commands, program
// types, helpers, kfuncs, hooks) has its release in the table of those names instead: progtype,
// helpers/proto, bpfsys.
//
// To add a rule, write its row in rows_AREA.go and run go test ./internal/uapi/since -update, which
// makes its constant.
package since

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Release is a release of Linux.
type Release = uapi.Release

// R makes a Release: R(6, 18) is 6.18.y.
func R(major, minor int) Release { return uapi.R(major, minor) }

// Oldest is the oldest release whose verifier is known. Programs for older ones get structural
// checks only.
const Oldest = v5_10

// Verified reports whether the release's verifier is known.
func Verified(r Release) bool { return r.Has(Oldest) }

// Rule is a rule that releases apply differently. Rows describe the behaviour of the newer ones.
type Rule uint16

// Row describes a rule.
type Row struct {
	// Name is the name of the rule's constant.
	Name string
	// From is the first release that has the rule.
	From Release
	// Stable are updates of older releases that have it too. One of From itself says that the rule
	// came with that update.
	Stable []Update
	// Evidence says how From and Stable are known.
	Evidence Evidence
	// Kernel is the function of the kernel that applies the rule.
	Kernel string
	// What the rule is, in words for messages and documentation.
	What string
}

// Update is a stable release that has a rule from a patch level on; 0 means the whole line as
// maintained today, or that the patch level is unknown.
type Update struct {
	Release Release
	Patch   int
}

// Evidence is how a row's release is known.
type Evidence uint8

// Kinds of evidence, weakest first.
const (
	Memory   Evidence = iota // from knowledge of the kernel's history, not checked since
	Source                   // read in the sources of the releases on both sides
	Recorded                 // kernels on both sides answered a program differently
)

// String describes the evidence.
func (e Evidence) String() string { return [...]string{"from memory", "read in source", "recorded"}[e] }

// areas is the table of all rules.
var areas = [...]struct {
	title    string
	rows     []Row
	verifier bool
}{
	{"Numbers and ranges", numbersRows[:], true},
	{"Stack", stackRows[:], true},
	{"Exploration and pruning", walkRows[:], true},
	{"Instructions", insnsRows[:], true},
	{"Calls, callbacks and references", callsRows[:], true},
	{"Arguments of helpers", argsRows[:], true},
	{"Kernel functions", kfuncsRows[:], true},
	{"Context, kernel objects and pointers", memoryRows[:], true},
	{"Maps and their special fields", mapsRows[:], true},
	{"Attach targets", attachRows[:], true},
	{"BTF", btfRows[:], false},
	{"Messages of the verifier", wordsRows[:], true},
	{"bpf(2) and the objects of the kernel", commandsRows[:], false},
	{"Helpers and kernel objects at run time", runtimeRows[:], false},
	{"Programs that interrupt each other", contextRows[:], false},
}

var always = Row{Name: "Always", What: "every release", Kernel: "-"}

// place returns the rule's area and its number there.
func (r Rule) place() (area, n int) {
	n = int(r) - 1
	for area = range areas {
		if n < len(areas[area].rows) {
			return area, n
		}
		n -= len(areas[area].rows)
	}
	panic("since: no such rule")
}

// Row returns the rule's row.
func (r Rule) Row() *Row {
	if r == Always {
		return &always
	}
	area, n := r.place()
	return &areas[area].rows[n]
}

// Area returns the part of the kernel that the rule belongs to.
func (r Rule) Area() string {
	area, _ := r.place()
	return areas[area].title
}

// OfVerifier reports whether the verifier applies the rule.
func (r Rule) OfVerifier() bool {
	area, _ := r.place()
	return areas[area].verifier
}

// String returns the rule's name.
func (r Rule) String() string { return r.Row().Name }

// From returns the release that introduced the rule.
func (r Rule) From() Release { return r.Row().From }

// Version is a version of the kernel. The zero value is the newest.
type Version struct {
	Release Release
	// Patch is the third number.
	Patch int
}

// Of returns the version of a LINUX_VERSION_CODE (a<<16 | b<<8 | min(c, 255)); 0 is the newest.
// Without a patch level it is that of leastUpdate.
func Of(code uint32) Version {
	v := Version{uapi.ReleaseOf(code), int(code & 0xff)}
	if v.Patch == 0 {
		v.Patch = leastUpdate(v.Release)
	}
	return v
}

// leastUpdate returns the update that a kernel has at least if its name does not tell which:
// distributions keep the name of the first one (5.15.0-204-generic of Ubuntu, 5.10.0-46-amd64 of
// Debian). 5.10.92 was the last to mend faults that reject or accept much: in ranges, ends of
// packets and null pointers. 5.15.0-204 answers all 3,295 recorded programs as 5.15.120 does.
func leastUpdate(r Release) int {
	switch r {
	case v5_10:
		return 92
	case v5_15:
		return 120
	}
	return 0
}

// Has reports whether the version follows the rule.
func (v Version) Has(r Rule) bool {
	row := r.Row()
	for _, u := range row.Stable {
		if u.Release == v.Release {
			return v.Patch >= u.Patch
		}
	}
	return v.Release.Has(row.From)
}

// Set is the rules of a version, for code that asks often.
type Set [numRules]bool

// sets holds the rules of the versions that were asked for: objects ask once for each link.
var sets sync.Map // Version -> *Set

// Rules returns the rules of the version. The set is shared: callers do not write to it.
func (v Version) Rules() *Set {
	if s, ok := sets.Load(v); ok {
		return s.(*Set)
	}
	s := new(Set)
	for i := range s {
		s[i] = v.Has(Rule(i))
	}
	shared, _ := sets.LoadOrStore(v, s)
	return shared.(*Set)
}

// Has reports whether the rule is in the set.
func (s *Set) Has(r Rule) bool { return s[r] }

// Without returns a copy of the set in which one rule is turned around: measurements of what a rule
// changes use it.
func (s *Set) Without(r Rule) *Set {
	c := *s
	c[r] = !c[r]
	return &c
}

// All returns all rules, by area.
func All() []Rule {
	out := make([]Rule, 0, numRules-1)
	for r := Always + 1; r < numRules; r++ {
		out = append(out, r)
	}
	return out
}

// Named returns the rule of a name.
func Named(name string) (Rule, bool) {
	i := slices.IndexFunc(All(), func(r Rule) bool { return r.String() == name })
	return Rule(i + 1), i >= 0
}

// First returns the first version of From that has the rule.
func (r Rule) First() Version {
	row := r.Row()
	for _, u := range row.Stable {
		if u.Release == row.From {
			return Version(u)
		}
	}
	return Version{Release: row.From}
}

// Before returns the last release without the rule, even with all updates.
func (r Rule) Before() Release {
	row := r.Row()
	at := Previous(row.From)
	for slices.Contains(row.Stable, Update{at, 0}) {
		at = Previous(at)
	}
	return at
}

// Releases returns the releases whose rules are known, oldest first.
func Releases() []Release {
	newest := Oldest
	for _, r := range All() {
		newest = max(newest, r.From())
	}
	var out []Release
	for r := newest; Verified(r); r = Previous(r) {
		out = append(out, r)
	}
	slices.Reverse(out)
	return out
}

// Updates returns the patch levels of a release at which a rule of the verifier was added by an
// update, ascending.
func Updates(r Release) []int {
	var out []int
	for _, rule := range All() {
		for _, u := range rule.Row().Stable {
			if u.Release == r && u.Patch > 0 && rule.OfVerifier() {
				out = append(out, u.Patch)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Previous returns the release before r.
func Previous(r Release) Release {
	switch r {
	case v7_0:
		return v6_19
	case v6_0:
		return v5_19
	}
	return r - 1
}
