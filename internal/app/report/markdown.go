package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// WriteTestsMarkdown writes suites as a Markdown table, files by targets, followed by the failures.
// Files that no target was found for, because they cannot be read, have a column of their own.
func WriteTestsMarkdown(w io.Writer, suites []*Suite, covered ...Covered) error {
	var files, targets []string
	at := map[[2]string]*Suite{}
	seen := map[string]bool{}
	for _, s := range suites {
		if !seen["f"+s.File] {
			seen["f"+s.File] = true
			files = append(files, s.File)
		}
		if !seen["t"+s.Target] {
			seen["t"+s.Target] = true
			targets = append(targets, s.Target)
		}
		at[[2]string{s.File, s.Target}] = s
	}
	if i := slices.Index(targets, ""); i >= 0 {
		targets = append(slices.Delete(targets, i, i+1), "")
	}
	var b strings.Builder
	visible.Fprintf(&b, "## bpfrun test: %s\n\n|scenario|", Count(suites))
	for _, t := range targets {
		b.WriteString(cellText(cmp.Or(t, "no kernel")) + "|")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(targets)) + "\n")
	for _, f := range files {
		visible.Fprintf(&b, "|%s|", cellText(f))
		for _, t := range targets {
			text := ""
			if s := at[[2]string{f, t}]; s != nil {
				c := Count([]*Suite{s})
				switch {
				case c.Failed > 0:
					text = fmt.Sprintf("**%d failed**", c.Failed)
				case c.Passed == 0:
					text = "skipped"
				default:
					text = fmt.Sprintf("%d ok", c.Passed)
				}
			}
			b.WriteString(text + "|")
		}
		b.WriteByte('\n')
	}
	if len(covered) > 0 {
		b.WriteString("\n|coverage|part|executed|\n|---|---:|---:|\n")
		for _, c := range covered {
			visible.Fprintf(&b, "|%s|%s|%d of %d|\n", c.What, c.Percent, c.Hit, c.All)
		}
	}
	for _, group := range alike(suites) {
		s := group[0]
		if Count(group).Failed == 0 {
			continue
		}
		visible.Fprintf(&b, "\n### %s%s\n\n", s.File, where(targetsOf(group)))
		if s.Err != nil {
			visible.Fprintf(&b, "    %s\n", visible.Indent(s.Err.Error(), "    "))
		}
		for i := range s.Cases {
			t := &s.Cases[i]
			if len(t.Failures) == 0 {
				continue
			}
			visible.Fprintf(&b, "%s:\n\n", t.Name)
			for _, f := range t.Failures {
				visible.Fprintf(&b, "    %s\n", visible.Indent(f, "    "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
