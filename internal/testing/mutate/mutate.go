// Package mutate puts faults into copies of source files, to measure whether tests notice them. The
// sources are not modified: the go command reads the changed copy through -overlay.
package mutate

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Fault is one change in a file, named relative to the module's root: the first occurrence of Old
// after the anchor becomes New. Without an anchor, Old must occur exactly once.
type Fault struct {
	Name, File, Anchor, Old, New string
}

// reach is the maximum distance of a fault from its anchor, in bytes.
const reach = 1500

// Apply returns src with the fault.
func (f *Fault) Apply(src string) (string, error) {
	at := 0
	if f.Anchor == "" {
		if n := strings.Count(src, f.Old); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", f.File, f.Old, n)
		}
	} else {
		if at = strings.Index(src, f.Anchor); at < 0 {
			// A case may have several values.
			if at = strings.Index(src, strings.TrimSuffix(strings.TrimPrefix(f.Anchor, "case "), ":")+","); at < 0 {
				return "", fmt.Errorf("%s has no %q any more", f.File, f.Anchor)
			}
		}
		at += len(f.Anchor)
	}
	off := strings.Index(src[at:], f.Old)
	if off < 0 || f.Anchor != "" && off > reach {
		return "", fmt.Errorf("%s has no %q after %q any more", f.File, f.Old, f.Anchor)
	}
	at += off
	return src[:at] + f.New + src[at+len(f.Old):], nil
}

// Overlay writes the changed file and the JSON file for go build -overlay to dir, and returns the
// path of the latter.
func (f *Fault) Overlay(root, dir string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(f.File))
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed, err := f.Apply(string(src))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, filepath.Base(f.File))
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// Root returns the directory with go.mod, searching upwards from the working directory.
func Root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}
