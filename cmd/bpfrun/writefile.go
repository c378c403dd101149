package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/internal/visible"
)

// writeText writes a file of text, in which what could control a terminal is escaped; see
// [writeFile].
func writeText(path string, write func(io.Writer) error) error {
	return writeFile(path, func(w io.Writer) error {
		text := &visible.Writer{W: w, Plain: true}
		if err := write(text); err != nil {
			return err
		}
		return text.Flush()
	})
}

// writeFile writes a file completely or not at all: it writes to a temporary file in the same
// directory and renames it at the end. Anything but a regular file, such as /dev/stdout, is written
// directly.
func writeFile(path string, write func(io.Writer) error) error {
	return writeFileMode(path, 0o666, write)
}

// writeFileMode does that with the mode of a file that is new.
func writeFileMode(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			f, err := os.Create(path)
			if err != nil {
				return usageError{err}
			}
			if err := write(f); err != nil {
				f.Close()
				return err
			}
			return f.Close()
		}
		mode = info.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	os.Remove(name) // of a run that was killed, perhaps with another mode
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return usageError{err}
	}
	defer func() {
		if err != nil {
			os.Remove(name)
		}
	}()
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(name, path)
}
