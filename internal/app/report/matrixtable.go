package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// matrixWords lists the words of cells, worst first, with symbol and meaning.
var matrixWords = []struct{ word, symbol, meaning string }{
	{"BREAK", "✗", "a missing field is reached: the kernel refuses the program"},
	{"error", "✗", "the object would not load"},
	{"refused", "✗", "the kernel's verifier refuses the program"},
	{"fault", "✗", "the program did what the kernel forbids"},
	{"not-simulated", "?", "used something bpfrun does not simulate"},
	{"absent", "-", "the kernel lacks the hook, or a helper, map type or function the program needs"},
	{"unknown-hook", "?", "BTF does not list the hook: the kernel may not have it; ran with untyped arguments, not compared"},
	{"differs", "≠", "another result than on the base kernel"},
	{"may-break", "!", "a missing field may be reached, depending on input"},
	{"off", "-", "not loaded"},
	{"n/a", "-", "not run"},
	{"dead", "✓", "same result; missing fields are in dead code"},
	{"changed", "✓", "same result; fields moved, CO-RE adjusted the code"},
	{"ok", "✓", "same result"},
}

func matrixSymbol(word string) string {
	for _, w := range matrixWords {
		if w.word == word {
			return w.symbol
		}
	}
	return " "
}

// shortWord returns the abbreviated word for the table's narrow columns.
func shortWord(word string) string {
	switch word {
	case "not-simulated":
		return "not-sim"
	case "unknown-hook":
		return "hook"
	}
	return word
}

func (s style) matrixWord(word string) func(string) string {
	switch word {
	case "BREAK", "error", "refused", "fault":
		return s.red
	case "not-simulated", "unknown-hook", "differs", "may-break":
		return s.yellow
	case "ok", "changed", "dead":
		return s.green
	}
	return s.dim
}

// worthTelling reports whether a cell's detail is listed below the table.
func worthTelling(word string, verbose bool) bool {
	switch word {
	case "ok", "changed", "dead", "off", "n/a":
		return verbose
	}
	return true
}

// MatrixOptions changes how a matrix is written.
type MatrixOptions struct {
	TableOptions
	// Width is the terminal's width in characters, 0 for unlimited.
	Width int
}

// WriteMatrix writes the matrix as a table with one row for each program, followed by the details.
func WriteMatrix(w io.Writer, d *MatrixDocument, opt MatrixOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	heads := kernelHeads(d)
	rows := d.Rows
	if opt.Quiet {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r MatrixRow) bool { return !troubled(r) })
	}
	cells := matrixCells(d, rows, heads, s, false)
	if opt.Width > 0 && tableWidth(cells) > opt.Width {
		cells = matrixCells(d, rows, heads, s, true)
		for i, k := range d.Kernels {
			visible.Fprintf(&b, "%*d  %s\n", len(fmt.Sprint(len(d.Kernels))), i+1, kernelText(&k))
		}
		b.WriteByte('\n')
	}
	writeAligned(&b, cells)
	writeMatrixDetails(&b, d, heads, s, opt)
	visible.Fprintf(&b, "\n%s\n", matrixSummary(d))
	writeUnverified(&b, d)
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// writeUnverified names the kernels whose marks say nothing of a verifier.
func writeUnverified(b *strings.Builder, d *MatrixDocument) {
	for i := range d.Kernels {
		if why := d.Kernels[i].Unverified; why != "" {
			visible.Fprintf(b, "note: not verified: %s\n", why)
		}
	}
}

// trimLines removes trailing spaces.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func troubled(r MatrixRow) bool {
	return slices.ContainsFunc(r.Cells, func(c MatrixCell) bool { return worthTelling(c.Word, false) })
}

func kernelText(k *MatrixKernel) string {
	if k.Error != "" {
		return k.Name + ": " + k.Error
	}
	return describeTarget(&k.Target)
}

// kernelHeads returns the column headings, one line for the release and one for the rest, without
// what all names have in common.
func kernelHeads(d *MatrixDocument) [][2]string {
	prefix := commonPrefix(d.Targets)
	heads := make([][2]string, len(d.Targets))
	for i, name := range d.Targets {
		short := name[len(prefix):]
		if short == "" || len(d.Targets) == 1 {
			short = strings.TrimPrefix(name, "linux-")
		}
		if cut := strings.IndexByte(short, '-'); cut > 0 && len(short) > 9 {
			heads[i] = [2]string{short[:cut], short[cut+1:]}
		} else {
			heads[i] = [2]string{short, ""}
		}
	}
	return heads
}

// commonPrefix returns the common prefix of the names, up to the last '-' or '/' before a digit.
func commonPrefix(names []string) string {
	if len(names) == 0 {
		return ""
	}
	prefix := names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix[:strings.LastIndexAny(strings.TrimRight(prefix, "0123456789."), "-/")+1]
}

func matrixCells(d *MatrixDocument, rows []MatrixRow, heads [][2]string, s style, narrow bool) [][]cell {
	top, second := []cell{{"PROGRAM", s.bold}}, []cell{{"", nil}}
	for i, h := range heads {
		if narrow {
			h = [2]string{fmt.Sprint(i + 1), ""}
		}
		top, second = append(top, cell{h[0], s.bold}), append(second, cell{h[1], s.bold})
	}
	baked := slices.ContainsFunc(rows, func(r MatrixRow) bool { return bakedText(r) != "" })
	if baked {
		top, second = append(top, cell{"BAKED", s.bold}), append(second, cell{"", nil})
	}
	out := [][]cell{top}
	if slices.ContainsFunc(second, func(c cell) bool { return c.text != "" }) {
		out = append(out, second)
	}
	object := ""
	for _, r := range rows {
		if r.Object != object {
			object = r.Object
			out = append(out, []cell{{object, s.bold}})
		}
		line := []cell{{"  " + optionalName(r.Program, r.Optional), nil}}
		for _, c := range r.Cells {
			text := matrixSymbol(c.Word)
			if !narrow {
				text += " " + shortWord(c.Word)
			}
			line = append(line, cell{text, s.matrixWord(c.Word)})
		}
		if text := bakedText(r); text != "" {
			line = append(line, cell{text, s.yellow})
		}
		out = append(out, line)
	}
	return out
}

// optionalName marks a program that tools load only on request.
func optionalName(name string, optional bool) string {
	if optional {
		name += " (optional)"
	}
	return name
}

// bakedText formats the number of reads at fixed offsets: the highest count on any kernel, and "of"
// the number found in the program if that is larger.
func bakedText(r MatrixRow) string {
	ran, found := 0, 0
	for _, c := range r.Cells {
		ran, found = max(ran, c.Baked), max(found, c.BakedFound)
	}
	switch {
	case found > ran:
		return fmt.Sprintf("%d of %d", ran, found)
	case ran > 0:
		return fmt.Sprint(ran)
	}
	return ""
}

func tableWidth(rows [][]cell) int {
	n := -2
	for _, w := range columnWidths(rows) {
		n += w + 2
	}
	return n
}

// matrixDetail is one detail and the kernels that it applies to.
type matrixDetail struct {
	object, program, word, text string
	kernels                     []string
}

// matrixDetails collects the details of the cells, each once for all kernels that share it.
func matrixDetails(d *MatrixDocument, heads [][2]string, verbose bool) []*matrixDetail {
	var out []*matrixDetail
	for _, r := range d.Rows {
		seen := map[string]*matrixDetail{}
		for i, c := range r.Cells {
			if c.Detail == "" || !worthTelling(c.Word, verbose) && !c.Follows && (c.Verifier == nil || c.Verifier.Verdict != "unknown") {
				continue
			}
			key := c.Word + "\x00" + c.Detail
			if seen[key] == nil {
				seen[key] = &matrixDetail{object: r.Object, program: r.Program, word: c.Word, text: c.Detail}
				out = append(out, seen[key])
			}
			seen[key].kernels = append(seen[key].kernels, headText(heads[i]))
		}
	}
	return out
}

func headText(h [2]string) string {
	if h[1] == "" {
		return h[0]
	}
	return h[0] + "-" + h[1]
}

func writeMatrixDetails(b *strings.Builder, d *MatrixDocument, heads [][2]string, s style, opt MatrixOptions) {
	for _, k := range d.Kernels {
		if k.Error != "" {
			visible.Fprintf(b, "\n%s %s: %s\n", s.red("error:"), k.Name, k.Error)
		}
	}
	details := matrixDetails(d, heads, opt.Verbose)
	for i, x := range details {
		if i == 0 || details[i-1].object != x.object || details[i-1].program != x.program {
			visible.Fprintf(b, "\n%s %s\n", s.bold(x.object), s.bold(x.program))
		}
		visible.Fprintf(b, "  %s on %s\n", s.matrixWord(x.word)(x.word), kernelList(x.kernels, len(d.Targets)))
		for line := range strings.SplitSeq(x.text, "\n") {
			visible.Fprintf(b, "    %s\n", line)
		}
	}
}

func kernelList(names []string, all int) string {
	if len(names) == all && all > 1 {
		return fmt.Sprintf("all %d kernels", all)
	}
	return strings.Join(names, ", ")
}

// matrixSummary counts cells: "12 programs on 3 kernels: 30 changed, 4 ok, 2 BREAK".
func matrixSummary(d *MatrixDocument) string {
	var parts []string
	for i := len(matrixWords) - 1; i >= 0; i-- {
		if n := d.Summary[matrixWords[i].word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, matrixWords[i].word))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to run")
	}
	return fmt.Sprintf("%s on %s: %s", plural(len(d.Rows), "program"), plural(len(d.Targets), "kernel"), strings.Join(parts, ", "))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// WriteMatrixMarkdown writes the matrix as a Markdown table, followed by a legend and the details.
func WriteMatrixMarkdown(w io.Writer, d *MatrixDocument) error {
	var b strings.Builder
	heads := kernelHeads(d)
	b.WriteString("| program |")
	for _, h := range heads {
		visible.Fprintf(&b, " %s |", markdown(headText(h)))
	}
	columns := len(heads)
	baked := slices.ContainsFunc(d.Rows, func(r MatrixRow) bool { return bakedText(r) != "" })
	if baked {
		b.WriteString(" baked |")
		columns++
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", columns) + "\n")
	for _, r := range d.Rows {
		visible.Fprintf(&b, "| %s %s |", markdown(r.Object), markdown(optionalName(r.Program, r.Optional)))
		for _, c := range r.Cells {
			visible.Fprintf(&b, " %s %s |", matrixSymbol(c.Word), c.Word)
		}
		if baked {
			visible.Fprintf(&b, " %s |", bakedText(r))
		}
		b.WriteByte('\n')
	}
	visible.Fprintf(&b, "\n%s\n\n", matrixSummary(d))
	for _, x := range matrixWords {
		if d.Summary[x.word] > 0 {
			visible.Fprintf(&b, "- %s **%s**: %s\n", x.symbol, x.word, x.meaning)
		}
	}
	details := matrixDetails(d, heads, false)
	if len(details) > 0 {
		b.WriteString("\n")
	}
	for _, x := range details {
		visible.Fprintf(&b, "- %s `%s` **%s** on %s: %s\n", markdown(x.object), x.program, x.word,
			markdown(kernelList(x.kernels, len(d.Targets))), markdown(strings.ReplaceAll(x.text, "\n", "; ")))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown escapes characters that would end a table cell or start formatting.
func markdown(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "?")
	}
	return strings.NewReplacer("|", "\\|", "_", "\\_", "*", "\\*", "<", "&lt;", "`", "'").Replace(text)
}
