package proto

import "github.com/bpfrun/bpfrun/internal/uapi"

// The words in which the rows are written.
type (
	args   = []Arg
	protos = []Proto
	uses   = []Use
)

func r(major, minor int) uapi.Release { return uapi.R(major, minor) }

var (
	constMap             = Arg{Kind: ConstMap}
	mapKey               = Arg{Kind: MapKey}
	mapValue             = Arg{Kind: MapValue}
	anything             = Arg{Kind: Anything}
	memOut               = Arg{Kind: Mem, Flags: Uninit | Write}
	sizeOrZero           = Arg{Kind: ConstSizeOrZero}
	memIn                = Arg{Kind: Mem, Flags: ReadOnly}
	size                 = Arg{Kind: ConstSize}
	ctx                  = Arg{Kind: Ctx}
	memInOrNull          = Arg{Kind: Mem, Flags: MaybeNull | ReadOnly}
	btfSockOrNull        = Arg{Kind: BTFSockCommon, Flags: MaybeNull}
	btfSock              = Arg{Kind: BTFSockCommon}
	mem                  = Arg{Kind: Mem}
	memInOut             = Arg{Kind: Mem, Flags: Write}
	btfSockRelease       = Arg{Kind: BTFSockCommon, Flags: Release}
	mapValueOut          = Arg{Kind: MapValue, Flags: Uninit | Write}
	spinLock             = Arg{Kind: SpinLock}
	sockCommon           = Arg{Kind: SockCommon}
	mapValueOrNull       = Arg{Kind: MapValue, Flags: MaybeNull}
	memOrNull            = Arg{Kind: Mem, Flags: MaybeNull}
	memInOutOrNull       = Arg{Kind: Mem, Flags: MaybeNull | Write}
	ctxOrNull            = Arg{Kind: Ctx, Flags: MaybeNull}
	socketOrNull         = Arg{Kind: Socket, Flags: MaybeNull}
	allocSize            = Arg{Kind: AllocSize}
	recordRelease        = Arg{Kind: RingbufMem, Flags: Release}
	percpuBTF            = Arg{Kind: PercpuBTFID}
	callback             = Arg{Kind: Func}
	stackOrNull          = Arg{Kind: Stack, Flags: MaybeNull}
	constString          = Arg{Kind: ConstString}
	timer                = Arg{Kind: Timer}
	scalar               = Arg{Kind: Scalar}
	kptr                 = Arg{Kind: Kptr}
	dynptrLocalOut       = Arg{Kind: Dynptr, Flags: Uninit | Write | LocalDynptr}
	dynptrRingbufOut     = Arg{Kind: Dynptr, Flags: Uninit | Write | RingbufDynptr}
	dynptrRingbufRelease = Arg{Kind: Dynptr, Flags: Release | RingbufDynptr}
	dynptrIn             = Arg{Kind: Dynptr, Flags: ReadOnly}
	dynptr               = Arg{Kind: Dynptr}
	void                 = Return{Kind: Void}
	mapValueOrNullRet    = Return{Kind: RetMapValue, Flags: MaybeNull}
)

func btfID(name string) Arg { return Arg{Kind: BTFID, BTF: name} }

func btfIDOrNull(name string) Arg { return Arg{Kind: BTFID, Flags: MaybeNull, BTF: name} }

func fixedIn(size uint16) Arg { return Arg{Kind: FixedMem, Flags: ReadOnly, Size: size} }

func fixedInOut(size uint16) Arg { return Arg{Kind: FixedMem, Flags: Write | Aligned, Size: size} }

func fixedOut(size uint16) Arg {
	return Arg{Kind: FixedMem, Flags: Uninit | Write | Aligned, Size: size}
}

func fixed(size uint16) Arg { return Arg{Kind: FixedMem, Size: size} }

func fixedAligned(size uint16) Arg { return Arg{Kind: FixedMem, Flags: Aligned, Size: size} }
