package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// DoctorDocument is the JSON of `doctor`.
type DoctorDocument struct {
	Schema string        `json:"schema"`
	Exit   int           `json:"exit"`
	Checks []DoctorCheck `json:"checks"`
}

// DoctorCheck is something that was looked at.
type DoctorCheck struct {
	What string `json:"what"`
	// Result is ok, note (not here, and not needed) or problem.
	Result string `json:"result"`
	Text   string `json:"text"`
}

// Results of checks.
const (
	DoctorOK   = "ok"
	DoctorNote = "note"
	DoctorBad  = "problem"
)

// Add adds a check.
func (d *DoctorDocument) Add(what, result, format string, args ...any) {
	d.Checks = append(d.Checks, DoctorCheck{what, result, fmt.Sprintf(format, args...)})
}

// Problems counts what does not work.
func (d *DoctorDocument) Problems() int {
	n := 0
	for _, c := range d.Checks {
		if c.Result == DoctorBad {
			n++
		}
	}
	return n
}

// WriteDoctor writes the checks as a table.
func WriteDoctor(w io.Writer, d *DoctorDocument, opt TableOptions) error {
	s := style{opt.Color}
	var b strings.Builder
	rows := [][]cell{}
	for _, c := range d.Checks {
		paint := map[string]func(string) string{DoctorOK: s.green, DoctorNote: s.yellow, DoctorBad: s.red}[c.Result]
		if opt.Quiet && c.Result != DoctorBad {
			continue
		}
		rows = append(rows, []cell{{text: c.Result, paint: paint}, {text: c.What}, {text: c.Text}})
	}
	writeAligned(&b, rows)
	visible.Fprintf(&b, "%s, %s\n", plural(len(d.Checks), "check"), plural(d.Problems(), "problem"))
	_, err := io.WriteString(w, b.String())
	return err
}
