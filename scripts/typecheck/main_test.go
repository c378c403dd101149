package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFindsWhatDoesNotExistOnATarget(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sub", 0o755))
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"m.go":               "package m\n\nfunc both() int { return own() }\n",
		"m_linux.go":         "package m\n\nfunc own() int { return 1 }\n",
		"m_test.go":          "package m\n\nimport \"testing\"\n\nfunc TestWide(t *testing.T) { const big = 1 << 40; var n int = big; _ = n }\n",
		"x_test.go":          "package m_test\n\nimport (\n\t_ \"example.com/m\"\n\t\"os\"\n)\n\nvar _ = os.Getpid()\n",
		"sub/sub.go":         "package sub\n",
		"sub/sub_windows.go": "package sub\n\nimport \"os\"\n\nvar _ = os.Nothing\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for target, want := range map[string][]string{
		"linux/amd64":   nil,
		"linux/386":     {"(overflows)"},
		"windows/amd64": {"undefined: own", "undefined: os.Nothing"},
	} {
		errs, err := check(target, "./...")
		require.NoError(t, err, target)
		var text string
		for _, e := range errs {
			text += e.Error() + "\n"
		}
		for _, w := range want {
			assert.Contains(t, text, w, target)
		}
		assert.Equal(t, want == nil, len(errs) == 0, "%s: %s", target, text)
	}
	_, err := check("linux/none", "./...")
	assert.Error(t, err)
}
