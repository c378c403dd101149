package race

import (
	"slices"

	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// listed makes alternatives of advice.
func listed(advice []string) []string {
	for i := range advice {
		if i > 0 {
			advice[i] = "or " + advice[i]
		}
	}
	return advice
}

// validates reports whether an actor adds the element of a lookup with BPF_NOEXIST.
func (w *watch) validates(actor int, at *event) bool {
	return slices.ContainsFunc(w.events, func(e event) bool {
		return e.actor == actor && e.kind == validated && e.touches[0].Addr == at.touches[0].Addr
	})
}

// advise says what can be done about a verdict, by what the release has.
func advise(version uint32, w *watch, v verdict, nested, own bool) []string {
	release := uapi.ReleaseOf(version)
	has := since.Of(version)
	kfunc := func(name string) bool {
		k, ok := proto.LookupKfunc(name)
		return ok && k.In(release)
	}
	var out []string
	switch {
	case nested && own:
		out = append(out, "give each level of nesting its own element: count the level in a per-CPU variable at entry and exit, and use it as index")
		if kfunc("bpf_preempt_disable") {
			out = append(out, "keep other tasks away: bpf_preempt_disable and bpf_preempt_enable around it")
		}
		if kfunc("bpf_local_irq_save") {
			out = append(out, "interrupts: bpf_local_irq_save and bpf_local_irq_restore")
		}
	case w.events[v.act].kind == validated && w.events[v.act].failed:
		out = append(out, "look at the result of bpf_map_update_elem: with -EEXIST another one was first")
	case v.read >= 0 && w.events[v.read].kind == lookup && w.validates(w.events[v.act].actor, &w.events[v.read]):
		out = append(out, "look the element up again when BPF_NOEXIST fails with -EEXIST, and go on with that one")
	case v.read >= 0 && w.events[v.read].kind == lookup:
		out = append(out, "add the element with BPF_NOEXIST, and look it up again when that fails with -EEXIST")
	case v.read >= 0 && !v.torn && len(w.events[v.act].touches) > 0 && w.events[v.read].touches[0].Addr == w.events[v.act].touches[0].Addr:
		out = append(out, "change it by one operation: __sync_fetch_and_add(&x, n)")
		if has.Has(since.AtomicsFull) {
			out = append(out, "decide by what such an operation returns, or by __sync_val_compare_and_swap")
		}
		if !own {
			out = append(out, "count per CPU, in a per-CPU map")
		}
	}
	if h, ok := proto.Lookup(uapi.FuncSpinLock); ok && h.In(release) && !own && (v.read < 0 || w.events[v.read].kind != lookup) {
		out = append(out, "hold a bpf_spin_lock in the value from the first read to the last write (not in tracing programs)")
	}
	return out
}
