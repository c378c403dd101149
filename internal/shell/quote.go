// Package shell quotes words of command lines that users copy.
package shell

import "strings"

// Quote returns a word for a POSIX shell, in single quotes if necessary.
func Quote(word string) string {
	plain := word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:@%", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if plain {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
