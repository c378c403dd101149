package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBillNamesEveryModuleWithItsHash(t *testing.T) {
	b := newBOM(&debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.org/tool", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.2.3", Sum: "h1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0xab}, 32))},
			{Path: "example.org/b", Version: "v0.1.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v0.2.0"}},
		},
	})
	assert.Equal(t, "pkg:golang/example.org/tool", b.Metadata.Component.PURL)
	assert.Equal(t, []component{
		{Type: "library", Ref: "pkg:golang/std@1.26.8", Name: "std", Version: "1.26.8", PURL: "pkg:golang/std@1.26.8"},
		{Type: "library", Ref: "pkg:golang/example.org/a@v1.2.3", Name: "example.org/a", Version: "v1.2.3", PURL: "pkg:golang/example.org/a@v1.2.3",
			Hashes: []hash{{"SHA-256", strings.Repeat("ab", 32)}}},
		{Type: "library", Ref: "pkg:golang/example.org/fork@v0.2.0", Name: "example.org/fork", Version: "v0.2.0", PURL: "pkg:golang/example.org/fork@v0.2.0"},
	}, b.Components)
	assert.Len(t, b.Depends[0].Uses, 3)
}

func TestBillOfThisTest(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "sbom.json")
	require.NoError(t, run(self, out))
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	var b bom
	require.NoError(t, json.Unmarshal(text, &b))
	assert.Equal(t, "CycloneDX", b.Format)
	assert.Equal(t, "std", b.Components[0].Name)
}

func TestWhatIsNoGoBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
	assert.Error(t, run(path, path+".json"))
	assert.NoFileExists(t, path+".json")
}
