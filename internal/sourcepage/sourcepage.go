// Package sourcepage writes self-contained HTML pages that show source lines with a count and a
// colour for each.
//
// It knows the page's frame, style and script and how sources are matched with the lines that an
// object has; not what is counted.
//
// Start from [Begin].
package sourcepage

import (
	_ "embed"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
)

// Style sheet and script, which every page embeds so that it is self-contained.
var (
	//go:embed page.css
	pageCSS string
	// LinesCSS is the style of what [WriteLines] writes, for pages of another frame.
	//
	//go:embed lines.css
	LinesCSS string
	//go:embed page.js
	pageJS string
)

// frame is the page around sources.
func frame(title string) markup.Frame {
	return markup.Frame{Title: title, CSS: LinesCSS + pageCSS, Script: pageJS}
}

// Begin writes the beginning of a page, up to its body.
func Begin(w *markup.Page, title string) { w.Begin(frame(title)) }

// End writes the end of a page.
func End(w *markup.Page) { w.End(frame("")) }

// Line is a line of source on a page.
type Line struct {
	Number int
	State  string  // a class of the style sheet: "hit", "part", "miss", "dead", "heat"; "gap" for lines that are left out
	Heat   float64 // of state heat: 0 to 1
	Count  string
	Text   string
	Notes  []string // shown when the count is clicked
}

// WriteLines writes lines as a table. id makes the ids of lines unique on the page.
func WriteLines(w *markup.Page, id string, lines []Line) {
	w.Write("<div class=\"scroll\"><table class=\"src\">\n")
	for _, l := range lines {
		if l.State == "gap" {
			w.Write("<tr class=\"gap\"><td></td><td></td><td>···</td></tr>\n")
			continue
		}
		attributes := markup.HTML("")
		if len(l.Notes) > 0 {
			attributes = markup.Sprintf(` title="%s"`, strings.Join(l.Notes, "\n"))
		}
		if l.State == "heat" {
			attributes += markup.Sprintf(` style="--heat:%.0f%%"`, 100*l.Heat)
		}
		w.Printf(`<tr class="%s"%s id="%s-%d"><td class="n"><a href="#%s-%d">%d</a></td><td class="c">%s</td><td>%s</td></tr>`+"\n",
			l.State, attributes, id, l.Number, id, l.Number, l.Number, l.Count, l.Text)
	}
	w.Write("</table></div>\n")
}

// maxSource limits the size in bytes of a source file that is shown.
const maxSource = 8 << 20

// sourceTypes are the extensions of files that pages show. An object names its sources itself, and
// a page may be published: it shows no private file because an object says that it was compiled
// from it.
var sourceTypes = []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".inc", ".S", ".rs", ".zig", ".go"}

// Read returns the lines of a source file; ok is false if it cannot be read, or if its name is not
// one of a source.
func Read(name string) (lines []string, ok bool) {
	name, err := filepath.EvalSymlinks(name)
	if err != nil || !slices.Contains(sourceTypes, filepath.Ext(name)) {
		return nil, false
	}
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxSource {
		return nil, false
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, false
	}
	return strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n"), true
}

// Whole returns all lines of a source file, or if it cannot be read or is not the version that
// texts (by number) are of, those of texts with gaps between them.
func Whole(file string, texts map[int]string, read func(string) ([]string, bool)) []Line {
	all, ok := read(file)
	same := false // no line says that it is another file; at least one has to say that it is this one
	for n, have := range texts {
		same = same || strings.TrimSpace(have) != ""
		if ok && have != "" && (n < 1 || n > len(all) || strings.TrimSpace(all[n-1]) != strings.TrimSpace(have)) {
			ok = false
		}
	}
	var out []Line
	if ok && same {
		if n := len(all); n > 0 && all[n-1] == "" {
			all = all[:n-1]
		}
		for i, t := range all {
			out = append(out, Line{Number: i + 1, Text: t})
		}
		return out
	}
	numbers := make([]int, 0, len(texts))
	for n := range texts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	last := 0
	for _, n := range numbers {
		if last > 0 && n > last+1 {
			out = append(out, Line{State: "gap"})
		}
		out = append(out, Line{Number: n, Text: texts[n]})
		last = n
	}
	return out
}
