package sourcepage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPagesShowNoFileThatIsNoSource: an object can say that it was compiled from any file.
func TestPagesShowNoFileThatIsNoSource(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.c", "key", "b.rs"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("first\nsecret\n"), 0o600))
	}
	if err := os.Symlink("key", filepath.Join(dir, "link.c")); err != nil {
		t.Log(err)
	}
	for _, tt := range []struct {
		name  string
		texts map[int]string
		shown int
	}{
		{"a.c", map[int]string{1: " first"}, 2},
		{"b.rs", map[int]string{1: "first", 2: ""}, 2},
		{"a.c", map[int]string{1: "other"}, 1},
		{"a.c", map[int]string{1: "", 2: " "}, 2},
		{"key", map[int]string{1: "first"}, 1},
		{"link.c", map[int]string{1: "first"}, 1},
		{"none.c", map[int]string{1: "first"}, 1},
	} {
		lines := Whole(filepath.Join(dir, tt.name), tt.texts, Read)
		assert.Len(t, lines, tt.shown, tt.name)
		secret := false
		for _, l := range lines {
			secret = secret || l.Text == "secret"
		}
		assert.Equal(t, tt.name != "key" && tt.name != "link.c" && tt.texts[1] != "" && tt.texts[1] != "other" && tt.name != "none.c", secret, "%s %v", tt.name, tt.texts)
	}
}
