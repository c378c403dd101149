package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEditorsOfferOptionsThatExist: the attributes that the VS Code extension offers are options of
// bpfrun debug.
func TestEditorsOfferOptionsThatExist(t *testing.T) {
	data, err := os.ReadFile("../../editors/vscode/package.json")
	require.NoError(t, err)
	var pkg struct {
		Contributes struct {
			Debuggers []struct {
				Attributes struct {
					Launch struct{ Properties map[string]any }
				} `json:"configurationAttributes"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &pkg))
	options := append(dapLauncher().Options, "object", "stop-on-entry", "stop-on-exit", "on-cpu")
	n := 0
	for _, d := range pkg.Contributes.Debuggers {
		for name := range d.Attributes.Launch.Properties {
			var flag strings.Builder
			for _, r := range name {
				if unicode.IsUpper(r) {
					flag.WriteByte('-')
				}
				flag.WriteRune(unicode.ToLower(r))
			}
			assert.Contains(t, options, flag.String(), name)
			n++
		}
	}
	assert.Greater(t, n, 10)
}

// VS Code rejects an extension that has activation events and no code, and then knows no debugger
// of its type.
func TestTheExtensionIsOneVSCodeLoads(t *testing.T) {
	data, err := os.ReadFile("../../editors/vscode/package.json")
	require.NoError(t, err)
	var pkg map[string]any
	require.NoError(t, json.Unmarshal(data, &pkg))
	for _, name := range []string{"name", "version", "publisher", "engines", "contributes"} {
		assert.Contains(t, pkg, name)
	}
	_, main := pkg["main"]
	_, browser := pkg["browser"]
	if !main && !browser {
		assert.NotContains(t, pkg, "activationEvents")
	}
}
