package since

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReleasesOrder(t *testing.T) {
	require.Less(t, R(5, 15), R(6, 1))
	require.Less(t, R(6, 6), R(6, 12))
	require.Equal(t, R(6, 18), FromVersion(6<<16|18<<8|44))
	require.Equal(t, "6.18", R(6, 18).String())
}
