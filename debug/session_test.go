package debug

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// open makes a session for an object of the repository on the embedded kernel.
func open(t testing.TB, path string) *Session {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join("..", path))
	require.NoError(t, err)
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget("linux-6.12.107-amd64", spec), loader.LoadOptions{})
	require.NoError(t, err)
	s, err := New(linked, Config{ELF: data, SourceDirs: []string{".."}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// started opens an object and starts a program.
func started(t testing.TB, path, prog string) *Session {
	t.Helper()
	s := open(t, path)
	st, err := s.Start(prog)
	require.NoError(t, err)
	require.Equal(t, Started, st.Reason)
	return s
}

// print evaluates an expression and writes it.
func print(t testing.TB, s *Session, expr string) string {
	t.Helper()
	v, err := s.Eval(expr)
	require.NoError(t, err, expr)
	return s.Format(v, FormatOptions{})
}

var bg = context.Background()

func TestExec(t *testing.T) {
	s := started(t, "examples/exec/exec.bpf.o", "on_exec")
	for _, e := range []string{"ctx", "ctx->pid", "*ctx", "current", "current->comm", "current->real_parent->comm", "current->real_parent->tgid", "current->cred->uid.val", "events", "execs_by_uid", "$r1", "*current", "sizeof(struct event)", "(u32)current->pid + 1", "current->comm[0]", "current->comm == \"x\"", "&current->pid"} {
		v, err := s.Eval(e)
		if err != nil {
			t.Log(e, "ERR", err)
			continue
		}
		t.Log(e, "=", s.Format(v, FormatOptions{}))
	}
	b, err := s.Break("exec.bpf.c:60", false)
	require.NoError(t, err)
	t.Log(b)
	st, err := s.Continue(bg)
	require.NoError(t, err)
	t.Log(st.Reason, st.Place, st.Pos)
	for range 3 {
		st, err = s.Next(bg)
		require.NoError(t, err)
		t.Log(st.Reason, st.Place, st.Pos)
	}
	s.Reverse = true
	for range 8 {
		st, err = s.Next(bg)
		require.NoError(t, err)
		t.Log(st.Reason, st.Place, st.Pos)
	}
	s.Reverse = false
	st, err = s.Continue(bg)
	st, err = s.Continue(bg)
	require.NoError(t, err)
	t.Log(st.Reason, st.Place, st.Pos, st.Result.Ret, len(st.Result.Events))
	t.Log(s.RecordText(st.Result.Events[0].Data))
	assert.True(t, true)
}
