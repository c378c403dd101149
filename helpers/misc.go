package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/kernel"
	"github.com/bpfrun/bpfrun/progtype"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var miscHelpers = []Helper{
	{ID: uapi.FuncKallsymsLookupName, Topic: "symbols", Args: []Arg{ArgString, ArgSize, ArgAny, ArgLong}, Fn: kallsymsLookupName},
	{ID: uapi.FuncFindVma, Topic: "task", Args: []Arg{ArgObject, ArgAny, ArgFunc, ArgAny, ArgAny}, Fn: findVMA, Note: "an area of one page around an address that user memory has"},
	{ID: uapi.FuncGetBranchSnapshot, Topic: "tracing", Args: []Arg{ArgOut, ArgSize, ArgAny}, Fn: getBranchSnapshot, Note: "no branch records: -ENOENT"},
	{ID: uapi.FuncReadBranchRecords, Topic: "tracing", Args: []Arg{ArgCtx, ArgOut, ArgSize, ArgAny}, Fn: readBranchRecords, Note: "no branch records: -ENOENT"},
	{ID: uapi.FuncGetRetval, Topic: "cgroups", Fn: getRetval},
	{ID: uapi.FuncSetRetval, Topic: "cgroups", Args: []Arg{ArgAny}, Fn: setRetval},
	{ID: uapi.FuncDPath, Topic: "files", Args: []Arg{ArgObject, ArgOut, ArgSize}, Fn: dPath},
	{ID: uapi.FuncSeqWrite, Topic: "iterators", Args: []Arg{ArgObject, ArgMem, ArgSize}, Fn: seqWrite, Note: "collected as the run's output"},
	{ID: uapi.FuncSeqPrintf, Topic: "iterators", Args: []Arg{ArgObject, ArgMem, ArgSize, ArgMem, ArgSize}, Fn: seqPrintf, Note: "collected as the run's output"},
}

// kallsymsLookupName finds the address of a kernel symbol (bpf_kallsyms_lookup_name).
func kallsymsLookupName(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n := a[1] & 0xffffffff
	name, f := e.read(a[0], n)
	if f != nil {
		return 0, f
	}
	if a[2] != 0 || n <= 1 || name[n-1] != 0 {
		if e.Version < kernelVersion(6, 12) {
			return errnoRet(uapi.EINVAL), nil
		}
		return errnoRet(uapi.EINVAL), e.writeU64(a[3], 0)
	}
	addr, ok := e.Kernel.FindSymbol(cString(name))
	if f := e.writeU64(a[3], addr); f != nil {
		return 0, f
	}
	if !ok {
		return errnoRet(uapi.ENOENT), nil
	}
	return 0, nil
}

// findVMA calls back with the memory area of a user address (bpf_find_vma).
func findVMA(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	switch {
	case a[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	case a[0] == 0:
		return errnoRet(uapi.ENOENT), nil
	}
	task := e.Kernel.ObjectAt(a[0])
	if task == nil {
		return 0, badArg("bpf_find_vma of %#x, which is no task", a[0])
	}
	if mm, err := task.Uint("mm"); err != nil || mm == 0 {
		return errnoRet(uapi.ENOENT), nil
	}
	vma, err := e.Kernel.VMAAt(a[1])
	if err != nil {
		return 0, notSimulated("bpf_find_vma: " + err.Error())
	}
	if vma == nil {
		return errnoRet(uapi.ENOENT), nil
	}
	return 0, t.Invoke(a[2], [5]uint64{a[0], vma.Addr(), a[3]}, fixedResult(0))
}

// fixedResult is the continuation of a helper whose result does not depend on its callback.
type fixedResult uint64

// Resume implements [vm.Continuation].
func (r fixedResult) Resume(*vm.Thread, uint64) (uint64, *vm.Action) { return uint64(r), nil }

func getBranchSnapshot(_ *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if a[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

func readBranchRecords(_ *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	if a[3]&^uint64(uapi.BranchRecordsSize) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

func getRetval(t *vm.Thread, _ *[5]uint64) (uint64, *vm.Action) {
	r := envOf(t).Run
	if v, ok := r.sockoptRetval(); ok {
		return uint64(int64(int32(uint32(v)))), nil
	}
	return uint64(int64(r.Retval)), nil
}

func setRetval(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	r := envOf(t).Run
	if _, ok := r.sockoptRetval(); ok {
		r.Context.SetField("retval", a[0]&0xffffffff)
	}
	r.Retval = int32(uint32(a[0]))
	return 0, nil
}

// sockoptRetval is the return value in the context of a getsockopt program, which is the one the helpers read and set.
func (r *Run) sockoptRetval() (uint64, bool) {
	if r.Context == nil || !progtype.Of(r.ProgType).Takes.Has(progtype.TakesSockopt) {
		return 0, false
	}
	return r.Context.Field("retval")
}

// dPath writes the path of a struct path from the root on (bpf_d_path).
func dPath(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	n := a[2] & 0xffffffff
	if n == 0 {
		return 0, nil
	}
	o, typ, path, ok := e.Kernel.Resolve(a[0])
	if !ok || o == nil {
		return 0, badArg("bpf_d_path of %#x, which is no struct path", a[0])
	}
	at := "dentry"
	if path != "" && o.TypeName() != "path" {
		at = strings.TrimSuffix(path, ".mnt") + ".dentry"
	}
	dentry, err := o.Pointee(at)
	if err != nil {
		return 0, badArg("bpf_d_path of a struct %s: %v", typ, err)
	}
	text := append([]byte(pathOf(dentry)), 0)
	if uint64(len(text)) > n {
		return errnoRet(uapi.ENAMETOOLONG), nil
	}
	return uint64(len(text)), e.write(a[1], text)
}

// pathOf joins the names of a dentry and its parents.
func pathOf(d *kernel.Object) string {
	const most = 64 // directories
	var names []string
	for range most {
		if d == nil {
			break
		}
		parent, err := d.Pointee("d_parent")
		if err != nil || parent == nil || parent == d {
			break
		}
		name := ""
		if s, err := d.Pointee("d_name.name"); err == nil && s != nil {
			name = cString(s.Bytes())
		} else if s, err := d.String("d_iname"); err == nil {
			name = s
		}
		names = append([]string{name}, names...)
		d = parent
	}
	return "/" + strings.Join(names, "/")
}

func seqWrite(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	data, f := e.read(a[1], a[2]&0xffffffff)
	if f != nil {
		return 0, f
	}
	return errnoRet(e.Run.seqPut(data)), nil
}

// seqBuffer is the size of an iterator's buffer: eight pages (kernel/bpf/bpf_iter.c bpf_seq_read).
const seqBuffer = 8 * 4096

// seqPut writes to the sequential file of an iterator. What does not fit overflows it for the rest of the read (fs/seq_file.c).
func (r *Run) seqPut(data []byte) uapi.Errno {
	if r.SeqFull || len(r.Output)-r.SeqStart+len(data) >= seqBuffer {
		r.SeqFull = true
		return uapi.EOVERFLOW
	}
	r.Output = append(r.Output, data...)
	return 0
}

func seqPrintf(t *vm.Thread, a *[5]uint64) (uint64, *vm.Action) {
	e := envOf(t)
	raw, f := e.read(a[1], a[2]&0xffffffff)
	if f != nil {
		return 0, f
	}
	format := cString(raw)
	if len(format) == len(raw) {
		return errnoRet(uapi.EINVAL), nil
	}
	data, f := e.read(a[3], a[4]&0xffffffff)
	if f != nil {
		return 0, f
	}
	args, errno := formatArgs(e.order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	text, errno := formatBPF(e, format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return errnoRet(e.Run.seqPut([]byte(text))), nil
}
