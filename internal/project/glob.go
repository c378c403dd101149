package project

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLooked limits the names that are read for a pattern: one of another's project file may be
// about all files there are.
const maxLooked = 100_000

var errMany = fmt.Errorf("the pattern is about more than %d files and directories", maxLooked)

// glob is filepath.Glob with a limit.
func glob(pattern string) ([]string, error) {
	if _, err := filepath.Match(pattern, ""); err != nil {
		return nil, err
	}
	left := maxLooked
	return matching(pattern, &left)
}

func matching(pattern string, left *int) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err := os.Lstat(pattern); err != nil {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	dirs, last := []string{filepath.Dir(pattern)}, filepath.Base(pattern)
	if dirs[0] == pattern {
		return nil, filepath.ErrBadPattern
	}
	if strings.ContainsAny(dirs[0], `*?[\`) && dirs[0] != filepath.VolumeName(pattern)+string(filepath.Separator) {
		var err error
		if dirs, err = matching(dirs[0], left); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, dir := range dirs {
		names, err := namesIn(dir, left)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if ok, _ := filepath.Match(last, name); ok {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	return out, nil
}

// namesIn returns what a directory has, in order. What cannot be read has nothing.
func namesIn(dir string, left *int) ([]string, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { // opening a pipe would wait
		return nil, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	var out []string
	for {
		names, err := f.Readdirnames(1024)
		out = append(out, names...)
		if *left -= len(names); *left < 0 {
			return nil, errMany
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				out = nil
			}
			slices.Sort(out)
			return out, nil
		}
	}
}
