package btf

import "bytes"

// RawSection returns BTF without parsing it: raw BTF as it is, or the .BTF section of an ELF file.
// ptrSize is the pointer size in bytes that the ELF class implies, 8 for raw BTF. The errors are
// ErrNotBTF, ErrNoBTF and those of a malformed ELF file.
func RawSection(data []byte) (raw []byte, ptrSize int, err error) {
	if !bytes.HasPrefix(data, []byte("\x7fELF")) {
		if _, ok := byteOrderOf(data); !ok {
			return nil, 0, headerError(ErrNotBTF, "neither an ELF file nor raw BTF")
		}
		return data, 8, nil
	}
	secs, ptrSize, err := elfSections(bytes.NewReader(data), int64(len(data)), ".BTF")
	if err != nil {
		return nil, 0, err
	}
	if secs[0] == nil {
		return nil, 0, headerError(ErrNoBTF, "the ELF file has no section .BTF")
	}
	return secs[0], ptrSize, nil
}
