package testbtf

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTestsShareTypes(t *testing.T) {
	const path = "../../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz"
	first, err := Load(path)
	require.NoError(t, err)
	second, err := Load("./" + path)
	require.NoError(t, err)
	assert.Same(t, first, second)
	_, err = Load("absent.btf")
	assert.Error(t, err)
}
