package main

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/kept"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/loader"
)

const (
	// resultsLimit is the size in bytes above which the least recently used results are removed,
	// largestResults that of an object's.
	resultsLimit   = 256 << 20
	largestResults = 16 << 20
)

// results returns where results are kept between runs, or nil with --no-cache.
func (k *kernelFlags) results() *filecache.Dir {
	if k.noCache {
		return nil
	}
	d := &filecache.Dir{Path: kernels.CacheDir("results"), Suffix: ".res", Magic: "bpfrun-results-1", Limit: resultsLimit, Largest: largestResults}
	if err := d.Refusal(); err != nil {
		k.console.note("%v", err)
		return nil
	}
	if !d.Usable() {
		return nil
	}
	return d
}

// matrixCache returns the cache of a matrix, or nil.
func matrixCache(d *filecache.Dir) *matrix.Cache {
	build := ownBuild()
	if d == nil || build == "" {
		return nil
	}
	return &matrix.Cache{Store: d, Build: build}
}

// keptResults returns the results of other commands, or nil.
func keptResults(d *filecache.Dir) *kept.Results {
	if d == nil {
		return nil
	}
	return &kept.Results{Store: d, Build: ownBuild()}
}

// ownBuild identifies this program, or is "".
func ownBuild() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	build, err := buildID(path)
	if err != nil {
		return ""
	}
	return build
}

// buildID identifies a program by its content.
func buildID(path string) (string, error) {
	if id := noteID(path); id != "" {
		return id, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// noteID returns the id that the go command gave a program: hashes, the last one of its content. It
// returns "" for another id, as builds set that hide where they were made (-buildid=redacted).
func noteID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sec := f.Section(".note.go.buildid")
	if sec == nil || sec.Size > 4096 {
		return ""
	}
	note, err := sec.Data()
	const head = 16 // three sizes and the owner
	if err != nil || len(note) < head {
		return ""
	}
	n := f.ByteOrder.Uint32(note[4:])
	if string(note[12:head]) != "Go\x00\x00" || uint64(n) > uint64(len(note)-head) {
		return ""
	}
	parts := strings.Split(string(note[head:head+n]), "/")
	if len(parts) != 4 || slices.ContainsFunc(parts, func(p string) bool { return len(p) < 16 }) {
		return ""
	}
	return strings.Join(parts, "/")
}

// sourceKey says all that the target of a source depends on, or "" if that is not known: the files
// as they are at the time now, and the flags.
func (k *kernelFlags) sourceKey(s btfSource, now time.Time) string {
	if s.implied != "" {
		return "" // there is a note, which would not be told again
	}
	release, version, ok := loader.ParseRelease(s.Name)
	parts := []string{release, fmt.Sprint(version, ok), k.version}
	files := []string{k.kconfig, k.kallsyms}
	for _, path := range k.moduleBTF {
		if _, err := os.Stat(path); err != nil && isModuleName(path) && s.ModulesFile() != "" {
			path = s.ModulesFile()
		}
		files = append(files, path)
	}
	switch s.Path {
	case kernels.Embedded:
		parts = append(parts, kernels.Embedded)
	case kernels.Host:
		k.hostOnce.Do(func() { k.hostID = kernels.HostID() }) // it stays while it runs
		if k.hostID == "" {
			return ""
		}
		parts = append(parts, kernels.Host, k.hostID, hostRelease())
	default:
		files = append(files, s.File())
		if s.File() != s.Path {
			parts = append(parts, s.Path) // which of the kernels in it
		}
	}
	for _, path := range files {
		id := "no file"
		if path != "" {
			if id = fileID(path, now); id == "" {
				return ""
			}
		}
		parts = append(parts, id)
	}
	for _, path := range k.moduleBTF {
		parts = append(parts, moduleName(path))
	}
	return fmt.Sprintf("%q", parts)
}

// fileID is [filecache.Identity] of a file that is there.
func fileID(path string, now time.Time) string {
	fi, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return filecache.Identity(fi, now)
}
