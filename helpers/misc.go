package helpers

import (
	"strings"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var miscHelpers = []row{
	{ID: uapi.FuncKallsymsLookupName, Do: kallsymsLookupName},
	{ID: uapi.FuncFindVma, Do: findVMA, Note: "an area of one page around an address that user memory has"},
	{ID: uapi.FuncGetBranchSnapshot, Do: getBranchSnapshot, Note: "no branch records: -ENOENT"},
	{ID: uapi.FuncReadBranchRecords, Do: readBranchRecords, Note: "no branch records: -ENOENT"},
	{ID: uapi.FuncGetRetval, Do: getRetval},
	{ID: uapi.FuncSetRetval, Do: setRetval},
	{ID: uapi.FuncDPath, Do: dPath},
	{ID: uapi.FuncSeqWrite, Do: seqWrite, Note: "collected as the run's output"},
	{ID: uapi.FuncSeqPrintf, Do: seqPrintf, Note: "collected as the run's output"},
}

// kallsymsLookupName finds the address of a kernel symbol (bpf_kallsyms_lookup_name).
func kallsymsLookupName(c *Call) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	name := c.In(0)
	if c.Args[2] != 0 || n <= 1 || name[n-1] != 0 {
		if !c.has(since.KallsymsZero) {
			return errnoRet(uapi.EINVAL), nil
		}
		return errnoRet(uapi.EINVAL), c.guest.WriteU64(c.Args[3], 0)
	}
	addr, ok := c.Kernel.FindSymbol(cString(name))
	f := c.guest.WriteU64(c.Args[3], addr)
	if !ok {
		return errnoRet(uapi.ENOENT), f
	}
	return 0, f
}

// findVMA calls back with the memory area that contains a user address (bpf_find_vma).
func findVMA(c *Call) (uint64, *vm.Action) {
	switch {
	case c.Args[4] != 0:
		return errnoRet(uapi.EINVAL), nil
	case c.Args[0] == 0:
		return errnoRet(uapi.ENOENT), nil
	}
	task := c.Kernel.ObjectAt(c.Args[0])
	if task == nil {
		return 0, badArg("bpf_find_vma of %#x, which is not a task", c.Args[0])
	}
	mm, err := task.Pointee("mm")
	if err != nil || mm == nil {
		return errnoRet(uapi.ENOENT), nil
	}
	vma, err := c.Kernel.VMAAt(mm, c.Args[1])
	if err != nil {
		return 0, notSimulated("bpf_find_vma: " + err.Error())
	}
	if vma == nil {
		return errnoRet(uapi.ENOENT), nil
	}
	return 0, c.Thread.Invoke(c.Args[2], [5]uint64{c.Args[0], vma.Addr(), c.Args[3]}, fixedResult(0))
}

// fixedResult is the continuation of a helper whose result does not depend on its callback.
type fixedResult uint64

// Resume implements [vm.Continuation].
func (r fixedResult) Resume(*vm.Thread, uint64) (uint64, *vm.Action) { return uint64(r), nil }

func getBranchSnapshot(c *Call) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

func readBranchRecords(c *Call) (uint64, *vm.Action) {
	if c.Args[3]&^uint64(uapi.BranchRecordsSize) != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

func getRetval(c *Call) (uint64, *vm.Action) {
	r := c.Run
	if v, ok := r.sockoptRetval(); ok {
		return uint64(int64(int32(uint32(v)))), nil
	}
	return uint64(int64(r.Retval)), nil
}

func setRetval(c *Call) (uint64, *vm.Action) {
	r := c.Run
	if _, ok := r.sockoptRetval(); ok {
		r.Context.SetField("retval", c.Args[0]&0xffffffff)
	}
	r.Retval = int32(uint32(c.Args[0]))
	return 0, nil
}

// sockoptRetval returns the return value in the context of a getsockopt program, which is the one
// the helpers read and set.
func (r *Run) sockoptRetval() (uint64, bool) {
	if r.Context == nil || !progtype.Of(r.ProgType).Takes.Has(progtype.TakesSockopt) {
		return 0, false
	}
	return r.Context.Field("retval")
}

// dPath writes the path of a struct path, starting at the root (bpf_d_path).
func dPath(c *Call) (uint64, *vm.Action) {
	n := c.Args[2] & 0xffffffff
	if n == 0 {
		return 0, nil
	}
	o, typ, path, ok := c.Kernel.Resolve(c.Args[0])
	if !ok || o == nil {
		return 0, badArg("bpf_d_path of %#x, which is not a struct path", c.Args[0])
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
	return uint64(len(text)), c.guest.Write(c.Args[1], text)
}

// pathOf joins the names of a dentry and its parents.
func pathOf(d *object.Object) string {
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
		name, _ := d.String("d_name.name")
		names = append([]string{name}, names...)
		d = parent
	}
	return "/" + strings.Join(names, "/")
}

func seqWrite(c *Call) (uint64, *vm.Action) {
	data := c.In(1)
	return errnoRet(c.Run.seqPut(data)), nil
}

func seqPrintf(c *Call) (uint64, *vm.Action) {
	raw := c.In(1)
	format := cString(raw)
	if len(format) == len(raw) {
		return errnoRet(uapi.EINVAL), nil
	}
	data := c.In(3)
	args, errno := printf.Args(c.guest.Order(), data)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	text, errno := c.print.Print(format, args)
	if errno != 0 {
		return errnoRet(errno), nil
	}
	return errnoRet(c.Run.seqPut([]byte(text))), nil
}
