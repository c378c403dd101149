//go:build linux && (amd64 || arm64)

package exec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["linkescape"] = linkEscapeTool }

// linkEscapeTool has a file of the host below a simulated bpffs, and a link there of the name of its
// directory that leads elsewhere.
func linkEscapeTool() error {
	at, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(at)
	hidden, link := filepath.Join(at, "x", "f"), filepath.Join(at, "x")
	if err := errors.Join(os.Mkdir(link, 0o755), os.WriteFile(hidden, []byte("secret"), 0o644), unix.Mount("bpf", at, "bpf", 0, "")); err != nil {
		return err
	}
	if err := os.Symlink("/etc", link); err != nil {
		return err
	}
	b, err := os.ReadFile(hidden)
	fmt.Printf("read %q %s\n", b, outcomeOf(err))
	_, err = os.Stat(hidden)
	fmt.Println("stat", outcomeOf(err))
	_, err = os.Stat(link)
	fmt.Println("stat link", outcomeOf(err))
	_, err = os.Lstat(link)
	fmt.Println("lstat link", outcomeOf(err))
	fmt.Println("unlink", outcomeOf(unix.Unlinkat(unix.AT_FDCWD, hidden, 0)), "chdir", outcomeOf(os.Chdir(link)), "umount", outcomeOf(unix.Unmount(at, 0)))
	b, err = os.ReadFile(hidden)
	fmt.Printf("left %q %s\n", b, outcomeOf(err))
	return nil
}

// TestLinksInBPFFSDoNotLeadTheHostAstray: the host has no such link, and would walk into what it has
// in that place.
func TestLinksInBPFFSDoNotLeadTheHostAstray(t *testing.T) {
	r := start(t, "linkescape", "")
	assert.Equal(t, "read \"\" EACCES\nstat EACCES\nstat link EACCES\nlstat link ok\nunlink EACCES chdir EACCES umount ok\nleft \"secret\" ok\n", r.out, r.notes)
	assert.Contains(t, r.notes, `unlinkat(2) of "/etc/f" relative to a simulated directory, or by a simulated link, is refused`)
}
