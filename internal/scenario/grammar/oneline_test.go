package grammar

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Keys next to each other are not nested, keys inside each other are.
func TestManyKeysOnALineAreNotNested(t *testing.T) {
	const many = 20000
	for _, tt := range []struct{ name, text, want string }{
		{"mappings in a list", "runs: [" + strings.Repeat("{prog: a}, ", many) + "]", ""},
		{"colons in quotes", `description: "` + strings.Repeat("a: ", many) + `"`, ""},
		{"colons in single quotes", "description: '" + strings.Repeat("it''s: ", many) + "'", ""},
		{"dashes in plain text", "description: a" + strings.Repeat(" - b", many), ""},
		{"brackets in quotes", `description: "` + strings.Repeat("[{", many) + `"`, ""},
		{"a block of text", "description: |\n  " + strings.Repeat("a: [", many), ""},
		{"folded text", "description: >-\n  " + strings.Repeat("a: [", many), ""},
		{"a comment", "description: a # " + strings.Repeat("a: [", many), ""},
		{"a key in quotes", `"` + strings.Repeat("a: ", many) + `": 1`, ""},
		{"colons in plain text", "\ndescription: " + strings.Repeat("a: ", many), `f:2:%d: more than 256 keys, dashes or tags follow each other on this line: text that contains ": " or "- " needs quotes`},
		{"keys after a list", "[a, " + strings.Repeat("b: ", many), "f:1:%d: more than 256 keys"},
		{"dashes", strings.Repeat("- ", many), "f:1:%d: more than 256 keys"},
		{"tags", "a: " + strings.Repeat("!b ", many), "f:1:%d: more than 256 keys"},
		{"brackets", strings.Repeat("[", many), "f:1:257: nested more than 64 deep"},
		{"brackets after quotes", `["a", ` + strings.Repeat("[", many), "f:1:%d: nested more than 64 deep"},
		{"brackets on lines", strings.Repeat("[\n", many), "f:257:1: nested more than 64 deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := shallow("f", []byte(tt.text))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var e *Error
			require.ErrorAs(t, err, &e)
			if strings.Contains(tt.want, "%d") {
				tt.want = fmt.Sprintf(tt.want, e.Col)
			}
			assert.True(t, strings.HasPrefix(err.Error(), tt.want), "%v, want %s", err, tt.want)
		})
	}
}
