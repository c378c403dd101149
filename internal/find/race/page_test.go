package race

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
)

// TestThePageHasTheTables: docs/race.md has the rules that the code follows.
func TestThePageHasTheTables(t *testing.T) {
	const page = "../../../docs/race.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	out := string(text)
	for name, table := range map[string]string{"maps": MapTable(), "places": PlaceTable(), "hooks": HookTable(), "callbacks": CallbackTable(), "sockets": SocketTable(), "apart": ApartTable()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(out, begin)
		require.True(t, ok, name)
		had, after, ok := strings.Cut(rest, end)
		require.True(t, ok, name)
		if !*rewrite.Flag {
			assert.Equal(t, table, had, "stale: go test ./internal/find/race -update")
		}
		out = before + begin + table + end + after
	}
	if *rewrite.Flag {
		require.NoError(t, os.WriteFile(page, []byte(out), 0o644))
	}
}

// TestMostTypesSayWhereTheyRun: a type without a row meets others only on other CPUs.
func TestMostTypesSayWhereTheyRun(t *testing.T) {
	without := map[string]bool{"unspec": true, "struct_ops": true, "ext": true, "lirc_mode2": true}
	for _, r := range progtype.All() {
		assert.Equal(t, without[r.Type.String()], len(r.Runs) == 0, "%v", r.Type)
	}
}
