package mutate

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const bordered = `package main

import (
	"fmt"

	"example/uapi"
)

type release int

const (
	v6_0 release = iota
	v6_1
	v6_2
)

const limit = 3 < 4

var rows = []release{v6_1}

func check(n int, strict bool) error {
	if n > 3 && strict {
		return uapi.EINVAL
	}
	for i := 0; i < n; i++ {
		if i%2 == 0 || strict {
			fmt.Print("even ")
		}
	}
	return nil
}

func largest(all ...int) (most int, e uapi.Errno) {
	for _, n := range all {
		if n > most {
			most = n
		}
	}
	if e := least(most); e != 0 {
		return 0, e
	}
	if most > 1000 && !limit {
		panic("limit")
	}
	return most, 0
}

func least(n int) (e uapi.Errno) { return e }

func main() {
	fmt.Println(check(3, true), check(4, true), rows[0] == v6_1, limit)
}
`

func TestBordersOfAFile(t *testing.T) {
	found, err := Borders("main.go", bordered)
	require.NoError(t, err)
	var lines []string
	for i := range found {
		lines = append(lines, strconv.Itoa(found[i].Line)+" "+string(found[i].Class)+" "+found[i].Old+" -> "+found[i].New)
	}
	assert.ElementsMatch(t, []string{
		"19 release v6_1 -> v6_0",
		"19 release v6_1 -> v6_2",
		"22 condition n > 3 && strict -> false",
		"22 comparison n > 3 -> n >= 3",
		"22 operand n > 3 -> (dropped)",
		"22 operand strict -> (dropped)",
		"23 errno uapi.EINVAL -> uapi.EPERM",
		"26 condition i%2 == 0 || strict -> false",
		"26 operand i%2 == 0 -> (dropped)",
		"26 operand strict -> (dropped)",
		"35 condition n > most -> false",
	}, lines, "constants, conditions of loops, errors passed on and those of panics have none")
}

// TestInline builds a program once and runs it with each of its mutants.
func TestInline(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; a process that qemu-user emulates may hang when it starts another")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command:", err)
	}
	root, work := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example\n\ngo 1.22\n",
		"main.go":      bordered,
		"uapi/uapi.go": "package uapi\n\ntype Errno int\n\nfunc (e Errno) Error() string { return map[Errno]string{1: \"EPERM\", 22: \"EINVAL\"}[e] }\n\nconst (\n\tEPERM Errno = 1\n\tEINVAL Errno = 22\n)\n",
	} {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	all, err := Borders("main.go", bordered)
	require.NoError(t, err)
	want := map[string]string{
		"condition n > 3 && strict":    "even even even even even even even <nil> <nil> true true",
		"comparison n > 3":             "EINVAL EINVAL true true",
		"operand n > 3":                "EINVAL EINVAL true true",
		"errno uapi.EINVAL":            "even even even <nil> EPERM true true",
		"condition i%2 == 0 || strict": "<nil> EINVAL true true",
		"release v6_1":                 "even even even <nil> EINVAL false true",
	}
	const right = "even even even <nil> EINVAL true true"
	tried := map[string]bool{}
	for seed := uint64(0); seed < 50 && len(tried) < len(want); seed++ { // mutants that overlap are in different samples
		chosen := Sample(all, len(all), seed)
		assert.Equal(t, chosen, Sample(all, len(all), seed), "a seed repeats")
		overlay, err := Inline(root, work, chosen, nil)
		require.NoError(t, err)
		bin := filepath.Join(work, "example.bin")
		cmd := exec.Command("go", "build", "-o", bin, "-overlay", overlay, ".")
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		for n := range len(chosen) + 1 {
			cmd := exec.Command(bin)
			cmd.Env = append(os.Environ(), EnvFault+"="+strconv.Itoa(n))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			got := strings.Join(strings.Fields(string(out)), " ")
			if n == 0 {
				assert.Equal(t, right, got)
				continue
			}
			name := string(chosen[n-1].Class) + " " + chosen[n-1].Old
			if w, ok := want[name]; ok {
				tried[name] = true
				assert.Equal(t, w, got, name)
			}
		}
	}
	assert.Len(t, tried, len(want))
}
