package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/scenario"
)

// TestFindingsOfExamplesHappenAgain: what a search finds in the examples that docs/find.md shows
// happens again on the interpreter, on native code, and in the debugger, where the run executes
// what it does under test.
func TestFindingsOfExamplesHappenAgain(t *testing.T) {
	for example, kinds := range map[string][]string{"portmap": {"packet"}, "connlog": {"leak"}, "latency": {"full"}} {
		object := filepath.Join("../../examples", example, example+".bpf.o")
		var out, errs bytes.Buffer
		code := run([]string{"fuzz", object, "--btf", "embedded", "-j", "1", "--runs", "20000", "--keep", t.TempDir(), "--json"}, &out, &errs)
		require.Equal(t, exitExpectation, code, "%s%s", out.String(), errs.String())
		var doc struct {
			Findings []struct{ Kind, Program, Message, Scenario string }
		}
		require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
		var found []string
		for _, f := range doc.Findings {
			found = append(found, f.Kind)
			file, err := scenario.ParseFile(f.Scenario)
			require.NoError(t, err)
			last := file.Runs[len(file.Runs)-1].Name
			insns := 0
			for _, engine := range []string{"interp", "jit"} {
				out.Reset()
				require.Equal(t, exitExpectation, run([]string{"test", f.Scenario, "--btf", "embedded", "--engine", engine, "--json"}, &out, &errs), "%s on %s", f.Scenario, engine)
				insns = insnsOf(t, out.Bytes(), last)
			}
			out.Reset()
			require.Zero(t, run([]string{"debug", object, "-s", f.Scenario, "-p", last, "--btf", "embedded", "-e", "continue", "-e", "quit"}, &out, &errs), errs.String())
			assert.Regexp(t, fmt.Sprintf(`%s returned .* after %d instructions`, f.Program, insns), out.String())
		}
		assert.Equal(t, kinds, found, example)
	}
}

// insnsOf is the number of instructions that a run of a document of bpfrun test executed.
func insnsOf(t *testing.T, data []byte, name string) int {
	var doc struct {
		Programs []struct {
			Runs []struct {
				Name  string
				Insns int
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &doc))
	for _, p := range doc.Programs {
		for _, r := range p.Runs {
			if r.Name == name {
				return r.Insns
			}
		}
	}
	t.Fatalf("no run %s in %s", name, data)
	return 0
}
