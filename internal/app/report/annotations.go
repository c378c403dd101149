package report

import (
	"cmp"
	"fmt"
	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/visible"
	"io"
	"strings"
)

// annotation is one workflow command of GitHub Actions: a message attached to a line of a pull
// request.
type annotation struct {
	level      string // error or warning
	file, line string // "" if unknown
	title      string
	text       string
}

// String returns the command as `::error file=F,line=N,title=T::TEXT`, on one line whatever the
// text contains.
func (a annotation) String() string {
	var b strings.Builder
	b.WriteString("::" + a.level + " ")
	if a.file != "" {
		b.WriteString("file=" + property(a.file) + ",")
		if a.line != "" {
			b.WriteString("line=" + property(a.line) + ",")
		}
	}
	b.WriteString("title=" + property(a.title) + "::" + data(a.text))
	return b.String()
}

// data and property escape a string as GitHub's runner decodes it: a message keeps its colons and
// commas, a property does not.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

var (
	failurePlace = lazyre.New(`^([^\s:]+):(\d+)(?::\d+)?: `)
	detailPlace  = lazyre.New(` at ([^\s:]+):(\d+)`)
)

// WriteTestAnnotations writes an error for each failed expectation and for each suite that could
// not run; what failed in the same way on several targets is one. Each line is a workflow command
// of GitHub Actions; a runner that reads it from standard output shows it next to the source line.
func WriteTestAnnotations(w io.Writer, suites []*Suite) error {
	for _, group := range alike(suites) {
		s, on := group[0], where(targetsOf(group))
		if s.Err != nil {
			a := annotation{level: "error", file: s.File, title: "bpfrun test" + on, text: s.Err.Error()}
			if m := failurePlace.FindStringSubmatch(a.text); m != nil {
				a.file, a.line, a.text = m[1], m[2], a.text[len(m[0]):]
			}
			if _, err := visible.Fprintln(w, a); err != nil {
				return err
			}
		}
		for i := range s.Cases {
			t := &s.Cases[i]
			for _, failure := range t.Failures {
				a := annotation{level: "error", file: s.File, title: t.Name + on, text: failure}
				if m := failurePlace.FindStringSubmatch(failure); m != nil {
					a.file, a.line, a.text = m[1], m[2], failure[len(m[0]):]
				}
				if _, err := visible.Fprintln(w, a); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// matrixLevels maps the words of matrix.Cell.Word that deserve an annotation to its level.
var matrixLevels = map[string]string{
	"BREAK": "error", "error": "error", "refused": "error", "fault": "error", "not-simulated": "warning", "differs": "warning", "may-break": "warning",
	"absent": "warning", "? hook": "warning",
}

// WriteMatrixAnnotations writes one annotation for each program and outcome, with the kernels that
// share it: an error for a program that a kernel would refuse or that faults, a warning for
// differences and for doubts.
func WriteMatrixAnnotations(w io.Writer, doc *MatrixDocument) error {
	for _, r := range doc.Rows {
		type outcome struct{ word, detail string }
		kernels := map[outcome][]string{}
		var order []outcome
		for _, c := range r.Cells {
			if matrixLevels[c.Word] == "" {
				continue
			}
			o := outcome{c.Word, c.Detail}
			if kernels[o] == nil {
				order = append(order, o)
			}
			kernels[o] = append(kernels[o], c.Target)
		}
		for _, o := range order {
			file := func(name string) string { return cmp.Or(doc.Paths[r.Object][name], name) }
			a := annotation{level: matrixLevels[o.word], file: file(r.Object), title: fmt.Sprintf("%s: %s on %s", r.Program, o.word, strings.Join(kernels[o], ", ")), text: o.detail}
			if m := detailPlace.FindStringSubmatch(o.detail); m != nil {
				a.file, a.line = file(m[1]), m[2]
			}
			if a.text == "" {
				a.text = o.word
			}
			if _, err := visible.Fprintln(w, a); err != nil {
				return err
			}
		}
	}
	return nil
}
