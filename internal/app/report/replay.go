package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// Replay is what a program did with the packets of a capture.
type Replay struct {
	File    string `json:"file"`
	Out     string `json:"out,omitempty"`
	Packets int    `json:"packets"`
	// Verdicts counts packets by the program's return value; those on which it faulted count as
	// "fault".
	Verdicts map[string]int `json:"verdicts"`
	// Skipped counts the packets that could not be given to the program. First explains the first
	// of them.
	Skipped    int    `json:"skipped"`
	SkippedWhy string `json:"skipped_why,omitempty"`
	// Changed counts the packets that the program changed; Changes lists the first of them.
	Changed int            `json:"changed"`
	Changes []PacketChange `json:"changes"`
	// Fault is the first fault, on packet FaultPacket.
	Fault       *Fault         `json:"fault"`
	FaultPacket int            `json:"fault_packet,omitempty"`
	Insns       uint64         `json:"insns"`
	Helpers     map[string]int `json:"helpers"`
	Events      map[string]int `json:"events"`
	Trace       []string       `json:"trace"`
	MapChanges  []Change       `json:"map_changes"`
	Warnings    []string       `json:"warnings"`
	// Seconds is the duration of the whole replay, including reading and writing files.
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"packets_per_second"`
}

// PacketChange is a packet that a program changed.
type PacketChange struct {
	Packet  int      `json:"packet"`
	Verdict string   `json:"verdict"`
	Changes []string `json:"changes"`
}

// Limits on what is listed for a replay.
const (
	ListedChanges = 1000
	ListedTrace   = 100
)

// AddReplay adds a replay to its program.
func (d *RunDocument) AddReplay(m *machine.Machine, total *machine.Result, r *Replay) {
	for i := range d.Programs {
		p := &d.Programs[i]
		if p.Name != total.Program {
			continue
		}
		r.Insns, r.Helpers, r.Warnings, r.MapChanges = total.Insns, total.Helpers, list(total.Warnings), []Change{}
		r.Trace = list(r.Trace)
		if r.Changes == nil {
			r.Changes = []PacketChange{}
		}
		d.hists.add(m.Linked(), total.Program, total.Changes)
		for _, c := range total.Changes {
			r.MapChanges = append(r.MapChanges, newChange(m, c))
		}
		if r.Fault != nil {
			p.Status = string(machine.StatusFault)
		}
		p.Coverage = &Coverage{total.Coverage.Reachable, total.Coverage.Executed}
		p.Replay = r
		return
	}
}

// NewFault describes a fault of a run.
func NewFault(f *machine.Fault) *Fault { return newFault(f) }

// PacketDiff describes a program's changes to a packet in the form of [packet.Diff].
func PacketDiff(before, after []byte) []string {
	var out []string
	for _, c := range packet.Diff(before, after, packet.Ethernet) {
		out = append(out, c.String())
	}
	return out
}

// histogram returns "97 XDP_PASS, 3 XDP_DROP", most frequent first.
func (r *Replay) histogram() string {
	names := sortedCounts(r.Verdicts)
	for i, n := range names {
		names[i] = fmt.Sprintf("%d %s", r.Verdicts[n], n)
	}
	return strings.Join(names, ", ")
}

func packetsText(n int) string {
	if n == 1 {
		return "1 packet"
	}
	return fmt.Sprintf("%d packets", n)
}

// replayCells returns the result and instruction count for a program's row.
func replayCells(r *Replay) (result, insns string) {
	if n := r.Packets - r.Skipped; n > 0 {
		insns = fmt.Sprintf("%.1f/packet", float64(r.Insns)/float64(n))
	}
	return packetsText(r.Packets), insns
}

func writeReplay(b *strings.Builder, r *Replay, item func(kind, text string), s style, opt TableOptions) {
	if len(r.Verdicts) > 0 {
		item("verdicts", r.histogram())
	}
	switch {
	case r.Skipped == 1:
		visible.Fprintf(b, "  %s 1 packet was not run: %s\n", s.yellow("warning:"), r.SkippedWhy)
	case r.Skipped > 1:
		visible.Fprintf(b, "  %s %s were not run; the first: %s\n", s.yellow("warning:"), packetsText(r.Skipped), r.SkippedWhy)
	case r.Packets == 0:
		visible.Fprintf(b, "  %s there is no packet in the capture\n", s.yellow("warning:"))
	}
	if r.Fault != nil {
		visible.Fprintf(b, "  %s packet %d: %s\n", s.red("fault:"), r.FaultPacket, visible.Indent(r.Fault.Text, "    "))
	}
	for i, c := range r.Changes {
		if i == shownItems && r.Changed > shownItems+1 && !opt.Verbose {
			break
		}
		item("packet", fmt.Sprintf("%d %s: %s", c.Packet, s.bold(c.Verdict), strings.Join(c.Changes, ", ")))
	}
	shown := len(r.Changes)
	if !opt.Verbose && r.Changed > shownItems+1 {
		shown = min(shown, shownItems)
	}
	if shown < r.Changed {
		item("packet", fmt.Sprintf("... and %d more that were changed", r.Changed-shown))
	}
	var maps []string
	for name := range r.Events {
		maps = append(maps, name)
	}
	slices.Sort(maps)
	for _, name := range maps {
		if r.Events[name] > 0 {
			item("events", fmt.Sprintf("%s  %d records", s.bold(name), r.Events[name]))
		}
	}
	for i, c := range r.MapChanges {
		if i == shownItems && len(r.MapChanges) > shownItems+1 && !opt.Verbose {
			item("map", fmt.Sprintf("... and %d more (-v shows all)", len(r.MapChanges)-shownItems))
			break
		}
		item("map", s.bold(c.Map)+c.Text())
	}
	for i, line := range r.Trace {
		if i == shownItems && !opt.Verbose {
			item("trace", fmt.Sprintf("... and more (-v shows %d)", len(r.Trace)))
			break
		}
		item("trace", line)
	}
	for _, t := range r.Warnings {
		visible.Fprintf(b, "  %s %s\n", s.yellow("warning:"), t)
	}
	if r.Out != "" {
		item("written", r.Out)
	}
}

// sortedCounts are names by their counts, the largest first.
func sortedCounts(count map[string]int) []string {
	names := make([]string, 0, len(count))
	for n := range count {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(count[b]-count[a], cmp.Compare(a, b)) })
	return names
}
