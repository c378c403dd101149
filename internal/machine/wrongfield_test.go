package machine_test

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
)

const (
	newest = "../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	oldest = "../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz"
)

// wrongFields runs the programs of an object and returns their findings about fields, and how many
// reads were proved.
func wrongFields(t *testing.T, m *machine.Machine, settle time.Duration) (found []machine.Finding, proved int) {
	t.Helper()
	for _, p := range m.Linked().Programs {
		res, err := m.Run(context.Background(), p.Name, machine.Input{Settle: settle})
		require.NoError(t, err)
		require.Equal(t, machine.StatusOK, res.Status, p.Name)
		v := m.Validate(res)
		proved += v.Proved
		for _, f := range v.Findings {
			if f.Kind == machine.Baked || f.Kind == machine.Differs {
				found = append(found, f)
			}
		}
	}
	return found, proved
}

// TestCorrectFieldsAreProved: in correct programs, whatever way they reach a field, all reads are
// proved: by the relocation that was added to the address, in the program that ran.
func TestCorrectFieldsAreProved(t *testing.T) {
	for _, tt := range []struct {
		object  string
		kernels []string
		proved  int
	}{
		{"fields", []string{embedded.Name, oldest, newest}, 60},
		{"tails", []string{embedded.Name, oldest, newest}, 50},
		{"calledback", []string{embedded.Name, newest}, 25},
	} {
		for _, kernel := range tt.kernels {
			t.Run(tt.object+" on "+kernel, func(t *testing.T) {
				m := compose(t, load(t, "../../testdata/objects/clang-14/"+tt.object+".o", target(t, kernel)), machine.Config{})
				found, proved := wrongFields(t, m, time.Millisecond)
				assert.Empty(t, found)
				assert.Greater(t, proved, tt.proved)
			})
		}
	}
}

// TestWrongFieldsAreFound: the mistakes that resemble those programs are found at their lines, in
// the program that made them, and nothing else is.
func TestWrongFieldsAreFound(t *testing.T) {
	want := map[int]string{} // the programs of lines
	text, err := os.ReadFile("../../testdata/src/wrongfields.bpf.c")
	require.NoError(t, err)
	program, defined := "", regexp.MustCompile(`^(?:int|long|static.*?) (?:BPF_PROG\()?(\w+)[(,]`)
	for i, line := range strings.Split(string(text), "\n") {
		if m := defined.FindStringSubmatch(line); m != nil {
			program = m[1]
		}
		if strings.HasSuffix(line, "/* wrong */") {
			want[i+1] = program
		}
	}
	require.Len(t, want, 17)
	owners := map[string]string{"number_at": "functions", "each": "callbacks"} // of functions that are no programs
	for _, kernel := range []string{embedded.Name, newest} {
		t.Run(kernel, func(t *testing.T) {
			m := compose(t, load(t, "../../testdata/objects/clang-14/wrongfields.o", target(t, kernel)), machine.Config{})
			found, _ := wrongFields(t, m, 0)
			got := map[int]string{}
			for _, f := range found {
				line, err := strconv.Atoi(strings.Split(f.Source, ":")[1])
				require.NoError(t, err, f.Source)
				got[line] = f.Program
			}
			for line, program := range want {
				if owner := owners[program]; owner != "" {
					program = owner
				}
				assert.Equal(t, program, got[line], "line %d", line)
				delete(got, line)
			}
			assert.Empty(t, got, "lines that are right")
		})
	}
}

// TestFindingsBelongToTheProgramThatRan: what a program does after a tail call has the place that
// it has in a run of its own.
func TestFindingsBelongToTheProgramThatRan(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/wrongfields.o", target(t, embedded.Name)), machine.Config{})
	alone := m.Validate(run(t, m, "tail")).Findings
	require.Len(t, alone, 1)
	chained := m.Validate(run(t, m, "head"))
	assert.Equal(t, alone, chained.Findings)
	assert.Equal(t, [2]int{2, 1}, [2]int{chained.Reads, chained.Proved})
	assert.Equal(t, "tail", alone[0].Program)
}

// TestCallbacksBelongToTheirProgram: a timer that one program started expires in the run of
// another; its reads are judged by the relocations of the first.
func TestCallbacksBelongToTheirProgram(t *testing.T) {
	m := compose(t, load(t, "../../testdata/objects/clang-14/calledback.o", target(t, embedded.Name)), machine.Config{})
	run(t, m, "arm")
	res, err := m.Run(context.Background(), "rearm", machine.Input{Settle: time.Millisecond})
	require.NoError(t, err)
	readers := map[string]int{}
	for _, a := range res.Reads {
		readers[a.Program]++
	}
	assert.Equal(t, map[string]int{"arm": 3, "rearm": 5}, readers)
	v := m.Validate(res)
	assert.Empty(t, v.Findings)
	assert.Equal(t, v.Reads, v.Proved)
}
