package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// embeddedObjects returns the ELF images for machine BPF (247) that are embedded in an executable,
// in file order. An image ends with its section header table or its last section, whichever is
// later.
func embeddedObjects(exe []byte) [][]byte {
	var images [][]byte
	for at := 0; at < len(exe); at++ {
		i := bytes.Index(exe[at:], []byte(elf.ELFMAG))
		if i < 0 {
			break
		}
		at += i
		if img := cutObject(exe[at:]); img != nil {
			images = append(images, img)
			at += len(img) - 1
		}
	}
	return images
}

func cutObject(b []byte) []byte {
	const headerSize, sectionSize = 64, 64
	if len(b) < headerSize || b[elf.EI_CLASS] != byte(elf.ELFCLASS64) {
		return nil
	}
	var bo binary.ByteOrder = binary.LittleEndian
	if b[elf.EI_DATA] == byte(elf.ELFDATA2MSB) {
		bo = binary.BigEndian
	}
	if elf.Machine(bo.Uint16(b[18:])) != elf.EM_BPF {
		return nil
	}
	size := uint64(len(b))
	shoff, shentsize, shnum := bo.Uint64(b[40:]), uint64(bo.Uint16(b[58:])), uint64(bo.Uint16(b[60:]))
	end := shoff + shentsize*shnum
	if shentsize != sectionSize || shnum == 0 || shoff < headerSize || end < shoff || end > size {
		return nil
	}
	for i := uint64(0); i < shnum; i++ {
		sh := b[shoff+i*shentsize:]
		if elf.SectionType(bo.Uint32(sh[4:])) == elf.SHT_NOBITS {
			continue
		}
		off, n := bo.Uint64(sh[24:]), bo.Uint64(sh[32:])
		if off > size || n > size-off {
			return nil
		}
		end = max(end, off+n)
	}
	return b[:end]
}
