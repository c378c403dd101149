package race

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// Meeting is a set of actors that can run at the same time.
type Meeting struct {
	// Name says who meets: "count and count on two CPUs".
	Name   string
	Actors []Actor
	// Why says why the kernel permits it; empty for two CPUs.
	Why string
	// Simulation is what calls the actors, for operations of a scheduler or a queueing discipline.
	Simulation string
	// Written means that a user wrote it: it is explored from the machine's state, after the
	// programs Before have run.
	Written bool
	Before  []Earlier
	// Assumes is what the meeting depends on and is not known of the kernel.
	Assumes []string
}

// Meetings lists the pairs of an object's programs that share a map or a global variable which one
// of them may write: on two CPUs and, as the release permits, one in the middle of the other.
// Callbacks that they defer take part like programs. Only programs of the list take part; all do if
// it is empty. Programs that cannot run are left out.
func Meetings(m *machine.Machine, only []string, k Kernel) []Meeting {
	return MeetingsOf(m, nil, only, k)
}

// MeetingsOf lists the meetings of a scene: those that a user wrote, and the pairs that [Meetings]
// lists, with each input that a user wrote.
func MeetingsOf(m *machine.Machine, scene *Scene, only []string, k Kernel) []Meeting {
	var out []Meeting
	progs := slices.DeleteFunc(runnable(m), func(lp *loader.LinkedProgram) bool {
		return len(only) > 0 && !slices.Contains(only, lp.Name)
	})
	tasks := otherTasks{m: m}
	one := func(a, b role) {
		if m.Kernel().CPUs() > 1 {
			first, other := a.actor(), b.actor()
			other.Input.CPU, other.Input.Current = 1, besides(m, other.Input.Current, first.Input.Current, tasks.of(a.lp, b.lp))
			out = append(out, Meeting{Name: a.name() + " and " + b.name() + " on two CPUs", Actors: []Actor{first, other}})
		}
		out = append(out, nested(&tasks, a, b, k)...)
		if a != b {
			out = append(out, nested(&tasks, b, a, k)...)
		}
	}
	pair := func(a, b role) {
		for i, x := range scene.roles(a) {
			for j, y := range scene.roles(b) {
				if a != b || i <= j {
					one(x, y)
				}
			}
		}
	}
	// Each program with itself, then with the next one, and so on: what is left when time is over
	// is not all of one program's.
	for apart := range progs {
		for i, a := range progs[:len(progs)-apart] {
			b := progs[i+apart]
			if share(a, b) {
				pair(role{lp: a}, role{lp: b})
			}
		}
	}
	callbacks := Callbacks(m)
	for i := range callbacks {
		owner, _ := m.Linked().Program(callbacks[i].Program)
		if !slices.Contains(progs, owner) {
			continue
		}
		for _, lp := range progs {
			if share(lp, owner) {
				pair(role{lp: lp}, role{lp: owner, callback: &callbacks[i]})
			}
		}
		for j := range callbacks[:i+1] {
			if lp, _ := m.Linked().Program(callbacks[j].Program); slices.Contains(progs, lp) && share(lp, owner) {
				pair(role{lp: lp, callback: &callbacks[j]}, role{lp: owner, callback: &callbacks[i]})
			}
		}
	}
	rank := map[string]int{}
	for i := range out {
		rank[out[i].Name] = urgency(m, &out[i])
	}
	slices.SortStableFunc(out, func(a, b Meeting) int { return rank[b.Name] - rank[a.Name] })
	if scene != nil {
		out = append(slices.Clone(scene.Races), out...)
	}
	return out
}

// urgency says which meetings come first if the time is not enough for all: those of programs that
// share memory of one CPU in the middle of each other, then those that share the most maps which
// they change.
func urgency(m *machine.Machine, meeting *Meeting) int {
	a, _ := m.Linked().Program(meeting.Actors[0].Program)
	b, _ := m.Linked().Program(meeting.Actors[1].Program)
	n, perCPU := 0, false
	mine := shared(a)
	for _, def := range shared(b) {
		if slices.Contains(mine, def) && (changes(a, def) || changes(b, def)) {
			n++
			perCPU = perCPU || def.Type.PerCPU() || byCPU(a, def) && byCPU(b, def)
		}
	}
	if perCPU && meeting.Actors[1].Over >= 0 {
		n += len(m.Linked().Maps) + 1
	}
	return n
}

// changes reports whether a program may change a map that it refers to: by a call, or by a store to
// anything but its stack.
func changes(lp *loader.LinkedProgram, def *loader.Map) bool {
	first := arguments(lp)
	for pc, in := range lp.Insns {
		if in.Op() == decode.OpCallHelper && first[pc] == def && changing(uapi.FuncID(in.Imm)) {
			return true
		}
	}
	return slices.ContainsFunc(lp.Insns, func(in decode.Insn) bool {
		return in.Info().Flags&decode.FlagStore != 0 && in.Dst != 10
	})
}

// share reports whether two programs refer to the same map or variable, other than read-only ones.
func share(a, b *loader.LinkedProgram) bool {
	mine := shared(a)
	for _, def := range shared(b) {
		if slices.Contains(mine, def) {
			return true
		}
	}
	return false
}

// shared lists the maps that a program refers to and whose contents programs can change, each once.
func shared(lp *loader.LinkedProgram) []*loader.Map {
	var out []*loader.Map
	for _, pc := range slices.Sorted(maps.Keys(lp.Refs)) {
		r := lp.Refs[pc]
		if slices.Contains(out, r.Map) || r.Map == nil || r.Kind != loader.RefMap && r.Kind != loader.RefMapValue || r.Map.DataKind == loader.DataRodata {
			continue
		}
		switch r.Map.Type {
		case uapi.MapTypeRingbuf, uapi.MapTypePerfEventArray, uapi.MapTypeProgArray, uapi.MapTypeStackTrace, uapi.MapTypeDevmap, uapi.MapTypeCpumap, uapi.MapTypeXskmap:
			continue // records and references: their order is no one's concern
		}
		out = append(out, r.Map)
	}
	return out
}
