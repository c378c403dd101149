package btffile

import (
	"archive/tar"
	"bufio"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// Module is the BTF of a kernel module.
type Module struct {
	// Release is that of the module's kernel (uname -r).
	Release string
	// Name is the module's name, as the kernel writes it: md_mod of md-mod.ko.
	Name string
	// Raw continues the BTF of the module's kernel.
	Raw []byte
}

// moduleFile matches a module in a package.
var moduleFile = lazyre.New(`^(?:\./)?(?:usr/)?lib/modules/([^/]+)/(?:.+/)?([^/]+)\.ko(?:\.xz|\.zst|\.gz)?$`)

// ModuleName returns the name of the module in a file called NAME.ko or NAME.ko.xz, "" for other
// names.
func ModuleName(file string) string {
	file = file[strings.LastIndexByte(file, '/')+1:]
	for _, ext := range []string{".xz", ".zst", ".gz"} {
		file = strings.TrimSuffix(file, ext)
	}
	name, ok := strings.CutSuffix(file, ".ko")
	if !ok {
		return ""
	}
	return strings.ReplaceAll(name, "-", "_")
}

// EachModule calls do for every module with BTF in a Debian package, in the order of the package.
// It stops at the first error of do and returns it. A package may have no modules.
func EachModule(path string, do func(Module) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, tarHeader)
	start, err := r.Peek(tarHeader)
	if err != nil && !errors.Is(err, io.EOF) || !isDeb(start) {
		return fmt.Errorf("%s: %w", path, failure(btf.ErrNotBTF, "no Debian package"))
	}
	t, done, err := debFiles(r)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer done()
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, unpackError(fmt.Errorf("deb: %w", err)))
		}
		m := moduleFile.FindStringSubmatch(h.Name)
		if h.Typeflag != tar.TypeReg || m == nil {
			continue
		}
		in, err := unpackFrom(bufio.NewReaderSize(&bounded{r: t, what: "deb: " + h.Name, left: maxUnpacked}, 64<<10))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, h.Name, err)
		}
		raw, err := in.section()
		if errors.Is(err, btf.ErrNoBTF) {
			continue // assembled, or built without it
		}
		if err == nil {
			err = do(Module{Release: m[1], Name: ModuleName(h.Name), Raw: raw})
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", path, h.Name, err)
		}
	}
}

// section returns the BTF of an ELF file as it is.
func (c content) section() ([]byte, error) {
	if c.elf == nil {
		return nil, failure(btf.ErrNoBTF, "no ELF file")
	}
	f, err := elf.NewFile(c.elf)
	if err != nil {
		return nil, failure(btf.ErrNotBTF, "%v", err)
	}
	s := f.Section(".BTF")
	switch {
	case s == nil || s.Type == elf.SHT_NOBITS || s.Size == 0:
		return nil, failure(btf.ErrNoBTF, "no section .BTF")
	case s.Size > btf.MaxRaw || s.FileSize > uint64(c.len):
		return nil, failure(btf.ErrTooLarge, "section .BTF of %d bytes", s.Size)
	}
	raw, err := s.Data()
	if err != nil {
		return nil, failure(btf.ErrTruncated, "section .BTF: %v", err)
	}
	return raw, nil
}
