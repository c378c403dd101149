package bpfsys

import (
	"errors"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/loader"
)

// Sizes of CO-RE records: that of struct bpf_core_relo, and the most that a caller may pass
// (MAX_FUNCINFO_REC_SIZE).
const (
	coreRecord    = 16
	maxCoreRecord = 252
)

// maxCoreRecords limits the records of one program. A kernel takes up to 2^27 of them; a program
// has at most as many instructions.
const maxCoreRecords = maxInsns

// relocate applies the CO-RE records that are passed with a program, as light skeletons do
// (check_core_relo), and reports whether there were any. As in a kernel, a program without function
// and line information has none.
func (s *System) relocate(c Caller, a bpfattr.ProgLoad, p *Prog, raw *loader.Raw, out *userLog) (bool, Result) {
	n, size := a.CoreReloCnt(), a.CoreReloRecSize()
	switch {
	case n == 0 || p.types == nil:
		return false, Result{}
	case n > 1<<31/coreRecord-1, size < coreRecord, size > maxCoreRecord, size%4 != 0:
		return false, fail(uapi.EINVAL)
	case n > maxCoreRecords:
		return false, Result{Errno: uapi.ENOMEM, Note: "a program with more than " + utoa(maxCoreRecords) + " CO-RE records (core_relo_cnt) is not served"}
	}
	target := corerelo.Target{InKernel: true}
	if s.vmlinux != nil {
		target.BTF = s.vmlinux.spec
	}
	for _, m := range s.target.Modules {
		target.Modules, target.ModuleNames = append(target.Modules, m.BTF), append(target.ModuleNames, m.Name)
	}
	res := corerelo.NewResolver(p.types.spec, target)
	b := make([]byte, size)
	for i := range n {
		if i%1024 == 1023 && c.Interrupted() {
			return false, fail(uapi.EINTR)
		}
		if !c.Read(a.CoreRelos()+uint64(i)*uint64(size), b) {
			return false, fail(uapi.EFAULT)
		}
		if !zeroFrom(b, coreRecord) {
			out.printf("nonzero tailing record in core_relo")
			if !a.PutCoreReloRecSize(coreRecord) {
				return false, fail(uapi.EFAULT)
			}
			return false, fail(uapi.E2BIG)
		}
		off := le.Uint32(b)
		if off%8 != 0 || int(off/8) >= len(raw.Insns) {
			out.printf("Invalid core_relo[%d].insn_off:%d prog->len:%d\n", i, off, len(raw.Insns))
			return false, fail(uapi.EINVAL)
		}
		access, ok := p.types.spec.String(le.Uint32(b[8:]))
		if !ok {
			access = "<?>" // so does the kernel write it
		}
		rel, err := res.Resolve(corerelo.Record{InsnOff: off, TypeID: btf.ID(le.Uint32(b[4:])), Access: access, Kind: corerelo.Kind(le.Uint32(b[12:]))})
		var patch *corerelo.Patch
		if err == nil {
			var done corerelo.Patch
			done, err = rel.Apply(raw.Insns, int(off/8))
			patch = &done
		}
		if out.level != 0 {
			for _, line := range rel.KernelLog(int(i), patch, err) {
				out.printf("%s\n", line)
			}
		}
		if err != nil {
			return false, fail(coreErrno(err))
		}
	}
	return true, Result{}
}

// coreErrno returns the error number of a relocation that failed.
func coreErrno(err error) uapi.Errno {
	var e *corerelo.Error
	if errors.As(err, &e) && e.Errno < 0 {
		return uapi.Errno(-e.Errno)
	}
	return uapi.EINVAL
}
