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

// Load reads BTF from a file; see [LoadBytes]. Package btf/btffile also reads compressed files and
// archives.
func Load(path string, base *Spec) (_ *Spec, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return nil, fmt.Errorf("%s: is a directory, want a file with BTF", path)
	}
	start := make([]byte, headerSize)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	if bytes.HasPrefix(start[:n], []byte(elf.ELFMAG)) && fi.Mode().IsRegular() {
		return LoadELF(path, f, fi.Size(), base)
	}
	data := start[:n]
	// Read the rest only if this can be BTF: a device has no end.
	if _, ok := byteOrderOf(start[:n]); ok || bytes.HasPrefix(start[:n], []byte(elf.ELFMAG)) {
		if data, err = readRest(f, start[:n], fi.Size()); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return LoadBytes(path, data, base)
}

// readRest reads the rest of a file, at most one byte more than [MaxRaw] in all. The size is a
// hint, because files of /sys and /proc report none. A buffer for a kernel's BTF is allocated once
// and not cleared, since clearing would take longer than reading.
func readRest(f io.Reader, start []byte, size int64) ([]byte, error) {
	data := make([]byte, max(int64(len(start)), min(size, MaxRaw)))
	n := copy(data, start)
	m, err := io.ReadFull(f, data[n:])
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return data[:n+m], nil
	}
	if err != nil {
		return nil, err
	}
	more, err := io.ReadAll(io.LimitReader(f, MaxRaw+1-int64(len(data))))
	return append(data, more...), err
}

// LoadBytes reads BTF from the content of a file, whose format it detects by content: raw BTF, or
// an ELF file with a .BTF section (vmlinux, module, BPF object). base is the Spec that split BTF
// continues, else nil. name appears in messages and as [Spec.SourceName].
//
// For an ELF module with a .BTF.base section: if base is nil, the module's BTF is parsed on top of
// that section; otherwise it is moved onto base by [Relocate].
func LoadBytes(name string, data []byte, base *Spec) (*Spec, error) {
	if bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		return LoadELF(name, bytes.NewReader(data), int64(len(data)), base)
	}
	s, err := Parse(data, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.setName(name)
	return s, nil
}

// LoadELF is [LoadBytes] for an ELF file of size bytes that is read piecewise: only headers and the
// sections with BTF.
func LoadELF(name string, r io.ReaderAt, size int64, base *Spec) (*Spec, error) {
	s, err := loadELF(r, size, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.setName(name)
	return s, nil
}

func loadELF(r io.ReaderAt, size int64, base *Spec) (*Spec, error) {
	secs, class, err := elfSections(r, size, ".BTF", ".BTF.base")
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

// elfSections returns the content of the named sections, nil for missing ones, and the pointer size
// in bytes that the ELF class implies.
func elfSections(r io.ReaderAt, size int64, names ...string) (secs [][]byte, ptrSize int, err error) {
	defer func() {
		// debug/elf may panic on malformed files; report that as an error.
		if r := recover(); r != nil {
			secs, err = nil, headerError(ErrHeader, "malformed ELF: %v", r)
		}
	}()
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, 0, headerError(ErrHeader, "malformed ELF: %v", err)
	}
	secs = make([][]byte, len(names))
	for i, name := range names {
		sec := f.Section(name)
		if sec == nil || sec.Type == elf.SHT_NOBITS {
			continue
		}
		if sec.Size > MaxRaw || sec.FileSize > MaxRaw {
			return nil, 0, headerError(ErrTooLarge, "section %s has %d bytes; the limit is %d", name, sec.Size, MaxRaw)
		}
		if sec.Flags&elf.SHF_COMPRESSED == 0 && (sec.Offset > uint64(size) || sec.FileSize > uint64(size)-sec.Offset) {
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

// HostPath is where a running Linux kernel exposes its BTF; modules are in the same directory under
// their names.
const HostPath = "/sys/kernel/btf/vmlinux"

// LoadHost reads the BTF of the running kernel. The error wraps fs.ErrNotExist if the kernel has
// none.
func LoadHost() (*Spec, error) { return Load(HostPath, nil) }

// LoadHostModule reads the BTF of a module of the running kernel, on top of vmlinux.
func LoadHostModule(module string, vmlinux *Spec) (*Spec, error) {
	if module != filepath.Base(module) {
		return nil, errors.New("btf: module name " + module + " is a path")
	}
	return Load(filepath.Join(filepath.Dir(HostPath), module), vmlinux)
}

// IsBTF reports whether data starts like raw BTF, and returns its byte order.
func IsBTF(data []byte) (binary.ByteOrder, bool) { return byteOrderOf(data) }
