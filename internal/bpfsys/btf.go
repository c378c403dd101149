package bpfsys

import (
	"errors"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// BTF is type information: an object loaded by a caller, or that of the kernel or a module.
type BTF struct {
	object
	spec   *btf.Spec
	raw    []byte
	kernel bool
}

// maxBTF is the kernel's limit on the size of BTF, in bytes (BTF_MAX_SIZE).
const maxBTF = 16 << 20

func (s *System) btfLoad(c Caller, a bpfattr.BtfLoad) Result {
	size := a.BtfSize()
	flags := uint32(0)
	if s.has(since.Tokens) {
		flags = a.BtfFlags()
	}
	const tokenFD = 1 << 16 // BPF_F_TOKEN_FD
	switch {
	case flags&^uint32(tokenFD) != 0:
		return fail(uapi.EINVAL)
	}
	if _, e := s.tokenOf(c, flags&tokenFD != 0, a.BtfTokenFd(), uapi.CmdBtfLoad, func(Delegation) bool { return true }, capBPF); e != 0 {
		return fail(e)
	}
	if size > maxBTF {
		return fail(uapi.E2BIG)
	}
	log := logArgs{level: a.BtfLogLevel(), size: a.BtfLogSize(), buf: a.BtfLogBuf()}
	if a.HasBtfLogTrueSize() {
		log.putTrueSize = a.PutBtfLogTrueSize
	}
	out, e := newLog(c, log, s.rules)
	if e != 0 {
		return fail(e)
	}
	raw := make([]byte, size)
	if !c.Read(a.Btf(), raw) {
		return fail(uapi.EFAULT)
	}
	if s.full(KindBTF) || int(size) > maxLoaded-s.loaded {
		return fail(uapi.ENOMEM)
	}
	errno := uapi.EINVAL
	spec, err := (*btf.Spec)(nil), check.BTF(raw, check.Options{Release: s.release})
	if p := (*check.Problem)(nil); errors.As(err, &p) {
		errno = p.Errno
	}
	if err == nil {
		spec, err = btf.Parse(raw, nil)
	}
	if err != nil {
		out.printf("%v\n", err)
		if e := out.finish(s.rules); e != 0 {
			return fail(e)
		}
		return fail(errno)
	}
	if e := out.finish(s.rules); e != 0 {
		return fail(e)
	}
	b := &BTF{spec: spec, raw: raw}
	s.loaded += len(raw)
	s.add(b, KindBTF, "", func() { s.loaded -= len(raw) })
	return s.newFile(b, ReadOnly)
}

// userTypes returns BTF that user space loaded; that of the kernel is refused (btf_get_by_fd,
// btf_is_kernel).
func userTypes(c Caller, fd int32) (*BTF, uapi.Errno) {
	b, _, e := fileOf[*BTF](c, fd)
	if e == 0 && b.kernel {
		e = uapi.EACCES
	}
	return b, e
}
