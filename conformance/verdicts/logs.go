package verdicts

import (
	"context"
	"strings"

	"github.com/bpfrun/bpfrun/internal/lazyre"
	"github.com/bpfrun/bpfrun/internal/verifier"
)

// LogLines is the result of comparing one of our logs with the kernel's, line by line.
type LogLines struct {
	// Kernel and Ours count lines; Equal is the length of their longest common subsequence.
	Kernel, Ours, Equal int
	// First and Instead are the first pair of lines that differ, the kernel's and ours.
	First, Instead string
}

// Same reports whether the logs are equal.
func (c *LogLines) Same() bool { return c.Kernel == c.Equal && c.Ours == c.Equal }

var (
	// Addresses of maps, their values and kernel variables.
	address = lazyre.New(`( r\d+ =) 0x(?:0|[0-9a-f]{9,})(?: *$| +;|(\t))`)
	// Source lines, and lines that do not describe instructions or states; recordings do not
	// contain them.
	noLog = lazyre.New(`^(; |verification time)`)
)

func logLines(log string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(log, "\n"), "\n") {
		if !noLog.MatchString(line) {
			out = append(out, address.ReplaceAllString(line, "$1 ADDRESS ;$2"))
		}
	}
	return out
}

// CompareLogs compares the lines of two logs, ignoring addresses, which differ between loads.
func CompareLogs(kernel, ours string) *LogLines {
	a, b := logLines(kernel), logLines(ours)
	c := &LogLines{Kernel: len(a), Ours: len(b)}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b, c.Equal = a[1:], b[1:], c.Equal+1
	}
	if len(a) > 0 {
		c.First = a[0]
	}
	if len(b) > 0 {
		c.Instead = b[0]
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range a {
		for j := range b {
			switch {
			case a[i] == b[j]:
				row[j+1] = before[j] + 1
			default:
				row[j+1] = max(row[j], before[j+1])
			}
		}
		before, row = row, before
	}
	c.Equal += before[len(b)]
	return c
}

// CompareLogs verifies the program of a line and compares the logs that were recorded: of level 2,
// and of level 1.
func (r *Replayer) CompareLogs(ctx context.Context, l *Line) ([]*LogLines, error) {
	var out []*LogLines
	for i, kernel := range []string{l.Path, l.Log} {
		if kernel == "" {
			continue
		}
		ours, err := r.Log(ctx, l, i+1, strings.Contains(kernel, "\nstack depth ") || strings.HasPrefix(kernel, "verification time "))
		if err != nil {
			return nil, err
		}
		out = append(out, CompareLogs(kernel, ours))
	}
	return out, nil
}

// Log verifies the program of a line and returns the log of a level.
func (r *Replayer) Log(ctx context.Context, l *Line, level int, stats bool) (string, error) {
	k, p, err := r.Program(l)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	_, err = verifier.Verify(ctx, k, p, verifier.Options{Log: &out, LogLevel: level, Stats: stats, Emptied: out.Reset})
	return out.String(), err
}
