package shell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/shell"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"a/b-c_d.o": "a/b-c_d.o", "x=1": "x=1", "": "''", "two words": "'two words'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a\nb": "'a\nb'", "ä": "'ä'",
	} {
		assert.Equal(t, want, shell.Quote(word))
	}
}
