package report

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTestAnnotationsNameTheLineOfTheExpectation(t *testing.T) {
	suites := []*Suite{
		{File: "exec.yaml", Target: "6.12", Cases: []TestCase{
			{Name: "passes"},
			{Name: "a, b: c", Failures: []string{"exec.yaml:12:5: ret: want 0, got 1\n100% wrong"}},
			{Name: "no place", Failures: []string{"want 0"}},
		}},
		{File: "gone.o", Target: "5.10", Err: errors.New("gone.o: no such type")},
		{File: "dir/bad.yaml", Target: "5.10", Err: errors.New("dir/bad.yaml:3:1: unknown key")},
	}
	var b bytes.Buffer
	require.NoError(t, WriteTestAnnotations(&b, suites))
	assert.Equal(t, `::error file=exec.yaml,line=12,title=a%2C b%3A c on 6.12::ret: want 0, got 1%0A100%25 wrong
::error file=exec.yaml,title=no place on 6.12::want 0
::error file=gone.o,title=bpfrun test on 5.10::gone.o: no such type
::error file=dir/bad.yaml,line=3,title=bpfrun test on 5.10::unknown key
`, b.String())
}

func TestMatrixAnnotationsGroupKernelsByOutcome(t *testing.T) {
	gone := "BREAK: task_struct.state is missing at exit.bpf.c:28: struct task_struct has no member state"
	doc := &MatrixDocument{Rows: []MatrixRow{{Object: "exit.o", Program: "on_exit", Cells: []MatrixCell{
		{Target: "5.10", Word: "ok"},
		{Target: "6.1", Word: "BREAK", Detail: gone},
		{Target: "6.12", Word: "BREAK", Detail: gone},
		{Target: "7.2", Word: "differs", Detail: "return = 1, not 0"},
	}}}}
	var b bytes.Buffer
	require.NoError(t, WriteMatrixAnnotations(&b, doc))
	assert.Equal(t, `::error file=exit.bpf.c,line=28,title=on_exit%3A BREAK on 6.1%2C 6.12::`+gone+`
::warning file=exit.o,title=on_exit%3A differs on 7.2::return = 1, not 0
`, b.String())

	b.Reset()
	doc.Paths = map[string]map[string]string{"exit.o": {"exit.bpf.c": "src/exit.bpf.c", "exit.o": "out/exit.o"}}
	require.NoError(t, WriteMatrixAnnotations(&b, doc))
	assert.Equal(t, `::error file=src/exit.bpf.c,line=28,title=on_exit%3A BREAK on 6.1%2C 6.12::`+gone+`
::warning file=out/exit.o,title=on_exit%3A differs on 7.2::return = 1, not 0
`, b.String(), "with directories")
}
