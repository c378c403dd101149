package helpers

import (
	"github.com/bpfrun/bpfrun/maps"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var storageHelpers = []row{
	{ID: uapi.FuncTaskStorageGet, Do: storageGet},
	{ID: uapi.FuncTaskStorageDelete, Do: storageDelete},
	{ID: uapi.FuncSkStorageGet, Do: storageGet},
	{ID: uapi.FuncSkStorageDelete, Do: storageDelete},
	{ID: uapi.FuncInodeStorageGet, Do: storageGet},
	{ID: uapi.FuncInodeStorageDelete, Do: storageDelete},
	{ID: uapi.FuncCgrpStorageGet, Do: storageGet},
	{ID: uapi.FuncCgrpStorageDelete, Do: storageDelete},
	{ID: uapi.FuncGetLocalStorage, Do: getLocalStorage, Note: "of the current task's cgroup"},
}

// storageAt returns the storage map and checks that owner can have storage: it must be some object.
func (e *Env) storageAt(mapAddr, owner uint64) (maps.LocalStorage, *vm.Action) {
	m, f := e.mapAt(mapAddr)
	if f != nil {
		return nil, f
	}
	s, ok := m.(maps.LocalStorage)
	if !ok {
		return nil, wrongMap(m)
	}
	if owner != 0 && (e.Kernel.IsUserAddress(owner) || e.Mem.Find(owner) == nil) {
		return nil, badArg("%#x owns no storage in map %s: nothing is there", owner, m.Spec().Name)
	}
	return s, nil
}

// storageOwner is the address that stands for an owner: a socket has several.
func (e *Env) storageOwner(m maps.LocalStorage, addr uint64) uint64 {
	if m.Spec().Type == uapi.MapTypeSkStorage && addr != 0 {
		if s := e.Kernel.SocketAt(addr); s != nil {
			return s.Key()
		}
	}
	return addr
}

// storageGet returns NULL for a NULL owner, for unknown flags, and without BPF_LOCAL_STORAGE_GET_F_CREATE for an owner
// that has none yet (bpf_task_storage_get and its kin).
func storageGet(c *Call) (uint64, *vm.Action) {
	s, f := c.storageAt(c.Args[0], c.Args[1])
	if f != nil {
		return 0, f
	}
	if c.Args[1] == 0 || c.Args[3]&^uint64(uapi.LocalStorageGetCreate) != 0 {
		return 0, nil
	}
	create := c.Args[3] != 0
	var init []byte
	if create {
		init = c.In(2)
	}
	addr, errno := s.Get(c.storageOwner(s, c.Args[1]), init, create)
	if errno != 0 {
		return 0, nil
	}
	return addr, nil
}

func storageDelete(c *Call) (uint64, *vm.Action) {
	s, f := c.storageAt(c.Args[0], c.Args[1])
	if f != nil {
		return 0, f
	}
	if c.Args[1] == 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(s.DeleteOwner(c.storageOwner(s, c.Args[1]))), nil
}

// getLocalStorage is the older cgroup storage, which exists from the attachment on and is never NULL.
func getLocalStorage(c *Call) (uint64, *vm.Action) {
	s, f := c.storageAt(c.Args[0], 0)
	if f != nil {
		return 0, f
	}
	owner := c.Kernel.CgroupID()
	if _, errno := s.Get(owner, nil, true); errno != 0 {
		return 0, badArg("bpf_get_local_storage: %v", errno)
	}
	key := make([]byte, 8)
	c.order().PutUint64(key, owner)
	addr, errno := s.Lookup(c.Thread.CPU, key)
	if errno != 0 {
		return 0, badArg("bpf_get_local_storage: %v", errno)
	}
	return addr, nil
}
