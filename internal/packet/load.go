package packet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Load builds a packet from user input: an expression, hex digits, or @FILE with a packet's bytes
// or a capture; @FILE#N selects packet N of it, from 1. A trailing [:N] truncates any of them.
// Relative file names are relative to dir.
func Load(text, dir string) ([]byte, error) {
	name, isFile := strings.CutPrefix(strings.TrimSpace(text), "@")
	if !isFile {
		return Read(text)
	}
	name, cut, isCut := cutSuffix(name)
	data, err := loadFile(name, dir)
	if err != nil || !isCut {
		return data, err
	}
	if data, err = cut.apply(data); err != nil {
		return nil, fmt.Errorf("@%s%w", name, err)
	}
	return data, nil
}

func loadFile(name, dir string) ([]byte, error) {
	number := 1
	path, digits, numbered := cutLast(name, "#")
	if numbered {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("@%s: want the number of a packet after #, from 1", name)
		}
		number = n
	}
	if path == "" {
		return nil, fmt.Errorf("@%s: want the name of a file after @", name)
	}
	path = Below(dir, path)
	capture, data, err := readStart(path)
	if err != nil {
		return nil, err
	}
	switch {
	case capture:
		return ReadPacket(path, number)
	case numbered:
		return nil, fmt.Errorf("@%s: not a pcap or pcapng file, it has no packet %d", name, number)
	case len(data) == 0:
		return nil, fmt.Errorf("@%s: the file is empty", name)
	case len(data) > MaxSize:
		return nil, fmt.Errorf("@%s: a packet of more than %d bytes", name, MaxSize)
	}
	return data, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// Below resolves a file name relative to dir; absolute names stay as they are.
func Below(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) || dir == "" {
		return name
	}
	return filepath.Join(dir, name)
}

// readStart reads a file, up to the size of a packet, and reports whether it is a capture.
func readStart(path string) (capture bool, data []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, MaxSize+1))
	return IsCapture(data), data, err
}
