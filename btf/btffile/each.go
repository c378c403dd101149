package btffile

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/pack"
)

// Each calls do for the BTF of a file, as [Load] reads it, or of every file with BTF in a tar
// archive or an archive of package pack. name is path, or the file's name in the archive. An error
// of do stops Each and is returned.
func Each(path string, do func(name string, spec *btf.Spec) error) error {
	if IsPack(path) {
		return eachPacked(path, do)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, tarHeader)
	for range maxLayers {
		start, err := r.Peek(tarHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %w", path, unpackError(err))
		}
		if isTar(start) {
			return eachEntry(path, r, do)
		}
		if !isContainer(start) || isDeb(start) || isImage(start) {
			break
		}
		inner, done, err := openLayer(r)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer done()
		r = bufio.NewReaderSize(inner, 64<<10)
	}
	spec, err := Load(path, nil)
	if err != nil {
		return err
	}
	return do(path, spec)
}

func eachEntry(path string, r io.Reader, do func(name string, spec *btf.Spec) error) error {
	t := tar.NewReader(r)
	found := 0
	for {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && found == 0:
			return fmt.Errorf("%s: %w", path, failure(btf.ErrNoBTF, "the archive contains no file with BTF"))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, unpackError(err))
		case h.Typeflag != tar.TypeReg:
			continue
		}
		body := bufio.NewReaderSize(t, tarHeader)
		start, err := body.Peek(tarHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: %s: %w", path, h.Name, unpackError(err))
		}
		if _, isBTF := btf.IsBTF(start); !isBTF && !isELF(start) && (!isContainer(start) || isTar(start)) {
			continue
		}
		in, err := unpackFrom(body)
		var spec *btf.Spec
		if err == nil {
			spec, err = in.spec(h.Name, nil)
		}
		if errors.Is(err, btf.ErrNoBTF) || errors.Is(err, btf.ErrNotBTF) {
			continue // an archive may hold other files
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, h.Name, err)
		}
		if err := do(h.Name, spec); err != nil {
			return err
		}
		found++
	}
}

func eachPacked(path string, do func(name string, spec *btf.Spec) error) error {
	a, err := pack.OpenFile(path)
	if err != nil {
		return err
	}
	for _, k := range a.Kernels() {
		spec, err := LoadPacked(a, filepath.Join(path, k.Name), k.Name)
		if err != nil {
			return err
		}
		if err := do(k.Name, spec); err != nil {
			return err
		}
	}
	return nil
}
