package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/loader"
)

// shown reports whether a relocation is listed: with Quiet, only those that are missing or fail.
func (o TableOptions) shown(r *Relocation) bool { return !o.Quiet || r.Result != "ok" }

// WriteRelo writes the relocations as a list, grouped by function.
func WriteRelo(w io.Writer, d *ReloDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n", s.bold(d.Object), describeTarget(d.Target))
	total, changed, poisoned, failed := 0, 0, 0, 0
	for i := range d.Programs {
		p := &d.Programs[i]
		if !slices.ContainsFunc(p.Relocations, func(r Relocation) bool { return opt.shown(&r) }) {
			total += len(p.Relocations)
			changed += countChanged(p.Relocations)
			continue
		}
		visible.Fprintf(&b, "\n%s (%s)\n", s.bold(optionalName(p.Name, p.Optional)), p.Section)
		if opt.Verbose && p.Hashes != nil {
			writeHashes(&b, p.Hashes, s)
		}
		for j := range p.Relocations {
			r := &p.Relocations[j]
			total++
			if opt.shown(r) {
				writeRelocation(&b, r, s, opt.Verbose)
			}
			switch {
			case r.Result == "error":
				failed++
			case r.Result == "poison":
				poisoned++
			case r.changed:
				changed++
			}
		}
	}
	visible.Fprintf(&b, "\n%d relocations: %d unchanged, %d changed, %d missing, %d errors\n", total, total-changed-poisoned-failed, changed, poisoned, failed)
	_, err := io.WriteString(w, b.String())
	return err
}

func countChanged(list []Relocation) int {
	n := 0
	for i := range list {
		if list[i].Result == "ok" && list[i].changed {
			n++
		}
	}
	return n
}

func writeHashes(b *strings.Builder, h *Hashes, s style) {
	for _, x := range []struct{ name, sum string }{{"core", h.Core}, {"final", h.Final}, {"digest", h.Digest}} {
		if x.sum != "" {
			visible.Fprintf(b, "  %s\n", s.dim(fmt.Sprintf("%-6s %s", x.name, x.sum)))
		}
	}
}

func writeRelocation(b *strings.Builder, r *Relocation, s style, verbose bool) {
	result := s.dim("unchanged " + decimal(r.Old))
	switch {
	case r.Result == "error":
		result = s.red("ERROR")
	case r.Result == "poison":
		result = s.red("missing, " + r.Verdict)
		if r.Verdict == loader.Dead.String() {
			result = s.yellow("missing, dead")
		}
	case r.changed:
		result = s.green(decimal(r.Old) + " -> " + decimal(r.New))
		if r.MemSize != "" {
			result += " size " + r.MemSize
		}
	}
	visible.Fprintf(b, "  insn %-4d %-13s %s  %s\n", r.Insn, r.Kind, r.text, result)
	const indent = "            "
	if r.Source != "" && (r.Result != "ok" || r.changed || verbose) {
		visible.Fprintf(b, indent+"%s\n", s.dim(strings.TrimSuffix(r.Source+": "+r.line, ": ")))
	}
	if verbose {
		writeCandidates(b, r, indent, s)
	}
	for _, extra := range []string{r.Error, r.Hint} {
		for line := range strings.SplitSeq(extra, "\n") {
			said := verbose && slices.ContainsFunc(r.Rejected, func(x RejectedCandidate) bool { return x.Why == line })
			if line != "" && !said {
				visible.Fprintf(b, indent+"%s\n", line)
			}
		}
	}
}

// writeCandidates lists the candidate types: the chosen one, others that match as well, and those
// that do not.
func writeCandidates(b *strings.Builder, r *Relocation, indent string, s style) {
	if r.Target != "" {
		visible.Fprintf(b, indent+"%s of %s: %s\n", s.dim("target"), plural(r.Candidates, "candidate"), strings.TrimPrefix(r.Target, "<"+r.Kind+"> "))
	} else if r.Kind != "local_type_id" {
		visible.Fprintf(b, indent+"%s %s\n", plural(r.Candidates, "candidate"), s.dim("in the kernel, none matches"))
	}
	for i, m := range r.Matching {
		if i > 0 {
			visible.Fprintf(b, indent+"%s %s\n", s.dim("also matches:"), m)
		}
	}
	for _, x := range r.Rejected {
		visible.Fprintf(b, indent+"%s %s: %s (%s)\n", s.dim("rejected:"), x.Candidate, x.Why, x.Reason)
	}
}

// decimal converts a Hex64 value to decimal, as offsets are written.
func decimal(hex string) string {
	var v uint64
	if _, err := fmt.Sscanf(hex, "0x%x", &v); err != nil {
		return hex
	}
	if int64(v) < 0 {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}
