package btf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Load reads BTF from a file; see [LoadBytes].
func Load(path string, base *Spec) (*Spec, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return nil, fmt.Errorf("%s: is a directory, want a file with BTF", path)
	}
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return LoadBytes(path, data, base)
}

// readFile reads a file to its end, or only its start when that shows that BTF cannot be inside: a device has no end.
func readFile(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	start := make([]byte, tarHeader)
	n, err := io.ReadFull(f, start)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return start[:n], nil
	case err != nil:
		return nil, err
	}
	if _, isBTF := byteOrderOf(start); !isBTF && !bytes.HasPrefix(start, []byte(elf.ELFMAG)) && !isContainer(start) {
		return start, nil
	}
	data := bytes.NewBuffer(start)
	if fi, err := f.Stat(); err == nil && fi.Size() <= maxUnpacked {
		data.Grow(int(fi.Size()) + bytes.MinRead)
	}
	if n, err := data.ReadFrom(io.LimitReader(f, maxUnpacked)); err != nil {
		return nil, err
	} else if n == maxUnpacked {
		return nil, fmt.Errorf("%s: %w", path, headerError(ErrTooLarge, "more than %d bytes", int64(maxUnpacked)))
	}
	return data.Bytes(), nil
}

// LoadBytes reads BTF from the content of a file, told by content and not by
// name: raw BTF, an ELF file with a .BTF section (vmlinux, module, BPF object),
// these compressed with xz, gzip or zstd, and tar archives of them like
// BTFHub's .btf.tar.xz, of which the first entry with BTF is taken. base is the
// Spec that split BTF continues, else nil. name is used in messages and as
// [Spec.SourceName].
//
// An ELF module with a .BTF.base section is parsed on top of that section when
// base is nil, and by [Relocate] moved onto base when it is not.
func LoadBytes(name string, data []byte, base *Spec) (*Spec, error) {
	s, err := loadBytes(data, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.setName(name)
	return s, nil
}

func loadBytes(data []byte, base *Spec) (*Spec, error) {
	c, err := unpack(data)
	if err != nil {
		return nil, err
	}
	if c.elf == nil {
		return Parse(c.raw, base)
	}
	secs, class, err := elfSections(c, ".BTF", ".BTF.base")
	if err != nil {
		return nil, err
	}
	if secs[0] == nil {
		return nil, headerError(ErrNoBTF, "the ELF file has no .BTF section")
	}
	if secs[1] != nil {
		return loadDistilled(secs[0], secs[1], base)
	}
	s, err := Parse(secs[0], base)
	if err != nil {
		return nil, err
	}
	if base == nil {
		s.ptrSize = class
	}
	return s, nil
}

func loadDistilled(split, distilled []byte, base *Spec) (*Spec, error) {
	db, err := Parse(distilled, nil)
	if err != nil {
		return nil, fmt.Errorf(".BTF.base: %w", err)
	}
	s, err := Parse(split, db)
	if err != nil {
		return nil, err
	}
	s.distilled = db
	if base == nil {
		return s, nil
	}
	return Relocate(s, base)
}

// elfSections returns the content of named sections, nil for absent ones, and
// the size of a pointer by the ELF class.
func elfSections(c content, names ...string) (secs [][]byte, ptrSize int, err error) {
	defer func() {
		// debug/elf is robust but not proven so; a malformed file is an error.
		if r := recover(); r != nil {
			secs, err = nil, headerError(ErrHeader, "malformed ELF: %v", r)
		}
	}()
	f, err := elf.NewFile(c.elf)
	if err != nil {
		return nil, 0, headerError(ErrHeader, "malformed ELF: %v", err)
	}
	secs = make([][]byte, len(names))
	for i, name := range names {
		sec := f.Section(name)
		if sec == nil || sec.Type == elf.SHT_NOBITS {
			continue
		}
		if sec.Size > maxRaw || sec.FileSize > maxRaw {
			return nil, 0, headerError(ErrTooLarge, "section %s has %d bytes, at most %d are read", name, sec.Size, int64(maxRaw))
		}
		if sec.Flags&elf.SHF_COMPRESSED == 0 && (sec.Offset > uint64(c.len) || sec.FileSize > uint64(c.len)-sec.Offset) {
			return nil, 0, headerError(ErrTruncated, "section %s ends after the file", name)
		}
		if secs[i], err = sec.Data(); err != nil {
			return nil, 0, headerError(ErrTruncated, "section %s: %v", name, err)
		}
	}
	if f.Class == elf.ELFCLASS32 {
		return secs, 4, nil
	}
	return secs, 8, nil
}

// HostPath is where a running Linux kernel shows its BTF; modules are beside it
// by their names.
const HostPath = "/sys/kernel/btf/vmlinux"

// LoadHost reads the BTF of the running kernel. The error wraps fs.ErrNotExist
// where there is none.
func LoadHost() (*Spec, error) { return Load(HostPath, nil) }

// LoadHostModule reads the BTF of a module of the running kernel.
func LoadHostModule(module string, vmlinux *Spec) (*Spec, error) {
	if module != filepath.Base(module) {
		return nil, errors.New("btf: module name " + module + " is a path")
	}
	return Load(filepath.Join(filepath.Dir(HostPath), module), vmlinux)
}

// IsBTF reports whether data starts like raw BTF, in which byte order.
func IsBTF(data []byte) (binary.ByteOrder, bool) { return byteOrderOf(data) }
