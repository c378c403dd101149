package debug

import (
	"bytes"
	"context"
	"encoding/binary"
	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/loader"
)

// open makes a session for an object of the repository on the embedded kernel.
func open(t testing.TB, path string) *Session {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", path))
	require.NoError(t, err)
	return openBytes(t, path, data)
}

// openBytes is open with the object's contents.
func openBytes(t testing.TB, path string, data []byte) *Session {
	t.Helper()
	spec, err := embedded.Spec()
	require.NoError(t, err)
	return openOn(t, loader.NewTarget("linux-6.12.107-amd64", spec), path, data)
}

// openOn is openBytes on another kernel.
func openOn(t testing.TB, target *loader.Target, path string, data []byte) *Session {
	t.Helper()
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	require.NoError(t, err)
	linked, err := obj.Load(target, loader.LoadOptions{})
	require.NoError(t, err)
	s, err := New(linked, Config{ELF: data, SourceDirs: []string{"../..", ".."}})
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

// startedWithoutDWARF is started for the object as it is without its DWARF.
func startedWithoutDWARF(t testing.TB, path, prog string) *Session {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", path))
	require.NoError(t, err)
	require.Contains(t, string(data), ".debug_info")
	s := openBytes(t, path, bytes.ReplaceAll(data, []byte(".debug_"), []byte("-debug_")))
	_, err = s.Start(prog)
	require.NoError(t, err)
	return s
}

// print evaluates an expression and writes it.
func print(t testing.TB, s *Session, text string) string {
	t.Helper()
	v, err := s.Eval(text)
	require.NoError(t, err, text)
	return s.Format(v, expr.FormatOptions{})
}

var bg = context.Background()

var testOrder = binary.LittleEndian

func itoa(n int) string { return strconv.Itoa(n) }
