package web

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/loader"
)

func TestSiteHasItsExamples(t *testing.T) {
	files, err := Site(Config{Engine: "http", Version: "1.2.3", Open: &Example{Name: "mine.o", Title: "mine.o", File: "object/mine.o"}})
	require.NoError(t, err)
	var c Config
	require.NoError(t, json.Unmarshal(files["site.json"], &c))
	assert.Equal(t, "http", c.Engine)
	assert.Equal(t, "mine.o", c.Open.Name)
	assert.GreaterOrEqual(t, len(c.Examples), 20)
	seen := map[string]bool{}
	for _, e := range c.Examples {
		assert.False(t, seen[e.Name], "%s is defined twice", e.Name)
		seen[e.Name] = true
		obj, err := loader.OpenBytes(path.Base(e.File), files[e.File])
		require.NoError(t, err, e.Name)
		assert.NotEmpty(t, obj.Programs, e.Name)
		assert.NotEmpty(t, e.Title, e.Name)
	}
	same, err := os.ReadFile("../testdata/objects/clang-22/faults.o")
	require.NoError(t, err)
	assert.True(t, string(same) == string(files["examples/faults.o"]), "examples/faults.o is a copy: make it again with cp testdata/objects/clang-22/faults.o web/examples")
}

// Modules and files that the page names exist, and it loads nothing from elsewhere.
func TestPageIsWhole(t *testing.T) {
	files, err := Site(Config{})
	require.NoError(t, err)
	built := map[string]bool{"wasm_exec.js": true, "bpfrun.wasm.gzip": true, "embedded.btf.zst": true} // by scripts/site
	names := regexp.MustCompile(`(?:from|import) '(\.[^']*)'|(?:src|href)="([^"#:]*)"|new URL\('([^']*)'|register\('([^']*)'`)
	checked := 0
	for file, text := range files {
		if ext := path.Ext(file); ext != ".js" && ext != ".html" && ext != ".css" {
			continue
		}
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			name := path.Join(path.Dir(file), m[1]+m[2]+m[3]+m[4])
			checked++
			assert.True(t, files[name] != nil || built[name], "%s names %s", file, name)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, "http://") || strings.Contains(line, "https://") {
				assert.Contains(t, line, "http://www.w3.org/2000/svg", "%s", file)
			}
			assert.NotContains(t, line, "innerHTML", "%s: names in objects must stay text", file)
		}
	}
	assert.Greater(t, checked, 15)
}

// TestModules runs the tests of the modules that need no browser.
func TestModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed (apt-get install nodejs): the modules are not run")
	}
	out, err := exec.Command(node, "--test", "test/units.test.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
