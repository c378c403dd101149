package helpers

import (
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var storageHelpers = []row{
	{ID: uapi.FuncTaskStorageGet, Do: onStorage(storageGet)},
	{ID: uapi.FuncTaskStorageDelete, Do: onStorage(storageDelete)},
	{ID: uapi.FuncSkStorageGet, Do: onStorage(storageGet)},
	{ID: uapi.FuncSkStorageDelete, Do: onStorage(storageDelete)},
	{ID: uapi.FuncInodeStorageGet, Do: onStorage(storageGet)},
	{ID: uapi.FuncInodeStorageDelete, Do: onStorage(storageDelete)},
	{ID: uapi.FuncCgrpStorageGet, Do: onStorage(storageGet)},
	{ID: uapi.FuncCgrpStorageDelete, Do: onStorage(storageDelete)},
	{ID: uapi.FuncGetLocalStorage, Do: onStorage(getLocalStorage), Note: "of the current task's cgroup"},
}

// checkOwner makes an owner that is not an object a fault.
func (c *Call) checkOwner(m maps.Map, owner uint64) *vm.Action {
	if owner != 0 && (c.Kernel.IsUserAddress(owner) || c.Mem.Find(owner) == nil) {
		return badArg("%#x cannot own storage in map %s: no object is at this address", owner, m.Spec().Name)
	}
	return nil
}

// storageGet returns NULL for a NULL owner, for unknown flags, and, without
// BPF_LOCAL_STORAGE_GET_F_CREATE, for an owner without storage (bpf_task_storage_get and related
// helpers).
func storageGet(c *Call, s maps.LocalStorage) (uint64, *vm.Action) {
	if f := c.checkOwner(s, c.Args[1]); f != nil {
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

func storageDelete(c *Call, s maps.LocalStorage) (uint64, *vm.Action) {
	f := c.checkOwner(s, c.Args[1])
	if f != nil || c.Args[1] == 0 {
		return errnoRet(uapi.EINVAL), f
	}
	return errnoRet(s.DeleteOwner(c.storageOwner(s, c.Args[1]))), nil
}

// getLocalStorage returns the older cgroup storage, which exists from attachment on and is never
// NULL.
func getLocalStorage(c *Call, s maps.LocalStorage) (uint64, *vm.Action) {
	owner := c.Run.CgroupStorage
	if owner == 0 {
		owner = c.Kernel.CgroupID()
	}
	if _, errno := s.Get(owner, nil, true); errno != 0 {
		return 0, badArg("bpf_get_local_storage: %v", errno)
	}
	key := make([]byte, 8)
	c.guest.Order().PutUint64(key, owner)
	addr, errno := s.Lookup(c.Thread.CPU, key)
	if errno != 0 {
		return 0, badArg("bpf_get_local_storage: %v", errno)
	}
	return addr, nil
}
