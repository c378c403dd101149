package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // SHA-256 of "abc"

func TestFormulaAndProvenanceNameTheArchives(t *testing.T) {
	dir := t.TempDir()
	r := release{version: "1.2.3", repository: "https://example.com/r", commit: "c0ffee", built: time.Unix(0, 0).UTC()}
	assert.ErrorContains(t, r.write(dir), "no archive for macOS or Linux")
	for _, name := range []string{r.archive("linux", "amd64"), r.archive("darwin", "arm64"), "bpfrun_1.2.3_windows_amd64.zip"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("abc"), 0o644))
	}
	for range 2 { // again, over the files of the first time
		require.NoError(t, r.write(dir))
		formula, err := os.ReadFile(filepath.Join(dir, formulaFile))
		require.NoError(t, err)
		assert.Contains(t, string(formula), "on_linux do\n    on_intel do\n      url \"https://example.com/r/releases/download/v1.2.3/bpfrun_1.2.3_linux_amd64.tar.gz\"\n      sha256 \""+abc+"\"")
		assert.Contains(t, string(formula), "on_macos do\n    on_arm do\n")
		assert.NotContains(t, string(formula), "windows")
		data, err := os.ReadFile(filepath.Join(dir, provenanceFile))
		require.NoError(t, err)
		var doc struct {
			Type      string `json:"_type"`
			Subject   []subject
			Predicate struct {
				BuildDefinition struct {
					ResolvedDependencies []struct{ Digest map[string]string }
				}
			}
		}
		require.NoError(t, json.Unmarshal(data, &doc))
		assert.Equal(t, "https://in-toto.io/Statement/v1", doc.Type)
		var names []string
		for _, s := range doc.Subject {
			names = append(names, s.Name)
			if s.Name != formulaFile {
				assert.Equal(t, abc, s.Digest["sha256"])
			}
		}
		assert.Equal(t, []string{formulaFile, r.archive("darwin", "arm64"), r.archive("linux", "amd64"), "bpfrun_1.2.3_windows_amd64.zip"}, names)
		assert.Equal(t, "c0ffee", doc.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])
	}
}
