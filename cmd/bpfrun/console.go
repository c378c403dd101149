package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/bpfrun/bpfrun/report"
)

// console holds the output streams of a command, its output format and its exit code.
type console struct {
	stdout, stderr io.Writer
	code           int

	json    bool
	color   string
	quiet   bool
	verbose bool

	interrupted atomic.Bool // by SIGINT
	notes       sync.Mutex  // held while a note is written
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
	if !c.quiet {
		c.warn(format, args...)
	}
}

// warn writes a line that -q does not silence. It is safe for concurrent use.
func (c *console) warn(format string, args ...any) {
	c.notes.Lock()
	defer c.notes.Unlock()
	fmt.Fprintf(c.stderr, "bpfrun: "+format+"\n", args...)
}

// fail reports the error that ended the command and returns its exit code.
func (c *console) fail(err error) int {
	code := exitCode(err)
	if c.json {
		_ = report.WriteJSON(c.stdout, report.NewErrorDocument(err, code)) // run reports write errors
	}
	// errors.Join puts every error on its own line.
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(c.stderr, "bpfrun: %s\n", line)
	}
	return code
}
