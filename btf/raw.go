package btf

import "bytes"

// RawSection returns BTF as a file has it, without looking at it: the bytes of raw BTF, or of the .BTF section of an ELF file. ptrSize
// is the size of a pointer by the ELF class, 8 for raw BTF. The errors are ErrNotBTF, ErrNoBTF and those of a malformed ELF file.
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
