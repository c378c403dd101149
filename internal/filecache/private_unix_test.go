//go:build unix

package filecache

import (
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A directory that others can write to is refused, with the reason; a private one and one that does
// not exist are not.
func TestDirOfOthersIsRefused(t *testing.T) {
	for mode, why := range map[fs.FileMode]string{0o700: "", 0o755: "", 0o500: "", 0o770: "its group can write to it", 0o775: "its group can write to it", 0o757: "all users can write to it", 0o777: "all users can write to it"} {
		d := dir(t, 1<<20)
		require.NoError(t, d.Refusal(), "it does not exist")
		require.NoError(t, os.Mkdir(d.Path, 0o700))
		require.NoError(t, os.Chmod(d.Path, mode))
		assert.Equal(t, why == "", d.Usable(), "%o", mode)
		if why == "" {
			assert.NoError(t, d.Refusal(), "%o", mode)
		} else {
			assert.ErrorContains(t, d.Refusal(), d.Path+" is not used: "+why, "%o", mode)
		}
	}
	require.NoError(t, (*Dir)(nil).Refusal())
	require.NoError(t, (&Dir{}).Refusal())
}
