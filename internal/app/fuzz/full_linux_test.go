package fuzz_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/app/fuzz"
)

// TestAFullDiskLosesNothing: a search whose files cannot be written any more says so, and the files
// of the search before stay whole. The limit of file sizes is that of a process of its own.
func TestAFullDiskLosesNothing(t *testing.T) {
	if dir := os.Getenv("BPFRUN_TEST_FULL"); dir != "" {
		object := filepath.Join(dir, "gates.o")
		f := prepare(t, object, fuzz.Options{Runs: 9_000, Seed: 9, Keep: dir + "/found", Corpus: dir + "/corpus"})
		defer f.Close()
		signal.Ignore(syscall.SIGXFSZ)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 60, Max: 60}))
		r, err := f.Run(context.Background())
		require.ErrorIs(t, err, syscall.EFBIG)
		assert.NotNil(t, r)
		return
	}
	object := inDir(t, gates)
	dir := filepath.Dir(object)
	search(t, object, fuzz.Options{Runs: 9_000, Seed: 2, Keep: dir + "/found", Corpus: dir + "/corpus"})
	before := tree(t, dir+"/")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestAFullDiskLosesNothing$")
	cmd.Env = append(os.Environ(), "BPFRUN_TEST_FULL="+dir)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this processor is emulated by a user program, which starts no programs for it")
	}
	require.NoError(t, err, "%s", out)
	after := tree(t, dir+"/")
	for name, data := range before {
		assert.Equal(t, data, after[name], name)
	}
	for name := range after {
		assert.NotContains(t, name, ".fuzz-", "no half of a file is left")
	}
}
