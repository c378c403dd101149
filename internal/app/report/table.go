package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// TableOptions changes how a table is written.
type TableOptions struct {
	Color   bool
	Verbose bool // also warnings, kernel accesses, unchanged globals; for relocations source lines, candidates and hashes
	Quiet   bool // only what is not ok, and the summary
}

// style applies ANSI styles; when off, it leaves text as it is.
type style struct{ on bool }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
func (s style) bold(t string) string   { return s.wrap("1", t) }
func (s style) dim(t string) string    { return s.wrap("2", t) }
func (s style) red(t string) string    { return s.wrap("31", t) }
func (s style) green(t string) string  { return s.wrap("32", t) }
func (s style) yellow(t string) string { return s.wrap("33", t) }

// cell is one table cell: its text and its style.
type cell struct {
	text  string
	paint func(string) string
}

// WriteTable writes results as a table, one row per program, with its events, map changes and
// faults below the row.
func WriteTable(w io.Writer, d *RunDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	visible.Fprintf(&b, "%s on %s\n", s.bold(d.Object), describeTarget(d.Target))
	if d.Error != nil && len(d.Programs) == 0 {
		visible.Fprintf(&b, "%s %s\n", s.red("error:"), d.Error.Message)
		_, err := io.WriteString(w, b.String())
		return err
	}
	header := make([]cell, len(columns))
	for i, h := range columns {
		header[i] = cell{h, s.bold}
	}
	rows := [][]cell{header}
	var shown []*Program
	for i := range d.Programs {
		p := &d.Programs[i]
		if !p.notRun() && (!opt.Quiet || p.Status != "ok") {
			shown = append(shown, p)
			rows = append(rows, programRow(p, s))
		}
	}
	widths := columnWidths(rows)
	if len(shown) > 0 {
		b.WriteByte('\n')
		writeRow(&b, header, widths)
	}
	for i, p := range shown {
		writeRow(&b, rows[i+1], widths)
		if p.Error != nil && d.Error != nil && p.Error.Message == d.Error.Message {
			continue // reported once, below the table
		}
		writeDetails(&b, p, s, opt)
	}
	if d.Chain != nil {
		visible.Fprintf(&b, "%s %s\n", s.bold("chain:"), d.Chain.text())
	}
	for _, doc := range d.Simulations.All() {
		doc.Text(terminal{&b, s, opt})
	}
	if !opt.Quiet && len(d.Histograms) > 0 {
		writeHistograms(&b, d.Histograms, s, "")
	}
	if d.Error != nil {
		writeError(&b, d.Error, s, "")
	}
	if d.Try != "" && !opt.Quiet {
		visible.Fprintf(&b, "%s    %s\n", s.yellow("try:"), d.Try)
	}
	if d.searched && !opt.Quiet {
		visible.Fprintf(&b, "%s %s\n", s.yellow("note:"), "where it says \"reached by\", inputs were changed so that a program gets further; --plain runs it with the default input only")
	}
	if d.untyped != "" && !opt.Quiet {
		visible.Fprintf(&b, "%s %s\n", s.yellow("note:"), d.untyped)
	}
	if d.unverified != "" && !opt.Quiet {
		visible.Fprintf(&b, "%s %s\n", s.yellow("note:"), d.unverified)
	}
	if names := d.leftOut(); len(names) > 0 && !opt.Quiet {
		visible.Fprintf(&b, "%s optional, not run: %s (-p NAME or --optional runs them)\n", s.yellow("note:"), strings.Join(names, ", "))
	}
	for _, warning := range d.Warnings {
		visible.Fprintf(&b, "%s %s\n", s.yellow("warning:"), warning)
	}
	visible.Fprintf(&b, "\n%s\n", summary(d))
	_, err := io.WriteString(w, b.String())
	return err
}

func describeTarget(t *Target) string {
	if t == nil {
		return "no target"
	}
	text := t.Name
	var facts []string
	if t.Version != "" {
		v := "Linux " + t.Version
		// The last part of the version number is limited to 255, but releases go beyond it.
		if release, _, _ := strings.Cut(t.Release, "-"); t.VersionFrom == "" && release != "" {
			v = "Linux " + release
		}
		if from, _, _ := strings.Cut(t.VersionFrom, " ("); from != "" {
			v += " (by its " + from + ")"
			if from == "given" {
				v = "Linux " + t.Version + " (as given)"
			}
		}
		if t.UpdatesUnknown {
			with := "without updates"
			if t.RulesUpdate > 0 {
				with = fmt.Sprintf("as of update %d", t.RulesUpdate)
			}
			v += " " + with + " (its name tells none; --kernel-version)"
		}
		facts = append(facts, v)
	}
	if t.Arch != "" {
		facts = append(facts, t.Arch)
	}
	if t.Types > 0 {
		facts = append(facts, fmt.Sprintf("%d types", t.Types))
	}
	return strings.Join(append([]string{text}, facts...), " · ")
}

// columns are the headings of the program table.
var columns = []string{"PROGRAM", "HOOK", "CO-RE", "RESULT", "INSNS"}

// columnWidths returns the widths of the columns, and makes the texts of the cells visible.
func columnWidths(rows [][]cell) []int {
	var widths []int
	for _, row := range rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			row[i].text = visible.Text(c.text)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text))
		}
	}
	return widths
}

// writeAligned writes rows in aligned columns.
func writeAligned(b *strings.Builder, rows [][]cell) {
	widths := columnWidths(rows)
	for _, row := range rows {
		writeRow(b, row, widths)
	}
}

func writeRow(b *strings.Builder, row []cell, widths []int) {
	for i, c := range row {
		text := c.text
		if c.paint != nil {
			text = c.paint(text)
		}
		b.WriteString(text)
		if i < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
		}
	}
	b.WriteByte('\n')
}

func programRow(p *Program, s style) []cell {
	result, paint := p.Status, s.yellow
	insns := ""
	if len(p.Runs) > 0 {
		r := p.Runs[len(p.Runs)-1]
		insns = strconv.FormatUint(r.Insns, 10)
		if r.Fault == nil {
			result, paint = returnText(r), s.green
			if p.Status == "unknown-hook" {
				result, paint = result+" (? hook)", s.yellow
			}
		} else if p.Status == "refused" {
			result = "refused " + r.Fault.Kind
		} else if p.Status == "not-simulated" {
			result = p.Status // explained below
		} else {
			result = "FAULT " + r.Fault.Kind
		}
	}
	if p.Replay != nil {
		result, insns = replayCells(p.Replay)
		paint = s.green
	}
	switch p.Status {
	case "fault", "refused", "failed", "not-simulated":
		paint = s.red
	}
	return []cell{{cut(p.Name, cellWidth), nil}, {cut(p.Hook, cellWidth), nil}, relocationCell(p.Relocations, s), {result, paint}, {insns, nil}}
}

func returnText(r Run) string {
	v, _ := strconv.ParseUint(strings.TrimPrefix(r.Ret, "0x"), 16, 64)
	text := strconv.FormatInt(int64(int32(uint32(v))), 10)
	if r.Verdict != "" {
		text = r.Verdict + " (" + text + ")"
	}
	return text
}

func relocationCell(r Relocations, s style) cell {
	if r.Total == 0 && r.Errors == 0 {
		return cell{"-", s.dim}
	}
	missing := r.PoisonedDead + r.PoisonedMay + r.PoisonedReached
	text := fmt.Sprintf("%d ok", r.Total-missing-r.Errors)
	if r.Changed > 0 {
		text += fmt.Sprintf(", %d changed", r.Changed)
	}
	paint := s.green
	if r.PoisonedDead > 0 {
		text += fmt.Sprintf(", %d missing (dead)", r.PoisonedDead)
	}
	if r.PoisonedMay > 0 {
		text, paint = text+fmt.Sprintf(", %d missing (may break)", r.PoisonedMay), s.yellow
	}
	if r.PoisonedReached > 0 {
		text, paint = text+fmt.Sprintf(", %d missing (BREAK)", r.PoisonedReached), s.red
	}
	if r.Errors > 0 {
		text, paint = text+fmt.Sprintf(", %d errors", r.Errors), s.red
	}
	return cell{text, paint}
}

func writeDetails(b *strings.Builder, p *Program, s style, opt TableOptions) {
	item := func(kind, text string) {
		if !opt.Verbose {
			text = cut(text, lineWidth)
		}
		visible.Fprintf(b, "  %s %s\n", s.dim(fmt.Sprintf("%-8s", kind)), visible.Indent(text, "           "))
	}
	if p.Error != nil {
		writeError(b, p.Error, s, "  ")
	}
	if v := p.Verifier; v != nil && (v.Verdict == "unknown" || v.Verdict == "accepted" && opt.Verbose) {
		item("verifier", v.summary)
	}
	if p.Error == nil || p.Error.Kind == "verifier" || len(p.Runs) > 0 || opt.Verbose {
		for _, text := range missingFields(p, opt.Verbose) {
			visible.Fprintf(b, "  %s %s\n", s.dim("missing "), visible.Indent(text, "           "))
		}
	}
	writeRuns(b, p.Runs, item, s, opt)
	if p.Replay != nil {
		writeReplay(b, p.Replay, item, s, opt)
	}
	if opt.Verbose && p.Coverage != nil && p.Coverage.Reachable > 0 {
		item("covered", fmt.Sprintf("%d of %d reachable instructions", p.Coverage.Executed, p.Coverage.Reachable))
	}
}

// missingFields lists the fields that the program's poisoned instructions access, each once, with
// the worst verdict, the first source line, and what the target has instead.
func missingFields(p *Program, dead bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, verdict := range []string{"BREAK", "may-break", "dead"} {
		for _, x := range p.Poisoned {
			if x.Verdict != verdict || seen[x.Access] || verdict == "dead" && !dead {
				continue
			}
			seen[x.Access] = true
			text := fmt.Sprintf("%s: %s", x.Verdict, x.Access)
			if x.Source != "" {
				text += " at " + x.Source
			}
			if x.Hint != "" {
				text += "\n" + x.Hint
			}
			out = append(out, text)
		}
	}
	return out
}

// writeRuns writes the runs of a program. If there are many, it shows the first ones, the first of
// each outcome, and the last, and counts the rest by outcome. Runs of a scenario have names and are
// all shown.
func writeRuns(b *strings.Builder, runs []Run, item func(kind, text string), s style, opt TableOptions) {
	show, left := chosenRuns(runs, opt.Verbose)
	for n, i := range show {
		if n == len(show)-1 && len(left) > 0 {
			item("...", leftOut(left)+" (-v shows all); the last one:")
		}
		writeRun(b, &runs[i], item, s, opt)
	}
}

// chosenRuns returns which runs are shown, and counts the others by outcome.
func chosenRuns(runs []Run, all bool) (show []int, left map[string]int) {
	all = all || len(runs) <= shownRuns+1 || runs[0].titled
	seen, left := map[string]bool{}, map[string]int{}
	for i := range runs {
		r := &runs[i]
		end := outcome(r)
		if !all && i >= shownRuns-1 && i < len(runs)-1 && (seen[end] || r.Fault == nil && len(seen) >= shownItems) {
			left[end]++
			continue
		}
		seen[end] = true
		show = append(show, i)
	}
	return show, left
}

// outcome returns how a run ended.
func outcome(r *Run) string {
	if r.Fault != nil {
		return "FAULT " + r.Fault.Kind
	}
	return returnText(*r)
}

// leftOut counts the runs that are not shown, most frequent outcome first.
func leftOut(left map[string]int) string {
	ends, n := slices.Sorted(maps.Keys(left)), 0
	slices.SortStableFunc(ends, func(a, b string) int { return left[b] - left[a] })
	for i, end := range ends {
		n += left[end]
		ends[i] = fmt.Sprintf("%d %s", left[end], end)
	}
	if len(ends) > shownItems {
		ends = append(ends[:shownItems], "...")
	}
	return fmt.Sprintf("%d more runs: %s", n, strings.Join(ends, ", "))
}

func writeRun(b *strings.Builder, r *Run, item func(kind, text string), s style, opt TableOptions) {
	if r.titled {
		name := r.Name
		if r.Function != "" {
			name += " for " + r.Function
		}
		visible.Fprintf(b, "  %s %s\n", s.dim("run     "), s.bold(name))
	}
	if r.Fault != nil {
		visible.Fprintf(b, "  %s %s\n", s.red("fault:"), visible.Indent(r.Fault.Text, "    "))
	}
	// list shows the first items and the number of the others.
	list := func(kind string, n int, text func(i int) string) {
		for i := range n {
			if i == shownItems && n > shownItems+1 && !opt.Verbose {
				item(kind, fmt.Sprintf("... and %d more (-v shows all)", n-shownItems))
				return
			}
			item(kind, text(i))
		}
	}
	for first := 0; first < len(r.Events); {
		kind, n := r.Events[first].Kind, 1
		for first+n < len(r.Events) && r.Events[first+n].Kind == kind {
			n++
		}
		events := r.Events[first : first+n]
		list(kind, n, func(i int) string { return s.bold(events[i].Map) + "  " + events[i].Text() })
		first += n
	}
	if len(r.PacketChanges) > 0 {
		item("packet", strings.Join(r.PacketChanges, ", "))
	}
	if r.Output != "" {
		lines := strings.Split(strings.TrimSuffix(r.Output, "\n"), "\n")
		list("output", len(lines), func(i int) string { return visible.Text(lines[i]) })
	}
	list("effect", len(r.Effects), func(i int) string { return effectText(&r.Effects[i]) })
	list("map", len(r.MapChanges), func(i int) string { return s.bold(r.MapChanges[i].Map) + r.MapChanges[i].Text() })
	list("trace", len(r.Trace), func(i int) string { return visible.Text(r.Trace[i]) })
	writeValidation(b, r, item, s, opt)
	for i := range r.Findings {
		visible.Fprintf(b, "  %s %s\n", s.yellow("finding:"), r.Findings[i].line())
	}
	if opt.Verbose {
		for _, a := range r.KernelReads {
			item("read", accessText(a))
		}
		for _, a := range r.KernelWrites {
			item("write", accessText(a))
		}
	}
	if x := r.Reached; x != nil {
		item("reached", reachedText(x, opt))
	}
	for i, line := range r.WhyNot {
		if i == 0 {
			item("why", line)
		} else {
			item("", line)
		}
	}
	for _, t := range r.Warnings {
		visible.Fprintf(b, "  %s %s\n", s.yellow("warning:"), t)
	}
	writeExpectations(b, r, s, opt)
}

// reachedText lists what was changed to get further.
func reachedText(r *Reached, opt TableOptions) string {
	by := r.By
	if len(by) > shownItems && !opt.Verbose {
		by = append(by[:shownItems:shownItems], fmt.Sprintf("and %d more (-v shows all)", len(by)-shownItems))
	}
	return "by: " + visible.Text(strings.Join(by, ", "))
}

const (
	shownRuns  = 3   // runs shown of a program that runs more often, without -v: the first ones and the last
	shownItems = 8   // events, map changes and trace lines shown of each run without -v
	lineWidth  = 160 // characters shown of each without -v
	cellWidth  = 48  // characters of a name or hook
)

// cut shortens text to width characters.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-3]) + "..."
}

// writeError writes an error, with its source line and the next step on lines of their own.
func writeError(b *strings.Builder, e *Error, s style, indent string) {
	lines := e.Lines
	if len(lines) == 0 {
		lines = []string{e.Message}
	}
	word := "error:"
	if e.Word != "" {
		word = e.Word
	}
	word = s.red(word)
	if e.Note {
		word = s.yellow("note:")
	}
	visible.Fprintf(b, "%s%s %s\n", indent, word, visible.Indent(strings.Join(lines, "\n"), indent+"  "))
}

func effectText(e *Effect) string {
	text := e.Kind
	if e.Value != "0" || e.Detail == "" {
		text += " " + e.Value
	}
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func accessText(a Access) string {
	text := fmt.Sprintf("%s.%s at insn %d", a.Type, a.Path, a.Insn)
	if !a.Set {
		text += " (default value)"
	}
	return text
}

// leftOut returns the optional programs that did not run although no other programs were chosen.
func (d *RunDocument) leftOut() []string {
	var names []string
	for i := range d.Programs {
		if p := &d.Programs[i]; p.Optional && p.Status == "disabled" && !p.left && d.Scenario == "" {
			names = append(names, p.Name)
		}
	}
	return names
}

// notRun reports whether a program was left out of the run.
func (p *Program) notRun() bool {
	return p.left || len(p.Runs) == 0 && p.Replay == nil && (p.Status == "ok" || p.Status == "unknown-hook")
}

// summary counts programs by status: "3 programs: 2 ok, 1 absent".
func summary(d *RunDocument) string {
	counts := map[string]int{}
	var order []string
	for i := range d.Programs {
		st := d.Programs[i].Status
		switch ran, known := d.simulated(d.Programs[i].Name); {
		case known && !ran && st == "ok":
			st = "not run"
		case !known && d.Programs[i].notRun():
			st = "not chosen"
		}
		if counts[st] == 0 {
			order = append(order, st)
		}
		counts[st]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	parts := make([]string, len(order))
	for i, st := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[st], st)
	}
	noun := "programs"
	if len(d.Programs) == 1 {
		noun = "program"
	}
	if len(parts) == 0 {
		return "no programs"
	}
	return fmt.Sprintf("%d %s: %s", len(d.Programs), noun, strings.Join(parts, ", "))
}
