package btffile

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/lazyre"
)

// magicAr starts ar(1) archives such as Debian packages (deb(5)): debian-binary, control.tar.*,
// data.tar.*.
var magicAr = []byte("!<arch>\n")

// arHeader is the size in bytes of a member's header: name 16, times, ids and mode 32, size 10,
// magic 2.
const arHeader = 60

func isDeb(data []byte) bool {
	return bytes.HasPrefix(data, magicAr) && len(data) > len(magicAr)+arHeader && bytes.HasPrefix(data[len(magicAr):], []byte("debian-binary"))
}

// kernelFile matches the kernel in a package: the bootable image, or the one with debug
// information.
var kernelFile = lazyre.New(`^(\./)?((usr/lib/debug/)?boot/vmlinu[xz]-[^/]+|(usr/)?lib/modules/[^/]+/vmlinu[xz]|usr/lib/debug/(usr/)?lib/modules/[^/]+/vmlinux)$`)

// undeb opens the kernel in a Debian package.
func undeb(r *bufio.Reader) (io.Reader, func(), error) {
	t, done, err := debFiles(r)
	if err != nil {
		return nil, nil, err
	}
	for {
		h, err := t.Next()
		if err != nil {
			done()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil, nil, failure(btf.ErrNoBTF, "deb: no kernel in the package: want linux-image-RELEASE (linux-binary-RELEASE since 7.x) or linux-image-RELEASE-dbg")
		case err != nil:
			return nil, nil, unpackError(fmt.Errorf("deb: %w", err))
		case h.Typeflag == tar.TypeReg && kernelFile.MatchString(h.Name):
			return &bounded{r: t, what: "deb: " + h.Name, left: maxUnpacked}, done, nil
		}
	}
}

// debFiles opens the files in a Debian package. done releases its resources.
func debFiles(r *bufio.Reader) (t *tar.Reader, done func(), err error) {
	data, err := debData(r)
	if err != nil {
		return nil, nil, err
	}
	in, done := io.Reader(data), func() {}
	if start, _ := data.Peek(tarHeader); len(start) > 0 && !isTar(start) { // an error comes again with the first read
		if !isContainer(start) {
			return nil, nil, failure(btf.ErrNotBTF, "deb: unknown compression of the package's data (want xz, zstd or gzip)")
		}
		if in, done, err = openLayer(data); err != nil {
			return nil, nil, err
		}
	}
	return tar.NewReader(in), done, nil
}

// debData returns the member data.tar.* of a package.
func debData(r *bufio.Reader) (*bufio.Reader, error) {
	if _, err := r.Discard(len(magicAr)); err != nil {
		return nil, unpackError(err)
	}
	for {
		header := make([]byte, arHeader)
		if _, err := io.ReadFull(r, header); err != nil {
			return nil, failure(btf.ErrTruncated, "deb: no data.tar: %v", err)
		}
		size, err := strconv.ParseInt(strings.TrimSpace(string(header[48:58])), 10, 64)
		if err != nil || size < 0 || string(header[58:]) != "`\n" {
			return nil, failure(btf.ErrTruncated, "deb: malformed member header")
		}
		if strings.HasPrefix(string(header), "data.tar") {
			return bufio.NewReaderSize(io.LimitReader(r, size), 64<<10), nil
		}
		if _, err := io.CopyN(io.Discard, r, size+size%2); err != nil {
			return nil, failure(btf.ErrTruncated, "deb: %v", err)
		}
	}
}
