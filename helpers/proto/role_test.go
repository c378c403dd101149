package proto

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Both names of a function have the same roles, and each role is one of some function.
func TestRoles(t *testing.T) {
	var all Role
	for _, k := range Kfuncs() {
		all |= k.Role
		if base, ok := strings.CutSuffix(k.Name, "_impl"); ok {
			if other, known := LookupKfunc(base); known {
				assert.Equal(t, other.Role, k.Role, k.Name)
			}
		}
	}
	assert.Equal(t, Traps<<1-1, all)
	assert.False(t, (*Kfunc)(nil).Is(Throws))
	k, _ := LookupKfunc("bpf_res_spin_lock_irqsave")
	assert.True(t, k.Is(TakesResLock) && k.Is(SavesIRQ|RestoresIRQ) && !k.Is(RestoresIRQ))
}

// The verifier asks for roles, not for names of kfuncs.
func TestTheVerifierNamesNoKfuncs(t *testing.T) {
	// The name in a message of the kernel, and those that are also names of a type and of a traced
	// function.
	allowed := map[string]bool{"bpf_throw": true, "bpf_res_spin_lock": true, "cgroup_rstat_flush": true}
	files, err := filepath.Glob("../../internal/verifier/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				_, kfunc := LookupKfunc(text)
				assert.False(t, kfunc && !allowed[text], "%s: %s", file, text)
			}
			return true
		})
	}
}
