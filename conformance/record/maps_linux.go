package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/conformance"
	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// liveMap is a map in the kernel.
type liveMap struct {
	*loader.Map
	fd      int
	entries uint32 // max_entries that the map was created with
	// memory holds the pages of a ring buffer that are mapped into this process.
	memory [][]byte
	arena  unsafe.Pointer // the mapped pages of an arena
	perf   []*perfBuffer
}

// defaultMapSize is max_entries for maps whose size is left to tools.
const defaultMapSize = 1

func (k *instance) createMaps() error {
	for _, m := range k.linked.Maps {
		if m.DataKind == loader.DataStructOps || !m.Autocreate {
			continue
		}
		if _, err := k.createMap(m); err != nil {
			return fmt.Errorf("map %s: %w", m.Name, err)
		}
	}
	for _, m := range k.linked.Maps {
		for _, init := range m.Values {
			if init.Map == nil || k.maps[m] == nil {
				continue
			}
			inner, err := k.createMap(init.Map)
			if err != nil {
				return fmt.Errorf("map %s: %w", init.Map.Name, err)
			}
			if err := updateMap(k.maps[m].fd, slot(init.Index), slot(inner.fd)); err != nil {
				return fmt.Errorf("map %s[%d]: %w", m.Name, init.Index, err)
			}
		}
	}
	return nil
}

// slot encodes a 32-bit key or value.
func slot(n int) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

// createMap creates a map, unless it exists, and fills it.
func (k *instance) createMap(m *loader.Map) (*liveMap, error) {
	if live := k.maps[m]; live != nil {
		return live, nil
	}
	a := mapAttr{
		typ: uint32(m.Type), key: m.KeySize, value: m.ValueSize, entries: m.MaxEntries, flags: m.Flags, extra: m.Extra, name: objectName(m.Name),
	}
	switch {
	case m.Type == uapi.MapTypePerfEventArray && a.entries == 0:
		a.entries = uint32(possibleCPUs())
	case a.entries == 0 && verdicts.NeedsSize(m.Type):
		a.entries = defaultMapSize
	}
	if k.types >= 0 && hasTypes(m.Type) {
		a.keyType, a.valueType = uint32(m.KeyType), uint32(m.ValueType)
		if m.DataKind != loader.DataNone {
			a.keyType, a.valueType = 0, uint32(m.Datasec)
		}
		if a.valueType != 0 {
			a.btf = uint32(k.types)
		}
	}
	if m.Inner != nil {
		inner, err := k.createMap(m.Inner)
		if err != nil {
			return nil, err
		}
		a.inner = uint32(inner.fd)
	}
	fd, err := createMap(&a)
	if err != nil && a.btf != 0 {
		a.btf, a.keyType, a.valueType = 0, 0, 0
		fd, err = createMap(&a)
	}
	if err != nil {
		return nil, err
	}
	live := &liveMap{Map: m, fd: fd, entries: a.entries}
	k.maps[m] = live
	return live, k.fill(live)
}

// hasTypes reports whether the kernel accepts BTF for the keys and values of a map type
// (bpf_object__create_map in libbpf).
func hasTypes(t uapi.MapType) bool {
	switch t {
	case uapi.MapTypePerfEventArray, uapi.MapTypeCgroupArray, uapi.MapTypeStackTrace, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps,
		uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap, uapi.MapTypeXskmap, uapi.MapTypeSockmap, uapi.MapTypeSockhash,
		uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeArena, uapi.MapTypeProgArray:
		return false
	}
	return true
}

// fill sets the initial contents of a new map and maps its memory.
func (k *instance) fill(m *liveMap) error {
	page := os.Getpagesize()
	protect := unix.PROT_READ | unix.PROT_WRITE
	switch {
	case m.DataKind == loader.DataJumpTable:
		return fillJumpTable(m)
	case k.bare && m.Data == nil && m.Type != uapi.MapTypeArena:
	case m.Type == uapi.MapTypeArena:
		size, flags := uintptr(m.entries)*uintptr(page), unix.MAP_SHARED
		if m.Extra != 0 {
			flags |= unix.MAP_FIXED_NOREPLACE // map_extra is the address that programs use
		}
		at, err := unix.MmapPtr(m.fd, 0, unsafe.Add(unsafe.Pointer(nil), m.Extra), size, protect, flags)
		if err != nil {
			return fmt.Errorf("map the arena: %w", err)
		}
		all := unsafe.Slice((*byte)(at), size)
		m.arena = at
		copy(all[min(m.ArenaOffset, uint64(len(all))):], m.Data)
	case m.Type == uapi.MapTypeRingbuf:
		consumer, err := unix.Mmap(m.fd, 0, page, protect, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the ring buffer: %w", err)
		}
		producer, err := unix.Mmap(m.fd, int64(page), page+2*int(m.entries), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return errors.Join(fmt.Errorf("map the ring buffer: %w", err), unix.Munmap(consumer))
		}
		m.memory = [][]byte{consumer, producer}
	case m.Type == uapi.MapTypeUserRingbuf:
		producer, err := unix.Mmap(m.fd, int64(page), page+2*int(m.entries), protect, unix.MAP_SHARED)
		if err != nil {
			return fmt.Errorf("map the user ring buffer: %w", err)
		}
		m.memory = [][]byte{producer}
	case m.Type == uapi.MapTypePerfEventArray:
		return m.openPerf()
	case m.Data != nil:
		image := make([]byte, m.ValueSize)
		copy(image, m.Data)
		if err := updateMap(m.fd, slot(0), image); err != nil {
			return err
		}
		if m.Frozen() {
			return freezeMap(m.fd)
		}
	}
	return nil
}

// fillJumpTable writes the targets of a jump table to its instruction array (struct
// bpf_insn_array_value) and freezes the map.
func fillJumpTable(m *liveMap) error {
	for i, target := range m.Slots {
		value := make([]byte, m.ValueSize)
		binary.NativeEndian.PutUint32(value, target)
		if err := updateMap(m.fd, slot(i), value); err != nil {
			return fmt.Errorf("slot %d: %w", i, err)
		}
	}
	return freezeMap(m.fd)
}

func (m *liveMap) close() {
	for _, b := range m.memory {
		unix.Munmap(b)
	}
	if m.arena != nil {
		unix.MunmapPtr(m.arena, uintptr(m.entries)*uintptr(os.Getpagesize()))
	}
	for _, p := range m.perf {
		p.close()
	}
	unix.Close(m.fd)
}

// contents reads a map in the form that cases use. ok is false if the contents of its type are not
// compared.
func (m *liveMap) contents(cpus int) (entries []conformance.MapWant, ok bool, err error) {
	switch m.Type {
	case uapi.MapTypeQueue, uapi.MapTypeStack:
		entries, err = m.popAll()
		return entries, true, err
	case uapi.MapTypeHash, uapi.MapTypeLRUHash, uapi.MapTypeLPMTrie, uapi.MapTypeArray:
		entries, err = m.walk(0)
		return entries, true, err
	case uapi.MapTypePercpuHash, uapi.MapTypePercpuArray, uapi.MapTypeLRUPercpuHash:
		entries, err = m.walk(cpus)
		return entries, true, err
	}
	return nil, false, nil
}

func (m *liveMap) popAll() ([]conformance.MapWant, error) {
	var out []conformance.MapWant
	for range m.entries {
		value := make([]byte, m.ValueSize)
		err := element(cmdMapLookupDel, m.fd, nil, value, 0)
		if errors.Is(err, unix.ENOENT) {
			break
		}
		if err != nil {
			return nil, err
		}
		out = append(out, conformance.MapWant{Value: value})
	}
	return out, nil
}

// walk reads all elements. Elements of arrays that are all zero are left out. cpus is 0 for maps
// that are not per-CPU.
func (m *liveMap) walk(cpus int) ([]conformance.MapWant, error) {
	stride := (int(m.ValueSize) + 7) &^ 7
	array := m.Type == uapi.MapTypeArray || m.Type == uapi.MapTypePercpuArray
	var out []conformance.MapWant
	var last []byte
	for range uint64(m.entries) + 1 {
		key := make([]byte, m.KeySize)
		err := element(cmdMapNextKey, m.fd, last, key, 0)
		if errors.Is(err, unix.ENOENT) {
			break
		}
		if err != nil {
			return nil, err
		}
		last = key
		value := make([]byte, max(int(m.ValueSize), cpus*stride))
		if err := element(cmdMapLookup, m.fd, key, value, 0); errors.Is(err, unix.ENOENT) {
			continue
		} else if err != nil {
			return nil, err
		}
		if array && len(bytes.Trim(value, "\x00")) == 0 {
			continue
		}
		w := conformance.MapWant{Key: key}
		if cpus == 0 {
			w.Value = value
		}
		for cpu := range cpus {
			w.PerCPU = append(w.PerCPU, value[cpu*stride:][:m.ValueSize])
		}
		out = append(out, w)
	}
	return out, nil
}
