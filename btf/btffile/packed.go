package btffile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/pack"
)

// IsPack reports whether a file is an archive of many kernels ([pack.Archive]).
func IsPack(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // opening a pipe would wait
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(pack.Magic))
	_, err = io.ReadFull(f, start)
	return err == nil && pack.Is(start)
}

// SplitPack splits the path of a kernel in an archive; ok is false for other paths, whether they
// exist or not.
func SplitPack(path string) (archive, name string, ok bool) {
	archive, name = filepath.Split(path)
	archive = filepath.Clean(archive)
	if name == "" || !IsPack(archive) {
		return "", "", false
	}
	return archive, name, true
}

// loadPacked reads a kernel of an archive: the one that the path names, or the only one. ok is false
// for other paths.
func loadPacked(path string) (spec *btf.Spec, ok bool, err error) {
	archive, name, ok := SplitPack(path)
	if !ok {
		if !IsPack(path) {
			return nil, false, nil
		}
		archive = path
	}
	a, err := pack.OpenFile(archive)
	if err != nil {
		return nil, true, err
	}
	if list := a.Kernels(); !ok && len(list) == 1 {
		name = list[0].Name
	} else if !ok {
		return nil, true, fmt.Errorf("%s: %w", path, failure(btf.ErrNoBTF, "an archive of %d kernels: name one of them, as %s", len(list), filepath.Join(filepath.Base(path), "NAME")))
	}
	spec, err = LoadPacked(a, path, name)
	return spec, true, err
}

// LoadPacked reads a kernel of an open archive; path is used in messages and as the Spec's source
// name.
func LoadPacked(a *pack.Archive, path, name string) (*btf.Spec, error) {
	raw, err := a.Raw(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, asBTFError(err))
	}
	return btf.LoadBytes(path, raw, nil)
}

// asBTFError is the error of package btf that an archive's is.
func asBTFError(err error) error {
	if errors.Is(err, pack.ErrName) {
		return failure(btf.ErrNoBTF, "%v", err)
	}
	return err
}
