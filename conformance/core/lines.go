package core

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/bpfrun/bpfrun/internal/worded"
)

// maxLine limits a line of an expectation file in bytes.
const maxLine = 1 << 20

// readLines calls f for every line of a file of JSON lines, which may be compressed with gzip.
// Empty lines are skipped.
func readLines(path string, f func(n int, l Line) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffered := bufio.NewReader(file)
	var in io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer z.Close()
		in = z
	}
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		text := bytes.TrimSpace(s.Bytes())
		if len(text) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(text, &l); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, worded.Error(err))
		}
		if err := f(n, l); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
