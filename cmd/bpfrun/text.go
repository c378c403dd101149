package main

import (
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/internal/worded"
)

// join formats a list of at most twelve names for a message.
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

// maxFlagFile limits the size in bytes of files with memory or a context.
const maxFlagFile = 64 << 20

// readFlagFile reads the file named by a flag. Without an error, the result is not nil.
func readFlagFile(flag, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFlagFile+1))
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	if len(b) > maxFlagFile {
		return nil, usagef("--%s: %s has more than %d bytes", flag, path, maxFlagFile)
	}
	return b, nil
}

// bytesFlag returns the value of a flag that takes bytes: hex digits, which may be grouped by
// spaces or colons, or @FILE. An empty flag gives nil.
func bytesFlag(flag, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		return readFlagFile(flag, path)
	}
	clean := strings.NewReplacer(" ", "", ":", "", "\n", "").Replace(strings.TrimPrefix(text, "0x"))
	b, err := hex.DecodeString(clean)
	if err != nil {
		return nil, usagef("--%s: want hex digits or @FILE: %w", flag, worded.Error(err))
	}
	return b, nil
}
