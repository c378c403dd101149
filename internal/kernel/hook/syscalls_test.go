package hook

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSyscallsByNameAreThoseOfTheTable compares looking up a line with parsing all of them.
func TestSyscallsByNameAreThoseOfTheTable(t *testing.T) {
	all := syscallIndex()
	require.Greater(t, len(all), 350)
	for name, s := range all {
		assert.Equal(t, s, syscallNamed(name), name)
		assert.Same(t, syscallNamed(name), findSyscall(name), name)
	}
	for _, name := range []string{"", " ", "-", "no_such_call", "openat 257", "openat\nread", "penat", "opena", "filename:s"} {
		assert.Nil(t, syscallNamed(name), "%q", name)
		assert.Nil(t, findSyscall(name), "%q", name)
	}
	for alias, name := range syscallAliases {
		if all[alias] == nil && all[name] != nil {
			assert.Equal(t, all[name], findSyscall(alias), alias)
		}
	}
}
