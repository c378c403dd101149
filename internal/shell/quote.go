// Package shell writes words of command lines that people copy.
package shell

import "strings"

// Quote returns a word as a POSIX shell reads it: as it is, or in single quotes.
func Quote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
