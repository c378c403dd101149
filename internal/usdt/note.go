package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Errors of [Find].
var (
	ErrNoNotes = errors.New("has no USDT probes (no section .note.stapsdt)")
	ErrNote    = errors.New("has a USDT note that is cut off")
	ErrFormat  = errors.New("is no 64-bit ELF file, the only kind whose probes libbpf attaches to")
)

// maxNotes limits the size of the notes in bytes.
const maxNotes = 16 << 20

// noteType is the type of the notes of USDT probes.
const noteType = 3

// Note is a place where a binary has a probe.
type Note struct {
	Provider, Name string
	Args           string
	Addr           uint64
}

// machines are the architectures by the number in the ELF header.
var machines = map[elf.Machine]string{elf.EM_X86_64: "x86", elf.EM_AARCH64: "arm64"}

// Find returns the places of a probe in a binary of an architecture, in the order of their notes
// (collect_usdt_targets).
func Find(r io.ReaderAt, arch, provider, name string) ([]Note, error) {
	f, err := elf.NewFile(r)
	if err != nil || f.Class != elf.ELFCLASS64 {
		return nil, ErrFormat
	}
	if machines[f.Machine] != arch {
		return nil, fmt.Errorf("is for %v, and the kernel for %s", f.Machine, arch)
	}
	s := f.Section(".note.stapsdt")
	if s == nil {
		return nil, ErrNoNotes
	}
	if s.Size > maxNotes {
		return nil, fmt.Errorf("has notes of %d bytes; the limit is %d", s.Size, maxNotes)
	}
	data, err := s.Data()
	if err != nil {
		return nil, ErrNote
	}
	var found []Note
	var others []string
	for len(data) > 0 {
		n, rest, err := nextNote(f.ByteOrder, data)
		if err != nil {
			return nil, err
		}
		if data = rest; n == nil {
			continue
		}
		if n.Provider == provider && n.Name == name {
			found = append(found, *n)
		} else if len(others) < 8 {
			others = append(others, n.Provider+":"+n.Name)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("has no probe %s:%s; it has %v", provider, name, others)
	}
	return found, nil
}

// nextNote parses the first of several notes; nil if it is not a probe's.
func nextNote(order binary.ByteOrder, data []byte) (n *Note, rest []byte, err error) {
	const header, fields = 12, 24
	if len(data) < header {
		return nil, nil, ErrNote
	}
	nameSize, descSize := uint64(order.Uint32(data)), uint64(order.Uint32(data[4:]))
	at := header + (nameSize+3)&^3
	end := at + (descSize+3)&^3
	if at+descSize > uint64(len(data)) {
		return nil, nil, ErrNote
	}
	kind, owner, desc := order.Uint32(data[8:]), data[header:header+nameSize], data[at:at+descSize]
	rest = data[min(end, uint64(len(data))):]
	if kind != noteType || string(owner) != "stapsdt\x00" {
		return nil, rest, nil
	}
	if len(desc) < fields {
		return nil, nil, ErrNote
	}
	text := bytes.SplitN(desc[fields:], []byte{0}, 4)
	if len(text) < 4 {
		return nil, nil, ErrNote
	}
	return &Note{Provider: string(text[0]), Name: string(text[1]), Args: string(text[2]), Addr: order.Uint64(desc)}, rest, nil
}
