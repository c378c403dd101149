package btffile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/bpfrun/bpfrun/btf"
)

// Load reads BTF from a file, whose format it detects by content: what [btf.Load] reads, optionally
// compressed with xz, gzip or zstd; tar archives such as BTFHub's .btf.tar.xz, whose first file
// with BTF is taken; kernel images (vmlinuz); Debian packages with a kernel; and a kernel of an
// archive of package pack, whose path is that of the archive, a slash and the kernel's name. base is
// the Spec that split BTF continues, otherwise nil.
func Load(path string, base *btf.Spec) (*btf.Spec, error) { return (*Cache)(nil).Load(path, base) }

// LoadBytes is [Load] for the content of a file. name is used in messages and as the Spec's source
// name.
func LoadBytes(name string, data []byte, base *btf.Spec) (*btf.Spec, error) {
	return (*Cache)(nil).loadBytes(name, data, "", base)
}

// container returns the content of a compressed file or archive, nil for other files.
func container(path string) (_ []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	start := make([]byte, tarHeader)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || !isContainer(start[:n]) {
		return nil, nil // btf.Load reports the error
	}
	data := bytes.NewBuffer(start[:n])
	if fi, err := f.Stat(); err == nil {
		data.Grow(int(min(fi.Size(), maxUnpacked)) + bytes.MinRead)
	}
	if n, err := data.ReadFrom(io.LimitReader(f, maxUnpacked)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	} else if n == maxUnpacked {
		return nil, fmt.Errorf("%s: %w", path, failure(btf.ErrTooLarge, "more than %d bytes", int64(maxUnpacked)))
	}
	return data.Bytes(), nil
}

// failure returns an error of package btf about a file as a whole.
func failure(kind error, format string, args ...any) error {
	return &btf.Error{Offset: -1, Detail: fmt.Sprintf(format, args...), Err: kind}
}
