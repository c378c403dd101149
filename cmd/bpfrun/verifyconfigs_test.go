package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigurationsOfFiles(t *testing.T) {
	sets, err := lineSets("dir/small.conf", []byte("# small\nlimit = 16\n\nconf.check=true\nCONFIG_HZ=250\n"))
	require.NoError(t, err)
	assert.Equal(t, []configSet{{"small.conf", map[string]string{"limit": "16", "conf.check": "true", "CONFIG_HZ": "250"}}}, sets)

	sets, err = yamlSets("m.yaml", []byte("matrix:\n  a: [1, 2]\n  b: [x, y]\nvariants:\n  one:\n    a: 7\n  none:\n"))
	require.NoError(t, err)
	var names []string
	for _, s := range sets {
		names = append(names, s.name)
	}
	assert.Equal(t, []string{"a=1 b=x", "a=1 b=y", "a=2 b=x", "a=2 b=y", "one", "none"}, names)
	assert.Equal(t, map[string]string{"a": "2", "b": "x"}, sets[2].values)
	assert.Empty(t, sets[5].values, "a variant without values is the object as it is")

	_, err = lineSets("x", []byte("limit\n"))
	assert.ErrorContains(t, err, "line 1")
	for _, bad := range []string{"- a", "a: 1", "matrix:\n  a: []", "matrix:\n  a: [[1]]", "variants:\n  v: 3", "variants:\n  v:\n    a: [1]", "x"} {
		_, err := yamlSets("bad.yaml", []byte(bad))
		assert.Error(t, err, bad)
	}
}
