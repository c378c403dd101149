package verifier

import (
	"slices"
	"sync"

	"github.com/bpfrun/bpfrun/helpers/printf"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/internal/verifier/refusal"
)

// hasDirectValue reports whether the address of a map's values is known when the program is loaded
// (map_direct_value_addr).
func hasDirectValue(t uapi.MapType) bool {
	return t == uapi.MapTypeArray || t == uapi.MapTypeArena || t == uapi.MapTypeInsnArray
}

// mapsOfFunc pairs helpers with the map types that they are for (check_map_func_compatibility). A
// helper without a row is for maps of every type; a type that a row names takes no helpers but
// those that name it, with the exceptions in alsoTakes.
var mapsOfFunc = sync.OnceValue(func() map[uapi.FuncID][]uapi.MapType {
	return map[uapi.FuncID][]uapi.MapType{
		uapi.FuncTailCall:               {uapi.MapTypeProgArray},
		uapi.FuncPerfEventRead:          {uapi.MapTypePerfEventArray},
		uapi.FuncPerfEventOutput:        {uapi.MapTypePerfEventArray},
		uapi.FuncPerfEventReadValue:     {uapi.MapTypePerfEventArray},
		uapi.FuncSkbOutput:              {uapi.MapTypePerfEventArray},
		uapi.FuncXDPOutput:              {uapi.MapTypePerfEventArray},
		uapi.FuncRingbufOutput:          {uapi.MapTypeRingbuf},
		uapi.FuncRingbufReserve:         {uapi.MapTypeRingbuf},
		uapi.FuncRingbufQuery:           {uapi.MapTypeRingbuf},
		uapi.FuncRingbufReserveDynptr:   {uapi.MapTypeRingbuf},
		uapi.FuncUserRingbufDrain:       {uapi.MapTypeUserRingbuf},
		uapi.FuncGetStackid:             {uapi.MapTypeStackTrace},
		uapi.FuncCurrentTaskUnderCgroup: {uapi.MapTypeCgroupArray},
		uapi.FuncSkbUnderCgroup:         {uapi.MapTypeCgroupArray},
		uapi.FuncRedirectMap:            {uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap, uapi.MapTypeXskmap},
		uapi.FuncSkRedirectMap:          {uapi.MapTypeSockmap},
		uapi.FuncMsgRedirectMap:         {uapi.MapTypeSockmap},
		uapi.FuncSockMapUpdate:          {uapi.MapTypeSockmap},
		uapi.FuncSkRedirectHash:         {uapi.MapTypeSockhash},
		uapi.FuncMsgRedirectHash:        {uapi.MapTypeSockhash},
		uapi.FuncSockHashUpdate:         {uapi.MapTypeSockhash},
		uapi.FuncGetLocalStorage:        {uapi.MapTypeCgroupStorage, uapi.MapTypePercpuCgroupStorage},
		uapi.FuncSkSelectReuseport:      {uapi.MapTypeReuseportSockarray, uapi.MapTypeSockmap, uapi.MapTypeSockhash},
		uapi.FuncMapPopElem:             {uapi.MapTypeQueue, uapi.MapTypeStack},
		uapi.FuncMapPeekElem:            {uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeBloomFilter},
		uapi.FuncMapPushElem:            {uapi.MapTypeQueue, uapi.MapTypeStack, uapi.MapTypeBloomFilter},
		uapi.FuncMapLookupPercpuElem:    {uapi.MapTypePercpuArray, uapi.MapTypePercpuHash, uapi.MapTypeLRUPercpuHash},
		uapi.FuncSkStorageGet:           {uapi.MapTypeSkStorage},
		uapi.FuncSkStorageDelete:        {uapi.MapTypeSkStorage},
		uapi.FuncInodeStorageGet:        {uapi.MapTypeInodeStorage},
		uapi.FuncInodeStorageDelete:     {uapi.MapTypeInodeStorage},
		uapi.FuncTaskStorageGet:         {uapi.MapTypeTaskStorage},
		uapi.FuncTaskStorageDelete:      {uapi.MapTypeTaskStorage},
		uapi.FuncCgrpStorageGet:         {uapi.MapTypeCgrpStorage},
		uapi.FuncCgrpStorageDelete:      {uapi.MapTypeCgrpStorage},
	}
})

// alsoTakes lists which of the helpers for maps of every type a type takes that has helpers of its
// own, or takes few.
var alsoTakes = map[uapi.MapType][]uapi.FuncID{
	uapi.MapTypeRingbuf:      {uapi.FuncRingbufSubmitDynptr, uapi.FuncRingbufDiscardDynptr},
	uapi.MapTypeDevmap:       {uapi.FuncMapLookupElem},
	uapi.MapTypeDevmapHash:   {uapi.FuncMapLookupElem},
	uapi.MapTypeXskmap:       {uapi.FuncMapLookupElem},
	uapi.MapTypeArrayOfMaps:  {uapi.FuncMapLookupElem},
	uapi.MapTypeHashOfMaps:   {uapi.FuncMapLookupElem},
	uapi.MapTypeSockmap:      {uapi.FuncMapLookupElem},
	uapi.MapTypeSockhash:     {uapi.FuncMapLookupElem},
	uapi.MapTypeSkStorage:    {uapi.FuncKptrXchg},
	uapi.MapTypeInodeStorage: {uapi.FuncKptrXchg},
	uapi.MapTypeTaskStorage:  {uapi.FuncKptrXchg},
	uapi.MapTypeCgrpStorage:  {uapi.FuncKptrXchg},
	uapi.MapTypeInsnArray:    {},
}

// closedTypes are the map types that do not take every helper for maps.
var closedTypes = sync.OnceValue(func() map[uapi.MapType]bool {
	closed := map[uapi.MapType]bool{}
	for t := range alsoTakes {
		closed[t] = true
	}
	for id, types := range mapsOfFunc() {
		for _, t := range types {
			// The maps of that one take all other helpers, too.
			closed[t] = closed[t] || id != uapi.FuncMapLookupPercpuElem
		}
	}
	return closed
})

// takes reports whether maps of a type may be passed to a helper (check_map_func_compatibility).
// Maps of one type store something other than values, or keep it where other operations would not
// find it.
func takes(t uapi.MapType, id uapi.FuncID) bool {
	if types, ok := mapsOfFunc()[id]; ok {
		return slices.Contains(types, t)
	}
	return !closedTypes()[t] || slices.Contains(alsoTakes[t], id)
}

// checkMapFunc checks that a helper accepts the map that it was passed.
func (c *helpers) checkMapFunc(m *callMeta, id uapi.FuncID) {
	if m.mapp == nil {
		return
	}
	t := m.mapp.Type
	ok := takes(t, id) || ringbufFunc(id) && !c.has(since.RingbufMaps) && !closedTypes()[t]
	if !ok && (t == uapi.MapTypeSockmap || t == uapi.MapTypeSockhash) {
		ok = c.updatesSockmap(id)
	}
	if !ok {
		h, _ := proto.Lookup(id)
		c.refuse(refusal.CannotPassMapTypeIntoFunc, t, h.Name(), int32(id))
	}
}

// ringbufFunc reports whether a helper uses its map as a ring buffer.
func ringbufFunc(id uapi.FuncID) bool {
	return id == uapi.FuncRingbufOutput || id == uapi.FuncRingbufReserve || id == uapi.FuncRingbufQuery
}

// updatesSockmap: sockmaps are changed under locks of sockets, which the hooks of other programs
// may hold already (may_update_sockmap).
func (c *helpers) updatesSockmap(id uapi.FuncID) bool {
	if id != uapi.FuncMapUpdateElem && id != uapi.FuncMapDeleteElem {
		return false
	}
	if id == uapi.FuncMapDeleteElem && !c.has(since.SockmapDeletes) {
		return true
	}
	switch c.prog.typ {
	case uapi.ProgTypeTracing:
		if c.p.Attach == uapi.AttachTraceIter {
			return true
		}
	case uapi.ProgTypeSockOps:
		// Updates go through helpers of their own, which check the kind of event.
		if id == uapi.FuncMapDeleteElem {
			return true
		}
	case uapi.ProgTypeSocketFilter, uapi.ProgTypeSchedCls, uapi.ProgTypeSchedAct, uapi.ProgTypeXDP, uapi.ProgTypeSkReuseport, uapi.ProgTypeFlowDissector, uapi.ProgTypeSkLookup:
		return true
	}
	c.say(refusal.CannotUpdateSockmapInContext)
	return false
}

// checkFormat checks the constant format of bpf_snprintf (check_bpf_snprintf_call): with the format
// known, so is how many arguments it reads and of which kinds.
func (c *helpers) checkFormat(regs *[11]reg) {
	if regs[5].Var.Value%8 != 0 {
		c.refuse(refusal.FormatDataSize)
	}
	n := int(regs[5].Var.Value / 8)
	m := c.mapOf(&regs[3])
	at := regs[3].offset()
	f := m.Frozen[at:]
	if i := slices.Index(f, 0); i >= 0 {
		f = f[:i]
	}
	if !printf.Valid(string(f), n, c.has(since.UTF8Formats)) {
		c.refuse(refusal.InvalidFormatString)
	}
}
