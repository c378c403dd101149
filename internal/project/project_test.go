package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kernels", "a.btf"), "")
	write(t, filepath.Join(dir, "out", "a.o"), "")
	write(t, filepath.Join(dir, "out", "b.o"), "")
	f, err := Read(write(t, filepath.Join(dir, Name), "kernels: [6.12, kernels/*.btf]\nobjects: out/*.o\nwatch: [src/*.c]\nbuild: make -s\nflags: {seed: 7, ignore: [leak, packet]}\nthresholds: {coverage: 80%}\n"), Names{Flags: []string{"seed", "ignore"}, Thresholds: []string{"coverage"}})
	require.NoError(t, err)
	assert.Equal(t, "6.12", f.Kernels[0].Text, "a name of a release")
	assert.Equal(t, filepath.Join(dir, "kernels", "*.btf"), f.Kernels[1].Text)
	objects, err := Match(f.Objects, true)
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "out", "a.o"), filepath.Join(dir, "out", "b.o")}, objects)
	assert.Equal(t, "make -s", f.Build)
	assert.Equal(t, "ignore", f.Flags[1].Text)
	assert.Len(t, f.Flags[1].Values, 2)
	assert.Equal(t, "80%", f.Thresholds[0].Values[0].Text)
	_, err = Match(f.Watch, true)
	assert.ErrorContains(t, err, Name+":3:9: no file matches")
}

// TestPatternsMatchAsTheLibrarysDo, up to the limit of what is looked at.
func TestPatternsMatchAsTheLibrarysDo(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"a/x.o", "a/y.o", "b/x.o", "b/c/z.o", "b/[1].o", "x.o"} {
		write(t, filepath.Join(dir, path), "")
	}
	for _, pattern := range []string{"*.o", "*/*.o", "?/x.o", "*/*/*.o", "[ab]/*", "a/x.o", "none/*.o", "none", "*/x.o/*", `b/\\[1\\].o`, "*", "."} {
		pattern = filepath.Join(dir, pattern)
		want, err := filepath.Glob(pattern)
		require.NoError(t, err)
		got, err := glob(pattern)
		require.NoError(t, err)
		assert.Equal(t, want, got, pattern)
	}
	many := filepath.Join(dir, "many")
	require.NoError(t, os.Mkdir(many, 0o755))
	for i := range 20 {
		require.NoError(t, os.Symlink(many, filepath.Join(many, strings.Repeat("l", i+1))))
	}
	_, err := Match([]Value{{Text: filepath.Join(many, "*/*/*/*/*/*/*/*/*")}}, false)
	assert.ErrorContains(t, err, "about more than 100000 files")
	_, err = Read(write(t, filepath.Join(dir, Name), "kernels: [many/*/*/*/*/*/*/*/*/*]\n"), Names{})
	assert.ErrorContains(t, err, Name+":1:11: the pattern is about more than")
}

func TestMistakesHaveAPlaceAndTheNearestName(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kernel: 6.1", `:1:1: unknown key "kernel" (nearest: kernels)`},
		{"zzz: 1", "available: kernels, objects"},
		{"flags:\n  sed: 1", `:2:3: unknown flag "sed" (nearest: seed)`},
		{"flags: {output: x}", `:1:9: the flag "output" cannot be set in this file (available: seed)`},
		{"flags: {seeds: x}", `:1:9: the flag "seeds" cannot be set in this file (available: seed)`},
		{"flags: {what: x}", `:1:9: unknown flag "what" (available: seed)`},
		{"thresholds: {coverag: 1}", `unknown threshold "coverag" (nearest: coverage)`},
		{"flags: [seed]", "want a mapping of flags: seed"},
		{"kernels: {a: b}", ":1:10: want a text or a list"},
		{"kernels: [[a]]", "want a text"},
		{"build: []", "want a command line"},
		{"objects: '[a'", "is no pattern of files"},
		{"- a", "want keys"},
		{"a: [", ":1:"},
		{strings.Repeat("#", maxFile+1), "is larger than"},
	} {
		_, err := Read(write(t, filepath.Join(t.TempDir(), Name), c.text), Names{[]string{"seed"}, []string{"coverage"}, []string{"output", "seeds"}})
		assert.ErrorContains(t, err, c.want, "%s", c.text[:min(len(c.text), 40)])
	}
	for _, empty := range []string{"", "# nothing\n", "\n\n"} {
		_, err := Read(write(t, filepath.Join(t.TempDir(), Name), empty), Names{})
		assert.NoError(t, err)
	}
}

func TestFileIsFoundAboveUpToTheRepository(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, Name), "")
	inner := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	assert.Equal(t, path, Find(inner))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "a", ".git"), 0o755))
	assert.Empty(t, Find(inner), "a repository in it has its own file")
	assert.Equal(t, path, Find(dir))
}
