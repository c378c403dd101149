// Package filecache keeps entries in a directory of the user, by keys that say all that they depend
// on. It does not know what is in them.
//
// Processes may share a directory: entries are written to temporary files and renamed, and damaged
// ones are removed. A nil Dir keeps nothing; a directory that cannot be used, or that other users
// can write to, is not an error.
package filecache

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Dir is a directory of entries. It is safe for concurrent use.
type Dir struct {
	// Path is the directory, which is made when the first entry is stored; "" stores nothing.
	Path string
	// Suffix is the extension of entries.
	Suffix string
	// Magic starts each entry, and names the format and its version. A CRC-32C of the content
	// follows, 4 bytes little-endian, then the content.
	Magic string
	// Limit is the size in bytes above which Trim removes the least recently used entries, Largest
	// that of the content of one.
	Limit, Largest int64
	// Read returns the content of a file; nil is os.ReadFile.
	Read func(path string) ([]byte, error)

	stored atomic.Bool // since the last Trim
}

// Settled is how long ago a file must have changed so that its next change has another time.
const Settled = 2 * time.Second

const (
	// stale is the age at which unfinished entries are removed.
	stale = time.Hour
	// refresh is the age at which an entry's time of last use is renewed.
	refresh = 24 * time.Hour
	// block is what a small file takes on disks.
	block = 4096

	unfinished = "new-"
)

// Usable reports whether there is a directory whose entries can be trusted.
func (d *Dir) Usable() bool { return d != nil && d.Path != "" && private(d.Path) == nil }

// Refusal returns why the entries of a directory that exists cannot be trusted, as a line for
// users, or nil.
func (d *Dir) Refusal() error {
	if d == nil || d.Path == "" {
		return nil
	}
	if err := private(d.Path); err != nil {
		return fmt.Errorf("cache directory %s is not used: %w", d.Path, err)
	}
	return nil
}

// File returns the path of an entry.
func (d *Dir) File(key string) string { return filepath.Join(d.Path, key+d.Suffix) }

// Get returns the content of an entry, nil when it is missing or damaged. The caller has asked
// whether the directory is usable.
func (d *Dir) Get(key string) []byte {
	path := d.File(key)
	fi, err := os.Lstat(path)
	head := len(d.Magic) + 4
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > d.Largest+int64(head) {
		return nil
	}
	read := d.Read
	if read == nil {
		read = os.ReadFile
	}
	data, err := read(path)
	if err != nil {
		return nil
	}
	body, ok := bytes.CutPrefix(data, []byte(d.Magic))
	if !ok || len(body) < 4 || checksum(body[4:]) != binary.LittleEndian.Uint32(body) {
		d.Drop(key)
		return nil
	}
	if now := time.Now(); now.Sub(fi.ModTime()) > refresh {
		_ = os.Chtimes(path, now, now) // only the order of removal suffers
	}
	return body[4:]
}

// Drop removes an entry.
func (d *Dir) Drop(key string) { _ = os.Remove(d.File(key)) }

// Put stores an entry, in place of one of the same key. Failures are ignored.
func (d *Dir) Put(key string, content []byte) {
	if n := int64(len(content)); n > d.Limit || n > d.Largest || os.MkdirAll(d.Path, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(d.Path, unfinished+"*")
	if err != nil {
		return
	}
	_, err = f.Write(binary.LittleEndian.AppendUint32([]byte(d.Magic), checksum(content)))
	if err == nil {
		_, err = f.Write(content)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), d.File(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	d.stored.Store(true)
}

// Trim removes the least recently used entries until the rest is within the limit, and stale
// unfinished ones. Small entries count as what they take on disks. Nothing is looked at if nothing
// was stored since the last time.
func (d *Dir) Trim() {
	if !d.stored.Swap(false) {
		return
	}
	list, err := os.ReadDir(d.Path)
	if err != nil {
		return
	}
	var entries []fs.FileInfo
	var total int64
	for _, e := range list {
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		switch {
		case strings.HasSuffix(fi.Name(), d.Suffix):
			entries = append(entries, fi)
			total += sizeOf(fi)
		case strings.HasPrefix(fi.Name(), unfinished) && time.Since(fi.ModTime()) > stale:
			_ = os.Remove(filepath.Join(d.Path, fi.Name()))
		}
	}
	if total <= d.Limit {
		return
	}
	slices.SortFunc(entries, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, e := range entries {
		if total <= d.Limit {
			return
		}
		if os.Remove(filepath.Join(d.Path, e.Name())) == nil {
			total -= sizeOf(e)
		}
	}
}

func sizeOf(fi fs.FileInfo) int64 { return (fi.Size() + block - 1) / block * block }

func checksum(content []byte) uint32 {
	return crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))
}
