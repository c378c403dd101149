package cover

import (
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/markup"
	"github.com/bpfrun/bpfrun/internal/sourcepage"
)

// view is the coverage on one kernel or on all together.
type view struct {
	ID, Name string
	Totals   Totals
	Files    []fileLink
	Lines    []sourcepage.Line
	Unmapped []string
}

type fileLink struct {
	Path, Page string
	Totals     Totals
}

// document is the contents of one page.
type document struct {
	Title string
	File  string // "" for the index
	Views []view
}

// WriteHTML writes pages to a directory, which it creates: index.html, and one page for each source
// file. Pages are self-contained and show all kernels together or each one separately. The lines of
// source files come from sources (nil reads the files), or else from the object.
func (p *Profile) WriteHTML(dir string, sources func(path string) ([]string, bool)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scopes := p.scopes()
	names := pageNames(scopes[0].source)
	list, files := p.documents(scopes, sources, func(path string) string { return names[path] })
	if err := list.write(filepath.Join(dir, "index.html")); err != nil {
		return err
	}
	for _, d := range files {
		if err := d.write(filepath.Join(dir, names[d.File])); err != nil {
			return err
		}
	}
	return nil
}

// WritePage writes all of [Profile.WriteHTML] as one page.
func (p *Profile) WritePage(w io.Writer, sources func(path string) ([]string, bool)) error {
	ids := map[string]string{}
	scopes := p.scopes()
	for i, f := range scopes[0].source.Files {
		ids[f.Path] = fmt.Sprintf("f%d", i+1)
	}
	list, files := p.documents(scopes, sources, func(path string) string { return "#" + ids[path] })
	var page markup.Page
	sourcepage.Begin(&page, list.Title)
	list.writeHead(&page)
	page.Write("<main>\n")
	for i := range list.Views {
		v := &list.Views[i]
		page.Printf("<section data-view=\"%s\"%s>\n", v.ID, hidden(i))
		v.writeFiles(&page)
		page.Write("</section>\n")
	}
	writeKey(&page, runCounts)
	for _, d := range files {
		page.Printf("<h2 id=\"%s\">%s</h2>\n", ids[d.File], d.File)
		for i := range d.Views {
			v := &d.Views[i]
			page.Printf("<section data-view=\"%s\"%s>\n", v.ID, hidden(indexOf(list.Views, v.ID)))
			sourcepage.WriteLines(&page, v.ID+ids[d.File], v.Lines)
			page.Write("</section>\n")
		}
	}
	page.Write("</main>\n")
	sourcepage.End(&page)
	_, err := io.WriteString(w, page.String())
	return err
}

// WriteLines writes the lines of all source files, all kernels together, into a page that has the
// style [sourcepage.LinesCSS]. counts says what is counted.
func (p *Profile) WriteLines(w *markup.Page, counts string, sources func(path string) ([]string, bool)) {
	all := p.scopes()[0]
	_, files := p.documents([]scope{all}, sources, func(string) string { return "" })
	writeKey(w, counts)
	for i, d := range files {
		v := &d.Views[0]
		w.Printf("<h3>%s</h3>\n<p>lines %s, branches %s</p>\n", d.File, bar(v.Totals.Lines), bar(v.Totals.Branches))
		sourcepage.WriteLines(w, fmt.Sprintf("f%d", i+1), v.Lines)
	}
	if len(all.source.Unmapped) > 0 {
		w.Printf("<p class=\"mute\">Without line information: %s</p>\n", strings.Join(all.source.Unmapped, ", "))
	}
}

func indexOf(views []view, id string) int {
	return slices.IndexFunc(views, func(v view) bool { return v.ID == id })
}

// scope is the coverage on one kernel or on all.
type scope struct {
	id, name string
	source   *Source
}

func (p *Profile) scopes() []scope {
	scopes := []scope{{"all", "all kernels", p.Source("")}}
	for i, k := range p.Kernels() {
		scopes = append(scopes, scope{fmt.Sprintf("k%d", i+1), k, p.Source(k)})
	}
	if len(scopes) == 2 { // one kernel
		scopes = scopes[1:]
	}
	return scopes
}

// documents returns the list of source files and what is shown of each, in the order of the first
// scope. link leads to a file.
func (p *Profile) documents(scopes []scope, sources func(path string) ([]string, bool), link func(path string) string) (list document, files []*document) {
	if sources == nil {
		sources = sourcepage.Read
	}
	list = document{Title: "Coverage"}
	byFile := map[string]*document{}
	for _, s := range scopes {
		v := view{ID: s.id, Name: s.name, Totals: s.source.Totals, Unmapped: s.source.Unmapped}
		for _, f := range s.source.Files {
			v.Files = append(v.Files, fileLink{f.Path, link(f.Path), f.Totals})
			d := byFile[f.Path]
			if d == nil {
				d = &document{Title: path.Base(f.Path), File: f.Path}
				byFile[f.Path] = d
				files = append(files, d)
			}
			d.Views = append(d.Views, view{ID: s.id, Name: s.name, Totals: f.Totals, Lines: f.html(sources)})
		}
		list.Views = append(list.Views, v)
	}
	return list, files
}

// pageNames derives unique file names from paths.
func pageNames(s *Source) map[string]string {
	out, used := map[string]string{}, map[string]bool{"index.html": true}
	for _, f := range s.Files {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
				return r
			}
			return '_'
		}, strings.TrimLeft(f.Path, "./"))
		for n := 1; used[name+".html"]; n++ {
			name = fmt.Sprintf("%s-%d", strings.TrimSuffix(name, fmt.Sprintf("-%d", n-1)), n)
		}
		name += ".html"
		used[name], out[f.Path] = true, name
	}
	return out
}

// html returns the lines of a file.
func (f *SourceFile) html(sources func(string) ([]string, bool)) []sourcepage.Line {
	texts := map[int]string{}
	for _, n := range f.Numbers() {
		texts[n] = f.texts[n]
	}
	out := sourcepage.Whole(f.Path, texts, sources)
	for i := range out {
		if out[i].State != "gap" {
			out[i] = f.line(out[i].Number, out[i].Text)
		}
	}
	return out
}

func (f *SourceFile) line(n int, text string) sourcepage.Line {
	h := sourcepage.Line{Number: n, Text: text}
	l := f.Lines[n]
	if l == nil {
		return h
	}
	h.State, h.Count = l.State(), fmt.Sprint(l.Count)
	if l.Dead {
		h.Count = "dead"
		h.Notes = []string{"nothing can reach this code on the kernel: CO-RE or constants decide"}
		return h
	}
	ways, gone := 0, 0
	for _, b := range l.Branches {
		for _, c := range [2]int{b.Taken, b.Fell} {
			if c >= 0 {
				ways++
			}
			if c > 0 {
				gone++
			}
		}
	}
	if ways == 0 {
		return h
	}
	h.Notes = append(h.Notes, fmt.Sprintf("%d of %d branches executed", gone, ways))
	const most = 8
	for i, b := range l.Branches {
		if i == most && len(l.Branches) > most+1 {
			h.Notes = append(h.Notes, fmt.Sprintf("%d more jumps", len(l.Branches)-most))
			break
		}
		h.Notes = append(h.Notes, fmt.Sprintf("jump %d: taken %s, not taken %s", i+1, times(b.Taken), times(b.Fell)))
	}
	return h
}

func times(n int) string {
	switch {
	case n < 0:
		return "impossible"
	case n == 0:
		return "never"
	case n == 1:
		return "in 1 run"
	}
	return fmt.Sprintf("in %d runs", n)
}
