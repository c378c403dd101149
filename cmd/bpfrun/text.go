package main

import (
	"encoding/hex"
	"os"
	"strings"
)

// join lists names for a message, at most twelve.
func join(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		names = append(append([]string(nil), names[:most]...), "...")
	}
	return strings.Join(names, ", ")
}

// bytesFlag is the value of a flag that takes bytes: hex digits, which may be grouped by spaces or
// colons, or @FILE. An empty flag gives nil.
func bytesFlag(flag, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, usagef("--%s: %w", flag, err)
		}
		return b, nil
	}
	clean := strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(strings.TrimPrefix(text, "0x"))
	b, err := hex.DecodeString(clean)
	if err != nil {
		return nil, usagef("--%s: want hex digits or @FILE: %w", flag, err)
	}
	return b, nil
}
