package record

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance/paced"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// BTFVerdict loads raw BTF into the running kernel, releases it, and returns the errno of the load,
// 0 if the kernel accepts it. The error is not nil if the load failed for a reason other than the
// BTF.
func BTFVerdict(raw []byte) (uapi.Errno, error) {
	if loads++; loads%btfPauseEvery == 0 {
		paced.Settle(btfPause)
	}
	for range 30 {
		a := struct {
			btf, log                     uint64
			size, logSize, logLevel, out uint32
			_                            [16]byte
		}{btf: pointer(raw), size: uint32(len(raw))}
		fd, err := call(cmdBTFLoad, unsafe.Pointer(&a), unsafe.Sizeof(a))
		runtime.KeepAlive(raw)
		var errno unix.Errno
		switch {
		case err == nil:
			unix.Close(fd)
			return 0, nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOMEM):
			time.Sleep(btfPause)
		case errors.As(err, &errno) && errno != unix.EPERM:
			return uapi.Errno(errno), nil
		default:
			return 0, fmt.Errorf("BPF_BTF_LOAD: %w", err)
		}
	}
	return 0, fmt.Errorf("BPF_BTF_LOAD: %w", unix.EAGAIN)
}

const (
	btfPauseEvery = 50
	btfPause      = 5 * time.Millisecond
)
