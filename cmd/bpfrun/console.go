package main

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/internal/app/report"
	"github.com/bpfrun/bpfrun/internal/visible"
)

// console holds the output streams of a command, its output format and its exit code.
type console struct {
	stdout, stderr io.Writer
	code           int

	json    bool
	color   string
	quiet   bool
	verbose bool

	interrupted atomic.Bool  // by SIGINT
	notes       sync.Mutex   // held while a note is written
	said        atomic.Int64 // notes, those silenced by -q included
}

func (c *console) add(fs *pflag.FlagSet) {
	fs.BoolVar(&c.json, "json", false, "print one JSON document on standard output")
	fs.StringVar(&c.color, "color", "auto", "use colours `WHEN`: auto, always or never")
	fs.BoolVarP(&c.quiet, "quiet", "q", false, "print only problems and the summary")
	fs.BoolVarP(&c.verbose, "verbose", "v", false, "also print kernel accesses, coverage and dead relocations")
}

// table returns the table options.
func (c *console) table() (report.TableOptions, error) {
	color, err := useColor(c.color, c.stdout)
	return report.TableOptions{Color: color, Verbose: c.verbose, Quiet: c.quiet}, err
}

func (c *console) note(format string, args ...any) {
	if c.quiet {
		c.said.Add(1)
		return
	}
	c.warn(format, args...)
}

// noteText is note for a text that is complete.
func (c *console) noteText(text string) { c.note("%s", text) }

// warn writes a line that -q does not silence. It is safe for concurrent use.
func (c *console) warn(format string, args ...any) {
	c.notes.Lock()
	defer c.notes.Unlock()
	c.said.Add(1)
	visible.Fprintf(c.stderr, "bpfrun: "+format+"\n", args...)
}

// fail reports the error that ended the command and returns its exit code.
func (c *console) fail(err error) int {
	code := exitCode(err)
	if c.json {
		_ = report.WriteJSON(c.stdout, report.NewErrorDocument(err, code)) // run reports write errors
	}
	for _, line := range errorLines(err) {
		visible.Fprintf(c.stderr, "bpfrun: %s\n", line)
	}
	return code
}

// errorLines returns the text of an error by lines: of each error that errors.Join joined. All
// other line breaks are from names, and stay in the line.
func errorLines(err error) []string {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		var lines []string
		for _, err := range e.Unwrap() {
			lines = append(lines, errorLines(err)...)
		}
		if strings.Join(lines, "\n") == err.Error() {
			return lines
		}
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		if inner == nil {
			break
		}
		if before, ok := strings.CutSuffix(err.Error(), inner.Error()); ok {
			lines := errorLines(inner)
			lines[0] = before + lines[0]
			return lines
		}
	}
	return []string{err.Error()}
}
