package hook

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// eventSystemTable lists the events of each system, which BTF does not record: TRACE_SYSTEM of the
// headers that define them. scripts/trace-systems.sh makes it.
//
//go:embed eventsystems.txt
var eventSystemTable string

var eventSystems = sync.OnceValue(func() map[string][]string {
	out := make(map[string][]string, 7000)
	for line := range strings.Lines(eventSystemTable) {
		system, events, _ := strings.Cut(line, ":")
		for e := range strings.FieldsSeq(events) {
			out[e] = append(out[e], system)
		}
	}
	return out
})

// EventSystems returns the systems in which kernels have an event of that name: one, or several
// where kernels of different architectures differ. They are none for events that are not known, and
// for tracepoints without an event.
func EventSystems(event string) []string { return eventSystems()[event] }

// EventSystemsOf returns the systems in which the target has an event of that name: for an event
// that no table has, the system of the known event whose name begins in the same way, else the
// name's first word. A tracepoint that has no event, since no record of it is described, has none.
func (h *Hooks) EventSystemsOf(event string) []string {
	if list := EventSystems(event); list != nil {
		return list
	}
	if h.eventLayout(event) == nil {
		return nil
	}
	first, _, _ := strings.Cut(event, "_")
	best, shared := first, len(first)
	for known, systems := range eventSystems() {
		if n := commonPrefix(known, event); n > shared || n == shared && best != first && systems[0] < best {
			best, shared = systems[0], n
		}
	}
	return []string{best}
}

//go:embed kprobeblacklist.txt
var kprobeBlacklist string

var unprobed = sync.OnceValue(func() []string { return strings.Fields(kprobeBlacklist) })

// NotProbed reports whether a function is one on which kernels refuse kprobes (NOKPROBE_SYMBOL,
// noinstr): the list of Linux 6.1 and 6.12 on amd64.
func NotProbed(function string) bool {
	_, found := slices.BinarySearch(unprobed(), function)
	return found
}
