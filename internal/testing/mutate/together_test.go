package mutate

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTogether builds a program with all its faults and runs it with each.
func TestTogether(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; a process that qemu-user emulates may hang when it starts another")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("needs the go command:", err)
	}
	root, work := t.TempDir(), t.TempDir()
	src := `package main

import "fmt"

type list[T any] struct{ all []T }

func (l *list[T]) add(_ string, more ...T) (n int, err error) {
	l.all = append(l.all, more...)
	return len(l.all), nil
}

func (*list[T]) name(int, bool) string { return "list" }

func atomic() string { return "named as a package" }

func quiet(n int) {
	if n > 1 { fmt.Println("large") }
}

var limit = 3

func main() {
	l := &list[int]{}
	n, err := l.add("", 1, 2)
	fmt.Println(n, err, l.name(1, true), limit)
	quiet(n)
}
`
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example\n\ngo 1.22\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "main.go"), []byte(src), 0o644))
	faults := []Fault{
		{Name: "length", File: "main.go", Old: "return len(l.all), nil", New: "return len(l.all)+1, nil"},
		{Name: "forgets", File: "main.go", Old: "l.all = append(l.all, more...)", New: "l.all = more[:0]"},
		{Name: "name", File: "main.go", Old: `return "list"`, New: `return "tsil"`},
		{Name: "limit", File: "main.go", Old: "limit = 3", New: "limit = 4"},
		{Name: "border", File: "main.go", Old: "n > 1", New: "n > 2"},
	}
	overlay, left, err := Together(root, work, faults)
	require.NoError(t, err)
	assert.Equal(t, []int{3}, left, "a variable is not in a function")

	bin := filepath.Join(work, "example")
	cmd := exec.Command("go", "build", "-o", bin, "-overlay", overlay, ".")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	for on, want := range map[string]string{
		"":  "2 <nil> list 3 large",
		"1": "3 <nil> list 3 large",
		"2": "0 <nil> list 3",
		"3": "2 <nil> tsil 3 large",
		"5": "2 <nil> list 3",
	} {
		reached := t.TempDir()
		cmd := exec.Command(bin)
		cmd.Env = append(os.Environ(), EnvFault+"="+on, EnvReached+"="+reached)
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("this processor is emulated by a user program, which starts no programs for it")
		}
		require.NoError(t, err, string(out))
		assert.Equal(t, want, strings.Join(strings.Fields(string(out)), " "), on)
		files, err := os.ReadDir(reached)
		require.NoError(t, err)
		if on == "" {
			assert.Len(t, files, 4)
		}
	}
}
