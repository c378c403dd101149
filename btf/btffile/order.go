package btffile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/bpfrun/bpfrun/btf"
)

// ByteOrder returns the byte order of a file with raw BTF, from its first bytes: of compressed
// files it unpacks no more than those. It returns nil for a file that cannot be read, and for other
// formats (ELF, archives, kernel images), where finding the BTF takes as long as reading it.
func ByteOrder(path string) binary.ByteOrder {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // nothing was written
	// Decompressors read single bytes: without a buffer, each is a system call.
	r := bufio.NewReaderSize(f, 64<<10)
	for n := 0; ; n++ {
		start, err := r.Peek(tarHeader)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
		if order, isBTF := btf.IsBTF(start); isBTF {
			return order
		}
		if n == maxLayers || !isContainer(start) || isTar(start) || isDeb(start) || isImage(start) {
			return nil
		}
		inner, done, err := openLayer(r)
		if err != nil {
			return nil
		}
		defer done()
		r = bufio.NewReaderSize(inner, tarHeader)
	}
}
