package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestDamagedTracesAreToldInTheSameWords removes and changes bytes of traces, one after the other,
// and compares the events that they become, or the error.
func TestDamagedTracesAreToldInTheSameWords(t *testing.T) {
	var all rewrite.Outcomes
	for _, format := range []string{"strace", "perf", "ftrace", "bpftrace"} {
		text, err := os.ReadFile(inputs(format))
		require.NoError(t, err)
		for i := range text {
			for _, with := range []string{"", "9", " ", ":", "\n"} {
				if (i+len(with)+int(text[i]))%7 != 0 {
					continue
				}
				var out bytes.Buffer
				r := NewRecorder(&out, Options{})
				got, err := Read(strings.NewReader(string(text[:i])+with+string(text[i+1:])), "", r)
				said := got + " read"
				if err != nil {
					said = err.Error()
				}
				sum, err := r.Close()
				all.Add(fmt.Sprintf("%s %d %q", format, i, with), fmt.Sprintf("%s\t%s%+v%v", said, out.String(), sum, err))
			}
		}
	}
	all.Compare(t, filepath.Join("testdata", "damage.txt"))
}
